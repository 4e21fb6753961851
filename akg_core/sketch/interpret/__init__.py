"""Runs a sketch on CPU tensors: the one meaning that every plugin's emitter is held against.

The program's tensors are bound to the inputs, its dimensions to their shapes; then its statements run in order.
Fresh tensors hold NaN or a pattern, so that an element that nothing wrote shows. `kernel` runs the programs of a
launch, `expression` and `ops` compute on the tile values of `tiles`, `memory` loads and stores, `counts` says what was
moved, `trial` compares with the reference.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from akg_core.dtypes import FLOATS
from akg_core.records import Schedule
from akg_core.sketch import ast
from akg_core.sketch.check.shapes import read_by
from akg_core.sketch.codes import near
from akg_core.sketch.interpret.counts import Counts
from akg_core.sketch.interpret.expression import Evaluator, Frame, fail
from akg_core.sketch.interpret.kernel import KernelRun
from akg_core.sketch.interpret.tiles import NAMES, TORCH, Tile, integer, literal
from akg_core.sketch.program import kept_tensors, memory_orders, program_of
from akg_core.sketch.scalars import evaluated
from akg_core.sketch.schedule import bind
from akg_core.worker.threads import threads

POISON = 0xA5  # the byte that fresh integers are made of


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The program's results; with `count=True` what the whole program moved and computed, and each kernel of it."""

    outputs: tuple[Tensor, ...]
    counts: Counts | None = None
    kernels: dict[str, Counts] = field(default_factory=dict)


@dataclass(frozen=True)
class KernelCall:
    """A launch with its numbers: the kernel's tensors by parameter; dimensions and Consts by name in `frame`."""

    launch: ast.Launch
    kernel: ast.Kernel
    tensors: dict[str, Tensor]
    frame: Frame

    def interpret(self, counts: Counts | None = None) -> None:
        """Run it, which writes to its tensors in place; `counts` takes what it moves and computes."""
        KernelRun(self.tensors, counts).run(self.kernel, self.frame.values)


@torch.no_grad()
def interpret(
    tree: ast.SketchFile,
    inputs: Sequence[Tensor | float],
    parameters: Mapping[str, Tensor] | None = None,
    schedule: Schedule | None = None,
    count: bool = False,
    kept: dict[str, Tensor] | None = None,
    perform: Callable[[KernelCall], None] | None = None,
) -> Interpretation:
    """Run the sketch's program on `inputs`, in the order of forward, with `parameters` by qualified name.

    A float is handed over as a zero-dimensional f64 tensor. Parameters that the program writes change in place.
    `schedule` sets Tune parameters; others take their defaults. Launches with `once=True` run like all others, unless
    `kept` is given: what they make is held there from the first call on, as a kernel's host does while neither
    parameters nor sizes change. `perform` does each launch in the interpreter's place, on the tensors that it is given.
    Raises SketchError, with the line and column in the sketch, when tensors, shapes, tiles or indices do not fit.
    """
    tree = bind(tree, schedule)
    run = _ProgramRun(tree, program_of(tree), perform)
    # Tiles are small: handing them to threads costs ten times what it saves. Others may want threads.
    with contextlib.nullcontext() if perform else threads(1):
        outputs = run.run(inputs, parameters or {}, kept)
    if not count:
        return Interpretation(outputs)
    total = Counts()
    for counts in run.counts.values():
        total.add(counts)
    return Interpretation(outputs, total, run.counts)


def _laid_out(tensor: Tensor, order: tuple[int, ...]) -> Tensor:
    """The tensor in memory with its dims in this order, or row by row: itself where it lies so."""
    if not order:
        return tensor.contiguous()
    turned = tensor.permute(order)
    return tensor if turned.is_contiguous() else turned.contiguous().permute([*map(order.index, range(len(order)))])


class _ProgramRun:
    """One call of a program: its tensors and dimensions by name."""

    def __init__(
        self, tree: ast.SketchFile, program: ast.Program, perform: Callable[[KernelCall], None] | None = None
    ) -> None:
        self.tree = tree
        self.program = program
        self.perform = perform
        self.tensors: dict[str, Tensor] = {}
        self.sizes = Frame({})
        self.counts: dict[str, Counts] = {}

    def run(
        self,
        inputs: Sequence[Tensor | float],
        parameters: Mapping[str, Tensor],
        kept: dict[str, Tensor] | None = None,
    ) -> tuple[Tensor, ...]:
        given = self._given(inputs, parameters)
        orders = memory_orders(self.program)
        self.tensors = {name: _laid_out(tensor, orders.get(name, ())) for name, tensor in given.items()}
        _bind_sizes(self.program.tensors, self.tensors, self.sizes, self.program.place)
        results = self._run(self.program.body if kept is None else self._besides(kept))
        for parameter in self.program.tensors:
            held, theirs = self.tensors[parameter.name], given[parameter.name]
            if parameter.role == "Param" and held is not theirs:  # not contiguous: what was written is in a copy
                theirs.copy_(held)
        return results

    def _besides(self, kept: dict[str, Tensor]) -> list[ast.Statement]:
        """The statements of this call beside those that made what is kept, which run where nothing is yet."""
        names = kept_tensors(self.program)
        parted: dict[bool, list[ast.Statement]] = {True: [], False: []}
        for statement in self.program.body:
            match statement:
                case ast.Allocate(target=target) | ast.View(target=target):
                    parted[target in names].append(statement)
                case ast.Launch(once=once):
                    parted[once].append(statement)
                case _:
                    parted[False].append(statement)
        if not kept:
            self._run(parted[True])
            kept |= {name: self.tensors[name] for name in names}
        self.tensors |= kept
        return parted[False]

    def _run(self, statements: Sequence[ast.Statement]) -> tuple[Tensor, ...]:
        results: tuple[Tensor, ...] = ()
        for statement in statements:
            match statement:
                case ast.Allocate(target=target):
                    self.tensors[target] = self._allocate(statement)
                case ast.View(target=target):
                    self.tensors[target] = self._view(statement)
                case ast.Launch():
                    self._launch(statement)
                case ast.Range(variable=name, start=start, stop=stop, step=step, body=body):
                    for turn in range(*map(self._number, (start, stop, step))):
                        self.sizes.values[name] = integer(turn, uniform=True)
                        self._run(body)
                case ast.Return(tensors=names):
                    results = tuple(self._tensor(name, statement.place) for name in names)
        return results

    def _given(self, inputs: Sequence[Tensor | float], parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The caller's tensors by their names in the program."""
        wanted = [tensor for tensor in self.program.tensors if tensor.role == "In"]
        if len(inputs) != len(wanted):
            names = ", ".join(tensor.name for tensor in wanted) or "none"
            fail("SK802", self.program.place, f"{len(inputs)} inputs are given; the program takes {names}.")
        given = {}
        for tensor, value in zip(wanted, inputs, strict=True):
            given[tensor.name] = value if isinstance(value, Tensor) else torch.tensor(value, dtype=torch.float64)
        for tensor in self.program.tensors:
            if tensor.role != "Param":
                continue
            if tensor.source not in parameters:
                cure = near(tensor.source, parameters, f"Given: {', '.join(parameters) or 'none'}.")
                fail("SK802", tensor.place, f"No parameter {tensor.source!r} is given.", cure)
            given[tensor.name] = parameters[tensor.source].detach()
        return given

    def _tensor(self, name: str, place: ast.Place) -> Tensor:
        if name not in self.tensors:
            fail("SK201", place, f"There is no tensor `{name}`.", near(name, self.tensors))
        return self.tensors[name]

    def _number(self, expression: ast.Expr) -> int:
        return Evaluator().whole_number(expression, self.sizes)

    def _allocate(self, statement: ast.Allocate) -> Tensor:
        shape = [self._number(dim) for dim in statement.dims]
        if any(size < 0 for size in shape):
            fail("SK807", statement.place, f"`{statement.target}` would have the shape {shape}.")
        dtype = TORCH[statement.dtype]
        fill = statement.fill
        if isinstance(fill, ast.Expr):
            numbers = {node.id: self.tensors[node.id].item() for node in ast.walk(fill) if isinstance(node, ast.Name)}
            fill = evaluated(fill, numbers)
        if fill is not None:
            return torch.full(shape, fill, dtype=dtype)
        if dtype.is_floating_point:
            return torch.full(shape, torch.nan, dtype=dtype)
        fresh = torch.empty(shape, dtype=dtype)
        if dtype == torch.bool:
            return fresh.fill_(True)
        fresh.view(-1).view(torch.uint8).fill_(POISON)
        return fresh

    def _view(self, statement: ast.View) -> Tensor:
        tensor = self._tensor(statement.tensor, statement.place)
        for name in read_by(statement, self.tensors):
            self.sizes.values[name] = integer(int(self.tensors[name]), uniform=True)
        args = [self._number(a) for a in statement.args]
        try:
            match statement.op:
                case "reshape":
                    return tensor.view(args)
                case "permute":
                    return tensor.permute(args)
                case "floats":
                    return tensor.view(TORCH[FLOATS[NAMES[tensor.dtype]]])
                case "narrow" if len(args) == 4:
                    position, start, length, step = args
                    return tensor[(slice(None),) * position + (slice(start, start + length * step, step),)]
                case "narrow":
                    return tensor.narrow(*args)
                case "unfold":
                    return tensor.unfold(*args)
                case _:
                    return tensor.expand(args)
        except (RuntimeError, TypeError, IndexError) as error:
            message = f"{statement.op} of shape {list(tensor.shape)} with {args}: {str(error).splitlines()[0]}."
            fail("SK807", statement.place, message)

    def _launch(self, launch: ast.Launch) -> None:
        kernel = self.tree.kernel(launch.kernel)
        if len(launch.tensors) != len(kernel.tensors):
            takes = f"`{kernel.name}` takes {len(kernel.tensors)} tensors, {len(launch.tensors)} are given."
            fail("SK802", launch.place, takes)
        inputs = {tensor.name for tensor in self.program.tensors if tensor.role == "In"}
        tensors = {}
        for parameter, name in zip(kernel.tensors, launch.tensors, strict=True):
            tensors[parameter.name] = self._tensor(name, launch.place)
            if not tensors[parameter.name].is_contiguous():
                fail("SK808", launch.place, f"`{name}` is a view that is not contiguous; a kernel cannot take it.")
            if name in inputs and parameter.role != "In":
                fail("SK805", launch.place, f"The input `{name}` would be written.", "Write to a tensor of your own.")
        frame = Frame(self._constants(kernel, launch))
        _bind_sizes(kernel.tensors, tensors, frame, launch.place)
        call = KernelCall(launch, kernel, tensors, frame)
        if self.perform:
            self.perform(call)
        else:
            call.interpret(self.counts.setdefault(kernel.name, Counts()))

    def _constants(self, kernel: ast.Kernel, launch: ast.Launch) -> dict[str, Tile]:
        given = dict(launch.constants)
        values = {}
        for constant in kernel.constants:
            if constant.name in given:
                value = Evaluator().tile(given.pop(constant.name), self.sizes)
            elif constant.default is not None:
                value = literal(constant.default)
            else:
                fail("SK802", launch.place, f"Nothing sets the Const `{constant.name}` of `{kernel.name}`.")
            values[constant.name] = value if value.value.is_floating_point() else integer(int(value.value), True)
        if given:
            fail("SK802", launch.place, f"`{kernel.name}` has no Const `{min(given)}`.", near(min(given), values))
        return values


def _bind_sizes(
    parameters: Sequence[ast.TensorParameter], tensors: Mapping[str, Tensor], frame: Frame, place: ast.Place
) -> None:
    """Bind the names of dimensions to the shapes, plain names first, then check every dimension and dtype."""
    for parameter in parameters:
        tensor = tensors[parameter.name]
        if tensor.dtype != TORCH[parameter.dtype]:
            dtype = NAMES.get(tensor.dtype, tensor.dtype)
            fail("SK807", place, f"`{parameter.name}` is {parameter.dtype} in the sketch and {dtype} here.")
        if tensor.dim() != len(parameter.dims):
            message = f"`{parameter.name}` has {len(parameter.dims)} dimensions in the sketch and {tensor.dim()} here."
            fail("SK807", place, message)
        for dim, size in zip(parameter.dims, tensor.shape, strict=True):
            if isinstance(dim, ast.Name) and dim.id not in frame.values:
                frame.values[dim.id] = integer(size, uniform=True)
    for parameter in parameters:
        for number, (dim, size) in enumerate(zip(parameter.dims, tensors[parameter.name].shape, strict=True)):
            wanted = Evaluator().whole_number(dim, frame)
            if wanted != size:
                fail("SK807", place, f"Dimension {number} of `{parameter.name}` should be {wanted} and is {size}.")

"""The Python side of a generated kernel: the text of model_new.py, for plugins whose kernels are launched from Python.

The module defines `ModelNew(Model)`, with `Model` from the reference.py beside it, so that constructor, parameters and
state_dict are the reference's. Its forward checks what it is given, allocates what the sketch's program allocates,
launches the kernels and packs the results. It needs Python 3.10 and torch, and nothing of akg-core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from akg_core.dtypes import FLOATS, is_float
from akg_core.lower.host import runtime
from akg_core.lower.host.arguments import (
    asked,
    called,
    collections,
    contents,
    heading,
    led,
    literal,
    other_names,
    renamed,
    spoken_for,
)
from akg_core.lower.host.call import Call
from akg_core.lower.host.checks import TORCH_NAMES, checked, given_tensors, python_tuple, sizes_of, watched
from akg_core.lower.host.lifetimes import unneeded
from akg_core.lower.host.names import unlike
from akg_core.lower.host.packing import packed
from akg_core.lower.host.turns import TURN, TurnsLauncher, is_even, written
from akg_core.lower.host.views import Dims, Part, parts_of, view, viewed
from akg_core.records import HOST, Interface, Sketch
from akg_core.sketch import ast
from akg_core.sketch.check.shapes import sized, substitute
from akg_core.sketch.program import kept_tensors, nested, program_of, roots, statements
from akg_core.sketch.scalars import floats_of
from akg_core.sketch.show import show_expression


def write_module(
    sketch: Sketch,
    tree: ast.SketchFile,
    launch: Callable[[Call], str],
    prelude: str,
    device: str = repr(HOST),
    floats: str = "f64",
    launcher: TurnsLauncher | None = None,
) -> str:
    """The text of model_new.py.

    `tree` is the sketch with its schedule bound. `launch` gives the statement (one or several lines) that launches a
    kernel; `prelude` is the plugin's module-level code that those statements use. `device`: Python text, evaluated
    after the prelude, of the type of the devices that kernels run on ("'cpu'"). `floats`: the dtype in which float
    arguments are handed to kernels. `launcher`: how all turns of a loop are launched at once, if so. Raises
    SketchError where the program cannot be (it should have been checked).
    """
    taken = spoken_for(prelude) | ({TURN} if launcher else set())
    forward = _Forward(sketch.interface, tree, program_of(tree), launch, floats, taken, launcher)
    body = forward.lines()
    device = device if forward.calls else "None"  # views are good anywhere
    tables = tuple(forward.tables.values())
    return runtime.module(sketch.name, prelude, body, device, forward.given, forward.sizes, tables)


def calls(tree: ast.SketchFile) -> tuple[Call, ...]:
    """The launches of the program in order, with the names of the program itself: what an emitter specialises for."""
    return _Forward(Interface(arguments=()), tree, program_of(tree), lambda call: "").calls


@dataclass(frozen=True, slots=True)
class _Step:
    """A statement of the program, how many loops are around it, and of a launch what the plugin is given."""

    node: ast.Statement
    depth: int
    call: Call | None


class _Forward:
    """Writes `forward`, statement by statement."""

    def __init__(
        self,
        interface: Interface,
        tree: ast.SketchFile,
        program: ast.Program,
        launch: Callable[[Call], str],
        floats: str = "f64",
        taken: Set[str] = frozenset(),
        launcher: TurnsLauncher | None = None,
    ) -> None:
        self.floats, self.taken, self.launcher = floats, taken, launcher
        self.others = others = other_names(interface.arguments, taken)
        self.heading = heading(interface.arguments, others)
        interface = interface.model_copy(update={"arguments": renamed(interface.arguments, others)})
        self.interface, self.tree, self.program, self.launch = interface, tree, program, launch
        self.dims: dict[str, Dims] = {tensor.name: tensor.dims for tensor in program.tensors}
        self.dtypes = {tensor.name: tensor.dtype for tensor in program.tensors}
        for node in statements(program):
            if isinstance(node, ast.Allocate):
                self.dims[node.target], self.dtypes[node.target] = node.dims, node.dtype
            elif isinstance(node, ast.View):
                self.dims[node.target] = viewed(node, self.dims[node.tensor])
                dtype = self.dtypes[node.tensor]
                self.dtypes[node.target] = FLOATS[dtype] if node.op == "floats" else dtype
        given = [argument for argument in interface.arguments if argument.kind != "constant"]
        inputs = [tensor for tensor in program.tensors if tensor.role == "In"]
        self.arguments = list(zip(inputs, given, strict=False))
        self.seed = inputs[-1].name if interface.seeded else ""
        numbers = {p.name: p for p in interface.parameters if p.kind == "numbers"}
        params = {tensor.name: tensor for tensor in program.tensors if tensor.role == "Param"}
        self.tables = {name: numbers[t.source] for name, t in params.items() if t.source in numbers}
        self.states = {name: tensor for name, tensor in params.items() if name not in self.tables}
        self.spoken = {tensor.name: called(argument) for tensor, argument in self.arguments}
        self.spoken |= {name: tensor.source for name, tensor in self.states.items() if tensor.source}
        known = {*others.values(), *collections(interface.arguments), *(a.name for a in interface.arguments)}
        own = {tensor.name: argument.name for tensor, argument in self.arguments}
        self.names = unlike(program, self.dims, own, known, self.taken)
        tensors = [(tensor, argument) for tensor, argument in self.arguments if argument.kind == "tensor"]
        self.given = given_tensors(program, interface, tensors, self.states.values(), self.name)
        self.extents = {tensor.name for tensor, a in self.arguments if a.kind == "size"}
        bound = {name: self._called(t, d) for name, t, d in self._bound()}
        names = {name: self.name(name) for name in bound}
        self.sizes = sizes_of(interface, inputs, bound, names)
        self.once = kept_tensors(program)
        self.apart: set[str] = set()  # names that only a function of its own has
        self.parts: dict[str, Part] = {}  # by their names: views that are items of what is split before a loop
        self.steps = tuple(self._steps())
        self.calls = tuple(step.call for step in self.steps if step.call is not None)

    def lines(self) -> list[str]:
        lines = [*self.heading]
        if updated := [argument.name for argument in self.interface.arguments if argument.mutated]:
            others = [argument.name for argument in self.interface.arguments if argument.kind == "tensor"]
            lines.append(f"    updates = _updates({python_tuple(updated)}, {python_tuple(others)})")
        lines += [f"    {line}" for line in (*asked(self.interface, self.others), *led(self.interface))]
        bound = [(self.name(tensor.name), argument) for tensor, argument in self.arguments]
        lines += [f"    {name} = {a.name}" for name, a in bound if a.kind == "tensor" and name != a.name]
        made = [f"{self.name(name)} = _numbers({table.name!r}, _device)" for name, table in self.tables.items()]
        checks = (*checked(self.given), *contents(self.interface), *made, *watched(self.given, self.interface))
        lines += [f"    {line}" for line in checks]
        extents = [(self.name(tensor.name), a) for tensor, a in self.arguments if a.kind == "size"]
        lines += [f"    {name} = _extent({called(a)!r}, {a.name}, _device)" for name, a in extents]
        numbers = {tensor.name: a.name for tensor, a in self.arguments if a.kind == "number"}
        options = f"dtype=torch.{TORCH_NAMES[self.floats]}, device=_device"
        floats = floats_of(self.program, numbers)
        lines += [f"    {self.name(name)} = torch.full((), {number}, {options})" for name, number in floats]
        lines += [f"    {self.name(self.seed)} = _seed(_device)"] if self.seed else []
        lines += [f"    {line}" for line in self._sizes()]
        lines += [f"    {line}" for line in self._statements()]
        return lines

    def name(self, name: str) -> str:
        """A name of the program as a Python name."""
        return self.names.get(name, name)

    def text(self, expr: ast.Expr) -> str:
        """A size as a Python expression; a tensor that holds one is read."""

        def python(node: object) -> object:
            if isinstance(node, ast.Name):
                return ast.Name(self.name(node.id) + (".item()" if node.id in self.dtypes else ""))
            if isinstance(node, ast.Call) and node.op in ("maximum", "minimum"):
                return ast.Call(node.op[:3], node.args)
            return node

        return show_expression(ast.rewrite(expr, python))

    def shape(self, dims: Sequence[ast.Expr]) -> str:
        return python_tuple(map(self.text, dims))

    def _steps(self) -> Iterator[_Step]:
        number = 0
        for node, depth, turned in nested(self.program.body):
            call = None
            if isinstance(node, ast.Launch):
                call, number = self._call(number, node, turned), number + 1
            yield _Step(node, depth, call)

    def _call(self, index: int, node: ast.Launch, turned: int) -> Call:
        """A launch with the kernel's dimensions bound to the program's sizes."""
        kernel = self.tree.kernel(node.kernel)
        bound: dict[str, ast.Expr] = {}
        for parameter, name in zip(kernel.tensors, node.tensors, strict=True):
            for dim, size in zip(parameter.dims, self.dims[name], strict=True):
                if isinstance(dim, ast.Name):
                    bound.setdefault(dim.id, size)
        constants = {c.name: ast.Number(c.default) for c in kernel.constants if c.default is not None} | dict(
            node.constants
        )
        sizes = {name: bound[name] for name in kernel.dimensions}
        return Call(
            index,
            node,
            kernel,
            tuple(self.name(name) for name in node.tensors),
            {name: self.text(size) for name, size in sizes.items()},
            sizes,
            constants,
            turned,
        )

    # --- sizes --------------------------------------------------------------------------------------

    def _bound(self) -> Iterator[tuple[str, ast.TensorParameter, int]]:
        """Where each of the program's sizes is found: the first tensor that has it as a dimension, and which.

        Parameters first: they are as the constructor made them, so that what does not fit is said of the inputs.
        """
        bound: set[str] = set()
        for tensor in sorted(self.program.tensors, key=lambda tensor: tensor.role != "Param"):
            for place, dim in enumerate(tensor.dims):
                if isinstance(dim, ast.Name) and dim.id not in bound:
                    bound.add(dim.id)
                    yield dim.id, tensor, place

    def _called(self, tensor: ast.TensorParameter, place: int) -> str:
        """How users call a size: the int that is one, or that of a tensor."""
        spoken = self.spoken.get(tensor.name, tensor.name)
        return spoken if tensor.name in self.extents else f"{spoken}.shape[{place}]"

    def _sizes(self) -> list[str]:
        """Bind the program's sizes to the shapes that came, and check every other dimension against them."""
        lines, checks = list[str](), list[str]()
        found = {(tensor.name, place): name for name, tensor, place in self._bound()}
        for tensor in sorted(self.program.tensors, key=lambda tensor: tensor.role != "Param"):
            fresh = [found.get((tensor.name, place), "") for place in range(len(tensor.dims))]
            if any(fresh):
                targets = [self.name(name) if name else "_" for name in fresh]
                lines.append(f"{python_tuple(targets)[1:-1]} = {self.name(tensor.name)}.shape")
            if not all(fresh):
                checks.append(self._shaped(self.spoken.get(tensor.name, tensor.name), tensor.name, tensor.dims))
        return lines + checks + self._empty() + self.sizes.checked()

    def _empty(self) -> list[str]:
        """What forward gives where a size is 0."""
        if not self.interface.empty:
            return []
        results = next(node.tensors for node in self.program.body if isinstance(node, ast.Return))
        made = [self._allocate(ast.Allocate(name, self.dtypes[name], self.dims[name])) for name in results]
        lines = [*made, *self._return([self.name(name) for name in results])]
        return [f"if 0 in {python_tuple(self.sizes.names.values())}:", *(f"    {line}" for line in lines)]

    def _shaped(self, spoken: str, name: str, dims: Dims) -> str:
        shape = self.shape(dims)
        if name in self.extents:
            held = f"{self.name(name)}.shape[0]"
            return f"if {held} != {shape}[0]: _constant({spoken!r}, {held}, {shape}[0])"
        return f"if {self.name(name)}.shape != {shape}: _refuse_shape({spoken!r}, {self.name(name)}, {shape})"

    def _guards(self, call: Call) -> list[str]:
        """Checks for dimensions of a launch that only the numbers at run time can show to agree."""
        lines = []
        known = dict(call.expressions) | dict(call.constants)
        for parameter, name in zip(call.kernel.tensors, call.launch.tensors, strict=True):
            wanted = tuple(substitute(dim, known) for dim in parameter.dims)
            if any((sized(a) + -sized(b)).terms for a, b in zip(wanted, self.dims[name], strict=True)):
                lines.append(self._shaped(name, name, wanted))
        return lines

    # --- statements -----------------------------------------------------------------------------------

    def _statements(self) -> list[str]:
        lines = self._kept()
        ended = unneeded(self.program)
        at_once: set[int] = set()  # statements of loops that one call turns
        for step in self.steps:
            indent = "    " * step.depth
            match node := step.node:
                case _ if id(node) in at_once:
                    continue
                case ast.Range():
                    bounds = ", ".join(map(self.text, (node.start, node.stop, node.step)))
                    if turned := self._turned(node, bounds):
                        at_once.update(map(id, node.body))
                    turned = turned or [*self._splits(node), f"for {self.name(node.variable)} in range({bounds}):"]
                    lines += [f"{indent}{line}" for line in turned]
                case ast.Allocate(fill=fill) if node.target not in self.once and not isinstance(fill, ast.Expr):
                    lines += [*self._freed(ended[node.target]), self._allocate(node)]
                case ast.View() if node.target not in self.once:
                    lines.append(f"{indent}{self._view(node)}")
                case ast.Launch() if step.call is not None and not node.once:
                    lines += [f"{indent}{line}" for line in self._launch(step.call)]
                case ast.Return():
                    lines += self._return([self.name(name) for name in node.tensors])
        return lines

    def _freed(self, tensors: Sequence[str]) -> list[str]:
        """What gives back the memory of tensors: forward forgets all names that it has for it."""
        split = (self._split(part) for part in self.parts.values() if part.tensor in tensors)
        names = [*(self.name(name) for name in tensors if name not in self.apart), *dict.fromkeys(split)]
        return [f"{' = '.join(names)} = None"] if names else []

    def _allocate(self, node: ast.Allocate) -> str:
        options = f"dtype=torch.{TORCH_NAMES[node.dtype]}, device=_device"
        shape = self.shape(node.dims)
        if node.fill is None:
            return f"{self.name(node.target)} = torch.empty({shape}, {options})"
        if node.fill == 0:
            return f"{self.name(node.target)} = torch.zeros({shape}, {options})"
        return f"{self.name(node.target)} = torch.full({shape}, {literal(node.fill)}, {options})"

    def _view(self, node: ast.View) -> str:
        made = view(node, self.name(node.tensor), self.text, self.shape)
        if node.op == "floats":
            made = f"{self.name(node.tensor)}.view(torch.{TORCH_NAMES[self.dtypes[node.target]]})"
        if part := self.parts.get(node.target):
            made = f"{self._split(part)}[{self.text(part.number)}]"
        return f"{self.name(node.target)} = {made}"

    def _split(self, part: Part) -> str:
        """The Python name of all parts of a tensor, which no name of the program is."""
        return f"_{self.name(part.tensor)}_{part.length}_along_{part.position}"

    def _splits(self, loop: ast.Range) -> Iterator[str]:
        """What makes the parts that a loop takes one after the other, before it begins."""
        found = parts_of(loop, self.dims)
        self.parts |= found
        for name, part in {self._split(part): part for part in found.values()}.items():
            yield f"{name} = {self.name(part.tensor)}.split({part.length}, {part.position})"

    def _turned(self, loop: ast.Range, bounds: str) -> list[str]:
        """The lines that make all launches of a loop at once; none where it has to be turned in Python."""
        inside = {id(node) for node in loop.body}
        steps = [step for step in self.steps if id(step.node) in inside]
        calls = [step.call for step in steps if step.call is not None]
        if not self.launcher or not is_even(loop, calls, {*self.dims}, {*self.states}):
            return []
        body: list[str] = []
        for step in steps:
            if isinstance(step.node, ast.View) and step.node.target not in self.once:
                self.apart.add(step.node.target)
                body.append(self._view(step.node))
            elif step.call is not None:
                body += self._guards(step.call)
        return written(self.launcher, self.name(loop.variable), bounds, body, calls)

    def _launch(self, call: Call) -> list[str]:
        lines = self._guards(call) + self.launch(call).splitlines()
        held = ((name, self.states[name].source) for name in call.written if name in self.states)
        return lines + [f"_written(self, {source!r}, {self.name(name)})" for name, source in held]

    def _return(self, results: list[str]) -> list[str]:
        """The end of forward: arguments are updated, results handed back."""
        updated = [argument.name for argument in self.interface.arguments if argument.mutated]
        returned, new = results[: len(results) - len(updated)], results[len(results) - len(updated) :]
        for place, name in self.interface.handed.items():
            returned[place] = f"updates[{updated.index(name)}]"
        write = [f"_update(updates, {python_tuple(new)})"] if updated else []
        lines = [*write, f"return {self._packed(returned)}"]
        if self.interface.absent:
            lines = [*(f"if _absent: {name} = {name}[(0,) * _absent]" for name in returned), *lines]
        sources = [tensor.name for tensor in self.given if is_float(tensor.dtype)]
        if sources and not updated:
            names = python_tuple(returned)
            marked = f"{names} = _without_gradients({names}, {python_tuple(sources)})"
            lines = ["if _grad:", f"    {marked}", *lines]
        return lines

    def _packed(self, results: list[str]) -> str:
        pairs = {*self.interface.pairs} - {*self.interface.handed}
        parts = [f"torch.view_as_complex({r})" if n in pairs else r for n, r in enumerate(results)]
        return packed(self.interface, iter(parts))

    # --- launches that run once ---------------------------------------------------------------------------

    def _kept(self) -> list[str]:
        """All launches that run once, done again when a parameter may have been written to, or a size has changed."""
        launches = [call.launch for call in self.calls]
        if not any(node.once for node in launches):
            return []
        root = roots(self.program)
        reads = {root.get(name, name) for node in launches if node.once for name in node.tensors}
        sources = [self.name(t.name) for t in self.program.tensors if t.role == "Param" and t.name in reads]
        results = [self.name(name) for name in self.dims if name in self.once]
        sizes = map(self.name, self.program.dimensions)
        lines = [f"kept = _kept(self, {python_tuple(sources)}, {python_tuple(sizes)})", "if kept.tensors is None:"]
        for step in self.steps:
            match node := step.node:
                case ast.Allocate() if node.target in self.once:
                    lines.append(f"    {self._allocate(node)}")
                case ast.View() if node.target in self.once:
                    lines.append(f"    {self._view(node)}")
                case ast.Launch() if step.call is not None and node.once:
                    lines += [f"    {line}" for line in self._launch(step.call)]
        lines.append(f"    kept.keep({python_tuple(sources)}, {python_tuple(results)})")
        lines.append(f"{python_tuple(results)} = kept.tensors")
        later = {self.name(root.get(name, name)) for node in launches if not node.once for name in node.tensors}
        read = ((index, source) for index, source in enumerate(sources) if source in later)
        return lines + [f"{source} = kept.read({index}, {source})" for index, source in read]

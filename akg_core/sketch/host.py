"""The Python side of a generated kernel: the text of model_new.py, for plugins whose kernels are launched from Python.

The module defines `ModelNew(Model)`, with `Model` from the reference.py beside it, so that constructor, parameters and
state_dict are the reference's. Its forward checks what it is given, allocates what the sketch's program allocates,
launches the kernels and packs the results. It needs Python 3.10 and torch, and nothing of akg-core.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from akg_core.records import Argument, Interface, Sketch
from akg_core.sketch import ast, host_runtime
from akg_core.sketch.check_program import sized, substitute
from akg_core.sketch.program import program_of
from akg_core.sketch.show import show_expression

Dims = tuple[ast.Expr, ...]
TORCH_NAMES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u8": "uint8",
    "bool": "bool",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One launch as the host sees it: what the plugin's `launch` callback turns into a line of Python.

    `index` counts the program's launches from 0. `tensors` are Python names of torch tensors in the order of the
    kernel's tensor parameters; `sizes` gives, for each dimension name of the kernel in order of first appearance, a
    Python expression, `expressions` the same over the program's dimension names, as a tree. `constants`: the
    launch's Consts.
    """

    index: int
    launch: ast.Launch
    kernel: ast.Kernel
    tensors: tuple[str, ...]
    sizes: Mapping[str, str]
    expressions: Mapping[str, ast.Expr]
    constants: Mapping[str, ast.Expr]


def write_module(sketch: Sketch, tree: ast.SketchFile, launch: Callable[[Call], str], prelude: str) -> str:
    """The text of model_new.py.

    `tree` is the sketch with its schedule bound. `launch` gives the statement (one or several lines) that launches a
    kernel; `prelude` is the plugin's module-level code that those statements use. Raises SketchError where the
    program cannot be (it should have been checked).
    """
    body = _Forward(sketch.interface, tree, program_of(tree), launch).lines()
    return host_runtime.module(sketch.name, prelude, body)


def calls(tree: ast.SketchFile) -> tuple[Call, ...]:
    """The launches of the program in order, with the names of the program itself: what an emitter specialises for."""
    forward = _Forward(Interface(arguments=()), tree, program_of(tree), lambda call: "")
    return tuple(forward.call(i, node) for i, node in enumerate(forward.launches()))


class _Forward:
    """Writes `forward`, statement by statement."""

    def __init__(
        self, interface: Interface, tree: ast.SketchFile, program: ast.Program, launch: Callable[[Call], str]
    ) -> None:
        self.interface, self.tree, self.program, self.launch = interface, tree, program, launch
        self.dims: dict[str, Dims] = {tensor.name: tensor.dims for tensor in program.tensors}
        self.dtypes = {tensor.name: tensor.dtype for tensor in program.tensors}
        for node in program.body:
            if isinstance(node, ast.Allocate):
                self.dims[node.target], self.dtypes[node.target] = node.dims, node.dtype
            elif isinstance(node, ast.View):
                self.dims[node.target] = _viewed(node, self.dims[node.tensor])
                self.dtypes[node.target] = self.dtypes[node.tensor]
        given = [argument.name for argument in interface.arguments if argument.kind != "constant"]
        inputs = [tensor.name for tensor in program.tensors if tensor.role == "In"]
        self.spoken = dict(zip(inputs, given, strict=False)) | {t.name: t.source for t in program.tensors if t.source}
        self.names = self._rename()
        self.once = self._steady()

    def launches(self) -> list[ast.Launch]:
        return [node for node in self.program.body if isinstance(node, ast.Launch)]

    def lines(self) -> list[str]:
        given = [argument for argument in self.interface.arguments if argument.kind != "constant"]
        inputs = [tensor for tensor in self.program.tensors if tensor.role == "In"]
        parameters = [tensor for tensor in self.program.tensors if tensor.role == "Param"]
        lines = [f"def forward(self{''.join(f', {text}' for text in _signature(self.interface.arguments))}):"]
        for argument in self.interface.arguments:
            if argument.kind == "constant":
                lines.append(f"    _constant({argument.name!r}, {argument.name}, {_literal(argument.value)})")
        numbers, tensors = [], []
        for tensor, argument in zip(inputs, given, strict=True):
            name = self.name(tensor.name)
            if argument.kind == "number":
                numbers.append(f"    {name} = torch.tensor({argument.name}, dtype=torch.float64")
            else:
                tensors.append(name)
                lines.append(f"    {name} = _tensor({argument.name!r}, {argument.name}, {_expected(tensor)})")
        for tensor in parameters:
            tensors.append(self.name(tensor.name))
            lines.append(f"    {tensors[-1]} = _state(self, {tensor.source!r}, {_expected(tensor)})")
        device = f"{tensors[0]}.device" if tensors else '"cpu"'
        lines += [f"{number}, device={device})" for number in numbers]
        lines += [f"    {line}" for line in self._sizes()]
        lines += [f"    {line}" for line in self._statements(device)]
        return lines

    def name(self, name: str) -> str:
        """A name of the program as a Python name."""
        return self.names.get(name, name)

    def text(self, expr: ast.Expr) -> str:
        """A size as a Python expression."""

        def python(node: object) -> object:
            if isinstance(node, ast.Name):
                return ast.Name(self.name(node.id))
            if isinstance(node, ast.Call) and node.op in ("maximum", "minimum"):
                return ast.Call(node.op[:3], node.args)
            return node

        return show_expression(ast.rewrite(expr, python))

    def shape(self, dims: Sequence[ast.Expr]) -> str:
        return _tuple(map(self.text, dims))

    def call(self, index: int, node: ast.Launch) -> Call:
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
        )

    # --- sizes --------------------------------------------------------------------------------------

    def _sizes(self) -> list[str]:
        """Bind the program's sizes to the shapes that came, and check every other dimension against them."""
        lines: list[str] = []
        checks: list[str] = []
        bound: set[str] = set()
        # Parameters first: they are as the constructor made them, so that what does not fit is said of the inputs.
        for tensor in sorted(self.program.tensors, key=lambda tensor: tensor.role != "Param"):
            names = [dim.id if isinstance(dim, ast.Name) else "" for dim in tensor.dims]
            fresh = [name if name not in {*bound, *names[:i]} else "" for i, name in enumerate(names)]
            if any(fresh):
                targets = [self.name(name) if name else "_" for name in fresh]
                lines.append(f"{_tuple(targets)[1:-1]} = {self.name(tensor.name)}.shape")
            bound |= {name for name in fresh if name}
            if not all(fresh):
                what = self.spoken.get(tensor.name, tensor.name)
                checks.append(f"_shape({what!r}, {self.name(tensor.name)}, {self.shape(tensor.dims)})")
        return lines + checks

    def _guards(self, call: Call) -> list[str]:
        """Checks for dimensions of a launch that only the numbers at run time can show to agree."""
        lines = []
        known = dict(call.expressions) | dict(call.constants)
        for parameter, name in zip(call.kernel.tensors, call.launch.tensors, strict=True):
            wanted = tuple(substitute(dim, known) for dim in parameter.dims)
            if any((sized(a) + -sized(b)).terms for a, b in zip(wanted, self.dims[name], strict=True)):
                lines.append(f"_shape({name!r}, {self.name(name)}, {self.shape(wanted)})")
        return lines

    # --- statements -----------------------------------------------------------------------------------

    def _statements(self, device: str) -> list[str]:
        lines, index = self._kept(device), 0
        for node in self.program.body:
            match node:
                case ast.Allocate() if node.target not in self.once:
                    lines.append(self._allocate(node, device))
                case ast.View() if node.target not in self.once:
                    lines.append(self._view(node))
                case ast.Launch():
                    if not node.once:
                        lines += self._launch(self.call(index, node))
                    index += 1
                case ast.Return():
                    lines.append(f"return {self._packed([self.name(name) for name in node.tensors])}")
        return lines

    def _allocate(self, node: ast.Allocate, device: str) -> str:
        options = f"dtype=torch.{TORCH_NAMES[node.dtype]}, device={device}"
        shape = self.shape(node.dims)
        if node.fill is None:
            return f"{self.name(node.target)} = torch.empty({shape}, {options})"
        if node.fill == 0:
            return f"{self.name(node.target)} = torch.zeros({shape}, {options})"
        return f"{self.name(node.target)} = torch.full({shape}, {_literal(node.fill)}, {options})"

    def _view(self, node: ast.View) -> str:
        arguments = ", ".join(map(self.text, node.args))
        if node.op in ("reshape", "expand"):
            arguments = self.shape(node.args)
        if node.op == "narrow" and len(node.args) == 4:
            position, start, length, step = map(self.text, node.args)
            part = f"slice({start}, {start} + ({length}) * ({step}), {step})"
            return f"{self.name(node.target)} = {self.name(node.tensor)}[(slice(None),) * {position} + ({part},)]"
        method = "view" if node.op == "reshape" else node.op
        return f"{self.name(node.target)} = {self.name(node.tensor)}.{method}({arguments})"

    def _launch(self, call: Call) -> list[str]:
        lines = self._guards(call) + self.launch(call).splitlines()
        written = [
            n for p, n in zip(call.kernel.tensors, call.launch.tensors, strict=True) if p.role in ("Out", "InOut")
        ]
        states = {tensor.name: tensor for tensor in self.program.tensors if tensor.role == "Param"}
        return lines + [f"_written(self, {states[n].source!r}, {self.name(n)})" for n in written if n in states]

    def _packed(self, results: list[str]) -> str:
        match self.interface.packing:
            case "tensor":
                return results[0]
            case "list":
                return f"[{', '.join(results)}]"
            case "dict":
                pairs = zip(self.interface.keys, results, strict=True)
                return f"{{{', '.join(f'{key!r}: {result}' for key, result in pairs)}}}"
        return f"{self.interface.named}({_tuple(results)})" if self.interface.named else _tuple(results)

    # --- launches that run once ---------------------------------------------------------------------------

    def _steady(self) -> set[str]:
        """Tensors that belong to launches with once=True: they are kept between calls."""
        params = {tensor.name for tensor in self.program.tensors}
        named = {name for node in self.launches() if node.once for name in node.tensors}
        found = (named | {self._root(name) for name in named}) - params
        for node in self.program.body:
            if isinstance(node, ast.View) and node.tensor in found:
                found.add(node.target)
        return found

    def _root(self, name: str) -> str:
        """The tensor that a view is of, through all views in between; any other tensor itself."""
        viewed = {node.target: node.tensor for node in self.program.body if isinstance(node, ast.View)}
        while name in viewed:
            name = viewed[name]
        return name

    def _kept(self, device: str) -> list[str]:
        """All launches that run once, redone when a parameter that they read or a size has changed."""
        if not any(node.once for node in self.launches()):
            return []
        reads = {self._root(name) for node in self.launches() if node.once for name in node.tensors}
        sources = [self.name(t.name) for t in self.program.tensors if t.role == "Param" and t.name in reads]
        results = [self.name(name) for name in self.dims if name in self.once]
        sizes = map(self.name, self.program.dimensions)
        lines = [f"kept = _kept(self, {_tuple(sources)}, {_tuple(sizes)})", "if kept.tensors is None:"]
        index = 0
        for node in self.program.body:
            match node:
                case ast.Allocate() if node.target in self.once:
                    lines.append(f"    {self._allocate(node, device)}")
                case ast.View() if node.target in self.once:
                    lines.append(f"    {self._view(node)}")
                case ast.Launch():
                    if node.once:
                        lines += [f"    {line}" for line in self._launch(self.call(index, node))]
                    index += 1
        return [*lines, f"    kept.tensors = {_tuple(results)}", f"{_tuple(results)} = kept.tensors"]

    def _rename(self) -> dict[str, str]:
        """Names of the program that Python or forward's own arguments take get an underscore."""
        arguments = {argument.name for argument in self.interface.arguments}
        taken = {"self", "torch", "max", "min", "kept", "_", *keyword.kwlist}
        names = [*self.dims, *self.program.dimensions]
        clash = {name for name in names if name in taken or (name in arguments and self.spoken.get(name) != name)}
        result = {}
        for name in clash:
            fresh = f"{name}_"
            while fresh in names or fresh in arguments:
                fresh += "_"
            result[name] = fresh
        return result


def _viewed(node: ast.View, dims: Dims) -> Dims:
    if node.op == "permute":
        return tuple(dims[int(a.value)] for a in node.args if isinstance(a, ast.Number))
    if node.op == "narrow":
        position = node.args[0].value if isinstance(node.args[0], ast.Number) else -1
        return tuple(node.args[2] if i == position else dim for i, dim in enumerate(dims))
    return node.args


def _expected(tensor: ast.TensorParameter) -> str:
    return f"torch.{TORCH_NAMES[tensor.dtype]}, {len(tensor.dims)}"


def _tuple(items: Iterable[str]) -> str:
    """Python text of a tuple of expressions."""
    texts = list(items)
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _signature(arguments: Sequence[Argument]) -> list[str]:
    """Parameters of forward; those after the last tensor get the value of the reference's call as their default."""
    texts: list[str] = []
    optional = True
    for argument in reversed(arguments):
        optional = (
            optional and argument.kind != "tensor" and (argument.kind == "constant" or argument.value is not None)
        )
        texts.append(f"{argument.name}={_literal(argument.value)}" if optional else argument.name)
    return texts[::-1]


def _literal(value: object) -> str:
    """A JSON value as Python text; infinities and NaN, which have no literal, are names of torch."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{'-' if value < 0 else ''}torch.{'nan' if math.isnan(value) else 'inf'}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value)

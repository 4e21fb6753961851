"""An exported program becomes a `Graph`: names, dtypes and sizes in our terms, nothing of torch left.

`akg_core.task.graph` says what the result looks like.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sympy
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind

from akg_core import dtypes
from akg_core.errors import TaskError
from akg_core.records import Dim, Graph, Node, Parameter
from akg_core.task.export import wording
from akg_core.task.graph import reference, references, resolve
from akg_core.task.layout import memory_order
from akg_core.task.numbers import is_computed
from akg_core.task.tracing.recurrent import captured_as

DTYPES: dict[torch.dtype, str] = {getattr(torch, dtype.torch): name for name, dtype in dtypes.DTYPES.items()}
MAX_INLINE_ELEMENTS = 1 << 16

_PARAMETER_KINDS: dict[InputKind, Literal["parameter", "buffer"]] = {
    InputKind.PARAMETER: "parameter",
    InputKind.BUFFER: "buffer",
}
_SAME_VALUE = ("aten.alias", "aten.detach", "aten.detach_", "aten.lift_fresh", "aten.lift_fresh_copy")
_CHECK = torch.ops.aten._linalg_check_errors.default
_PLACEMENT = ("device", "layout", "pin_memory")


class NotExpressible(Exception):
    """A size that varies and is not an expression over the sizes of the arguments."""


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def dtype_name(dtype: torch.dtype) -> str:
    """The short name of a dtype: "f32"; TaskError for one that kernels do not handle (quantised)."""
    if dtype not in DTYPES:
        raise TaskError(f"The dtype {_plain(dtype)} is not supported.", f"There are {', '.join(map(_plain, DTYPES))}.")
    return DTYPES[dtype]


class Sizes:
    """Prints sizes: an int, or an expression over s0, s1, ... numbered as arguments first mention them.

    `names` holds the name of each symbol, `values` the example value of each name.
    """

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self.names: dict[sympy.Symbol, str] = {}

    def declare(self, size: int | torch.SymInt, example: int) -> None:
        """Name the symbol that a dimension of an argument is; `example` is its value in the example call."""
        if isinstance(size, torch.SymInt) and isinstance(size.node.expr, sympy.Symbol):
            name = self.names.setdefault(size.node.expr, f"s{len(self.names)}")
            self.values.setdefault(name, example)

    def dim(self, size: int | torch.SymInt) -> Dim:
        """A size as a dimension; raises NotExpressible."""
        return self.scalar(size)

    def dims(self, sizes: Iterable[int | torch.SymInt]) -> tuple[Dim, ...]:
        return tuple(self.dim(size) for size in sizes)

    def strides(self, strides: Iterable[int | torch.SymInt]) -> tuple[Dim, ...]:
        """Strides as dimensions; empty where they are no expression over the sizes."""
        try:
            return self.dims(strides)
        except NotExpressible:
            return ()

    def scalar(self, value: Any) -> Any:
        """A Python number or symbolic number as it stands in a node's arguments."""
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            expression = value.node.expr
            if expression.is_Integer:
                return int(expression)
            return self._text(expression)
        return value

    def _text(self, e: sympy.Expr) -> str:
        operands, kind = [*map(self._text, e.args)], type(e).__name__
        if kind == "Max" and len(e.args) == 2 and e.args[0] == 1:  # only empty tensors are otherwise
            return operands[1]
        if kind == "Pow" and e.args[1].is_Integer and e.args[1] > 0:
            return f"({' * '.join([operands[0]] * int(e.args[1]))})"
        if (found := spelled(e, operands, self.names)) is None:
            raise NotExpressible(f"a size, {e}, does not follow from the sizes of the arguments")
        return found


_INFIX = {
    "Add": "+", "Mul": "*", "FloorDiv": "//", "CleanDiv": "//", "Mod": "%", "PythonMod": "%", "IntTrueDiv": "/",
    "FloatTrueDiv": "/", "FloatPow": "**", "PowByNatural": "**",
}  # fmt: skip


def spelled(e: sympy.Basic, operands: Sequence[str], names: Mapping[sympy.Symbol, str]) -> str | None:
    """An expression over sizes, with the texts of what it is made of, as Python text; None for any other."""
    if e in names:
        return names[e]
    if e.is_Integer:
        return str(int(e))
    if e.is_Float or e.is_Rational:
        return repr(float(e))
    match kind := type(e).__name__:
        case "ToFloat" | "Identity":
            return operands[0]
        case "OpaqueUnaryFn_sqrt":
            return f"({operands[0]} ** 0.5)"
        case "ModularIndexing":
            return f"(({operands[0]} // {operands[1]}) % {operands[2]})"
    return f"({f' {_INFIX[kind]} '.join(operands)})" if kind in _INFIX else None


@dataclass(frozen=True, slots=True)
class Translated:
    """A translated program: its graph, the parameters that it uses or updates, arguments that it updates, sentences.

    `constants`: for each leaf of what forward gives the Python text of what is the same in every call, "" for a tensor.
    """

    graph: Graph
    parameters: tuple[Parameter, ...]
    updated: tuple[str, ...]
    constants: tuple[str, ...]
    notes: tuple[str, ...]


def translate(
    program: ExportedProgram,
    arguments: Sequence[str],
    sizes: Sizes,
    filename: str,
    attributes: Collection[str],
) -> Translated:
    """Translate an exported program.

    `arguments`: the name of each user input, all of them tensors. `filename`: the name under which the reference's code
    runs. `attributes`: qualified names of the tensors that are attributes of the module. Raises NotExpressible,
    TaskError.
    """
    translation = _Translation(program, sizes, filename)
    translation.inputs(arguments, attributes)
    for node in program.graph.nodes:
        if node.op == "call_function":
            translation.call(node)
    return translation.finish()


class _Translation:
    def __init__(self, program: ExportedProgram, sizes: Sizes, filename: str) -> None:
        self._program = program
        self._sizes = sizes
        self._filename = filename
        self._notes: list[str] = []
        self._references: dict[str, str] = {}  # fx name -> how to refer to it, where that is not "%name"
        self._values: dict[str, str] = {}
        self._parameters: dict[str, Parameter] = {}  # by graph name
        self._nodes: list[Node] = []

    # --- inputs ------------------------------------------------------------------------------------

    def inputs(self, arguments: Sequence[str], attributes: Collection[str]) -> None:
        fx = {n.name: n for n in self._program.graph.nodes if n.op == "placeholder"}
        names = iter(arguments)
        for spec in self._program.graph_signature.input_specs:
            if spec.kind == InputKind.USER_INPUT:
                self._values[spec.arg.name] = f"argument:{next(names)}"
                continue
            if spec.target is None:  # effect tokens
                continue
            tensor = fx[spec.arg.name].meta["val"]
            if spec.kind == InputKind.CONSTANT_TENSOR and spec.target not in attributes:
                self._inline(spec.arg.name, self._program.constants[spec.target])
                continue
            plain = spec.target in attributes  # an attribute that forward replaces is a buffer of what is traced
            kind: Literal["parameter", "buffer", "constant"]
            kind = "constant" if plain else _PARAMETER_KINDS.get(spec.kind, "constant")
            self._values[spec.arg.name] = f"parameter:{spec.target}"
            self._parameters[spec.arg.name] = Parameter(
                name=spec.target,
                dtype=dtype_name(tensor.dtype),
                shape=tuple(tensor.shape),
                kind=kind,
                order=memory_order(tensor),
            )

    def _inline(self, name: str, tensor: torch.Tensor) -> None:
        """A tensor that forward makes from Python numbers: a node, or a parameter where these follow no rule."""
        if tensor.numel() > MAX_INLINE_ELEMENTS:
            raise TaskError(
                f"forward uses a tensor of {tensor.numel()} elements that is no attribute of the module.",
                "Register it in the constructor with register_buffer.",
            )
        dtype, shape = dtype_name(tensor.dtype), list(tensor.shape)
        flat = tensor.detach().flatten()
        if not is_computed(flat.tolist()):
            self._values[name] = f"parameter:{name}"
            self._parameters[name] = Parameter(
                name=name, dtype=dtype, shape=tuple(shape), kind="numbers", value=tensor.tolist()
            )
            return
        uniform = flat.numel() > 0 and bool((flat == flat[0]).all())
        op = "aten.full.default" if uniform else "akg.tensor"
        args: tuple[Any, ...] = (shape, flat[0].item()) if uniform else (tensor.tolist(),)
        strides = (tuple(torch.empty(shape, device="meta").stride()),)
        self._nodes.append(
            Node(
                name=name,
                op=op,
                args=args,
                kwargs={"dtype": dtype},
                dtypes=(dtype,),
                shapes=(tuple(shape),),
                strides=strides,
            )
        )

    # --- operators ---------------------------------------------------------------------------------

    def call(self, node: torch.fx.Node) -> None:
        value = node.meta.get("val")
        if node.target is operator.getitem:
            source: Any
            index: Any
            source, index = node.args
            self._references[node.name] = reference(source.name, index)
            return
        if value is None or isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)):
            return
        op = captured_as(str(node.target))
        if _CHECK in node.args:  # after an operator of linear algebra: whether it succeeded
            return
        if not isinstance(node.target, torch._ops.OpOverload):
            raise wording.no_operator(node, self._filename)
        if op.rpartition(".")[0] in _SAME_VALUE:
            self._references[node.name] = self._argument(node.args[0])
            return
        args, kwargs = self._schema_arguments(node, node.target)
        results = value if isinstance(value, (tuple, list)) else (value,)
        if any(r is not None and r.dtype.is_complex for r in results):
            raise wording.complex_numbers(node, self._filename)
        self._nodes.append(
            Node(
                name=node.name,
                op=op,
                args=args,
                kwargs=kwargs,
                dtypes=tuple("" if r is None else dtype_name(r.dtype) for r in results),
                shapes=tuple(() if r is None else self._sizes.dims(r.shape) for r in results),
                strides=tuple(() if r is None else self._sizes.strides(r.stride()) for r in results),
                where=self._where(node),
                wrote=wording.wrote(node, self._filename),
            )
        )

    def _schema_arguments(
        self, node: torch.fx.Node, target: torch._ops.OpOverload
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        given = list(node.args)
        for position, parameter in enumerate(target._schema.arguments):
            if parameter.name in _PLACEMENT:
                continue
            if position < len(given):
                value = given[position]
            else:
                value = node.kwargs.get(parameter.name, parameter.default_value)
            if parameter.kwarg_only:
                kwargs[parameter.name] = self._argument(value)
            else:
                args.append(self._argument(value))
        return tuple(args), kwargs

    def _argument(self, value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            known = value.meta.get("val")
            if isinstance(known, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)):
                return self._sizes.scalar(known)
            return self._references.get(value.name, reference(value.name))
        if isinstance(value, (list, tuple)):
            return [self._argument(item) for item in value]
        if isinstance(value, torch.dtype):
            return dtype_name(value)
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return str(value).rpartition(".")[2]  # memory formats and the like

    def _where(self, node: torch.fx.Node) -> str:
        line, _ = wording.line_in(node.meta.get("stack_trace") or "", self._filename)
        modules = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values() if path]
        parts = [modules[-1]] if modules else []
        return ", ".join(parts + ([f"line {line}"] if line else []))

    # --- results -----------------------------------------------------------------------------------

    def finish(self) -> Translated:
        outputs: list[str | None] = []
        constants: list[str] = []
        mutations: dict[str, str] = {}
        updates: dict[str, str] = {}  # by graph name
        for spec in self._program.graph_signature.output_specs:
            if spec.kind == OutputKind.USER_OUTPUT:
                constants.append(self._constant(spec.arg))
                outputs.append(None if constants[-1] else self._refer(spec.arg.name))
            elif spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
                mutations[spec.target] = self._refer(spec.arg.name)
            elif spec.kind == OutputKind.USER_INPUT_MUTATION:
                updates[spec.target or ""] = self._refer(spec.arg.name)
        updated = [name for name in self._values if name in updates]
        outputs += [updates[name] for name in updated]
        nodes, used = self._reachable([*(o for o in outputs if o), *mutations.values()])
        parameters = {
            name: p.model_copy(update={"mutated": True, "order": ()} if p.name in mutations else {})
            for name, p in self._parameters.items()
            if name in used or p.name in mutations
        }
        values = {n: o for n, o in self._values.items() if n in used or n in parameters}
        graph = Graph(values=values, nodes=tuple(nodes), outputs=tuple(outputs), mutations=mutations)
        unique = {p.name: p for p in parameters.values()}
        names = tuple(self._values[name].partition(":")[2] for name in updated)
        return Translated(graph, tuple(unique.values()), names, tuple(constants), tuple(self._notes))

    def _constant(self, argument: Any) -> str:
        if isinstance(argument, ConstantArgument):
            value = argument.value
            if value is None or isinstance(value, (bool, int, str)):
                return repr(value)
            if isinstance(value, float):
                return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
            raise TaskError(f"forward returns {value!r}, which is not a tensor.", "Return tensors only.")
        if type(argument).__name__ != "TensorArgument":
            raise TaskError("forward returns a number that is a size, not a tensor.", "Return tensors only.")
        return ""

    def _refer(self, name: str) -> str:
        return self._references.get(name, reference(name))

    def _reachable(self, roots: list[str]) -> tuple[list[Node], set[str]]:
        """The nodes that the roots need, in order, and the names of everything that they use."""
        used = {resolve(root)[0] for root in roots}
        kept: list[Node] = []
        for node in reversed(self._nodes):
            if node.name in used:
                kept.append(node)
                used |= {resolve(text)[0] for text in references(node)}
        return kept[::-1], used

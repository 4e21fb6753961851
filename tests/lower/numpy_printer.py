"""A printer of the tile IR to NumPy: tiles are arrays of the positions that exist, programs run one after the other.

It is the smallest printer of a tile language, and the worked example of docs/write-a-plugin.md.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from akg_core.dtypes import is_float
from akg_core.lower.build import KEPT, body_of
from akg_core.lower.decompose import decompose
from akg_core.lower.explicit import make_explicit
from akg_core.lower.ir import Axis, Body, Op, Region
from akg_core.lower.source_text import Lines
from akg_core.lower.specialise import Instance, renamed
from akg_core.lower.tile.common_subexpressions import share
from akg_core.lower.tile.constants import collect_constants
from akg_core.lower.tile.lanewise import keep_lanewise
from akg_core.lower.tile.masks import EXISTS, mask
from akg_core.lower.tile.padding import pad
from akg_core.lower.tile.rows import write_out_rows
from akg_core.lower.tile.single import unroll_single
from akg_core.lower.tile.window_taps import write_out_taps
from akg_core.lower.verify import verify
from akg_core.sketch import numerics
from akg_core.sketch.ast import Binary, Call, Element, Expr, Name, Number, Text, Unary
from akg_core.sketch.ops import OPERATIONS
from tests.lower import numpy_helpers

DTYPES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "float32",  # which NumPy lacks
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u8": "uint8",
    "bool": "bool_",
}
RENAMED = {name: f"arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2")}
RENAMED["round"] = "rint"
_SAME = """
    exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh abs sign floor ceil trunc fmod remainder
    maximum minimum where isnan isinf isfinite
"""
SAME = frozenset(_SAME.split())
HELPED = frozenset({"erf", "erfc", "rand", "round_to", "bits", "from_bits"})
OPERATORS = {"and": "&", "or": "|"}
LEAST = 4  # lanes of an axis that a product sums over, as if there were matrix units
MOST_LANES = 1 << 14
RESERVED = frozenset({*keyword.kwlist, *vars(numpy_helpers), "range", "min", "max", "len", "at", "program", "member"})


@dataclass(frozen=True, slots=True)
class Term:
    """The text of an expression, and its axes in the order of dimensions."""

    text: str
    axes: tuple[str, ...] = ()


def source(instances: Iterable[Instance]) -> str:
    """A module with a function `symbol(*tensors, *sizes)` for each instance; bf16 tensors are given in f32."""
    functions = ("\n".join(line.text for line in Printer(instance).lines.flat()) for instance in instances)
    return "\n\n\n".join([inspect.getsource(numpy_helpers), *functions]) + "\n"


class Printer:
    """Prints one instance."""

    def __init__(self, instance: Instance) -> None:
        instance = renamed(instance, RESERVED)
        self.body: Body = body_of(instance, RESERVED, KEPT)
        make_explicit(self.body, lacking=("bf16",))
        decompose(self.body, SAME | set(RENAMED) | HELPED)
        unroll_single(self.body)
        pad(self.body, LEAST)
        write_out_taps(self.body)
        write_out_rows(self.body)
        collect_constants(self.body)
        share(self.body)
        mask(self.body)
        keep_lanewise(self.body, MOST_LANES)
        verify(self.body)
        self.tensors = {t.name: t for t in self.body.kernel.tensors}
        self.lines = Lines()
        sizes = (*instance.dimensions, *instance.open)
        self.lines.add(f"def {instance.symbol}({', '.join([*self.tensors, *sizes])}):")
        inside = self.lines.nest()
        inside.add("pass")
        for axis in self.body.axes.values():
            if axis.step is None:
                self.open(axis, inside)
        for region in self.body.regions:
            self.region(region, inside)

    # --- regions, loops, branches ---

    def region(self, region: Region, lines: Lines) -> None:
        cooperative = [axis for axis in region.grid if axis.cooperative]
        for axis in region.grid:
            if not axis.cooperative:
                lines = self.loop(axis, "0", self.text(axis.extent), False, lines)
        if not cooperative:
            self.ops(region.ops, lines)
            return
        lines.add("def program(member):")
        program = lines.nest()
        (axis,) = cooperative
        assert axis.step is not None
        program.add(f"at = member * {self.atom(axis.step)}")
        self.open(axis, program, self.text(axis.extent))
        self.ops(region.ops, program)
        program.add("yield from ()")
        count = f"-(-{self.atom(axis.extent)} // {self.atom(axis.step)})"
        lines.add(f"together([program(member) for member in range({count})])")

    def loop(self, axis: Axis, start: str, stop: str, reverse: bool, lines: Lines) -> Lines:
        """A loop over the tiles of an axis; returns its body."""
        assert axis.step is not None
        turns = f"range({start}, {stop}, {self.text(axis.step)})"
        lines.add(f"for at in {f'reversed({turns})' if reverse else turns}:")
        inside = lines.nest()
        self.open(axis, inside, stop, negative=start != "0")
        return inside

    def open(self, axis: Axis, lines: Lines, stop: str = "", negative: bool = False) -> None:
        """Bind the bounds and the positions of a tile that begins `at`."""
        begin, end = self.text(axis.begin), self.text(axis.end)
        if isinstance(axis.begin, Name):
            lines.add(f"{begin} = {'max(at, 0)' if negative else 'at'}")
        if isinstance(axis.end, Name) and axis.step is not None:
            lines.add(f"{end} = min(at + {self.atom(axis.step)}, {stop})")
        if negative:
            lines.add(f"if {end} <= {begin}:")
            lines.nest().add("continue")
        if axis.name != begin:
            lanes = self.text(axis.step or axis.extent) if axis.lanes is None else axis.lanes
            lines.add(f"{axis.name} = {begin if axis.unit else f'{begin} + np.arange({lanes})'}")

    def ops(self, ops: Sequence[Op], lines: Lines) -> None:
        for op in ops:
            match op.kind:
                case "tiles":
                    assert op.axis is not None
                    start, stop = map(self.text, op.bounds)
                    if op.bounds[1] != op.axis.extent:
                        stop = f"min({stop}, {self.text(op.axis.extent)})"
                    self.ops(op.body, self.loop(op.axis, start, stop, op.reverse, lines))
                case "range":
                    assert op.target is not None
                    lines.add(f"for {op.target.name} in range({', '.join(map(self.text, op.bounds))}):")
                    self.ops(op.body, lines.nest())
                case "if":
                    assert op.expr is not None
                    lines.add(f"if {self.text(op.expr)}:")
                    self.block(op.body, lines.nest())
                    if op.orelse:
                        lines.add("else:")
                        self.block(op.orelse, lines.nest())
                case "store":
                    self.store(op, lines)
                case "barrier":
                    lines.add("yield 'barrier', None, None")
                case _:
                    assert op.target is not None
                    lines.add(f"{op.target.name} = {self.result(op)}", op.place.line)

    def block(self, ops: Sequence[Op], lines: Lines) -> None:
        lines.add("pass")
        self.ops(ops, lines)

    # --- ops with a result ---

    def result(self, op: Op) -> str:
        """The text of what an op gives its target."""
        assert op.target is not None and op.expr is not None and op.expr.type is not None
        dtype, axes = op.target.dtype, self.ordered(op.target.axes)
        if op.kind == "map":
            return self.spread(self.term(op.expr), axes)
        if op.kind == "dot":
            return self.dot(op, axes)
        if op.kind == "all_reduce":
            held = numerics.reduction_dtype(op.function, op.expr.type.dtype)
            return self.cast(f"(yield '{op.function}', {self.dtype(held)}, {self.text(op.expr)})", dtype)
        tile = self.term(op.expr)
        every = self.ordered([*tile.axes, *op.over])
        text, source = self.spread(tile, every), op.expr.type.dtype
        places = [every.index(axis) for axis in op.over]
        if op.kind == "sort":
            return f"np.sort({text}, {places[0]})"
        if op.kind == "scan":
            return self.cast(self.scan(op, self.cast(text, numerics.scan_dtype(op.function, source)), places[0]), dtype)
        if op.finds_place:
            return f"np.{op.function}({text}, {places[0]}) + {self.atom(self.body.axes[op.over[0]].begin)}"
        if op.function in ("first", "last"):
            axis = self.body.axes[op.over[0]]
            last = f"{self.text(axis.end)} - {self.atom(axis.begin)} - 1"
            return f"np.take({text}, {0 if op.function == 'first' else last}, {places[0]})"
        held = numerics.reduction_dtype(op.function, source)
        if op.function in ("reduce_any", "reduce_all"):
            return f"np.{op.function.removeprefix('reduce_')}({text}, {tuple(places)})"
        function = {"reduce_sum": "add", "reduce_prod": "multiply", "reduce_max": "maximum", "reduce_min": "minimum"}
        start = self.literal(numerics.identity(op.function, held), held)
        reduced = f"np.{function[op.function]}.reduce({self.cast(text, held)}, {tuple(places)}, initial={start})"
        return self.cast(reduced, dtype)

    def scan(self, op: Op, text: str, place: int) -> str:
        names = {"scan_sum": "add", "scan_prod": "multiply", "scan_max": "maximum", "scan_min": "minimum"}
        turned = f"np.flip({text}, {place})" if op.reverse else text
        running = f"np.{names[op.function]}.accumulate({turned}, {place})"
        return f"np.flip({running}, {place})" if op.reverse else running

    def dot(self, op: Op, axes: tuple[str, ...]) -> str:
        assert op.target is not None and op.expr is not None and op.other is not None
        assert op.expr.type is not None and op.other.type is not None
        held = numerics.dot_dtype(op.expr.type.dtype, op.other.type.dtype)
        pair = [self.term(op.expr), self.term(op.other)]
        every = self.ordered([*pair[0].axes, *pair[1].axes])
        spell = lambda names: "".join(chr(ord("a") + every.index(name)) for name in names)  # noqa: E731
        texts = ", ".join(self.cast(term.text, held) for term in pair)
        product = f"np.einsum('{spell(pair[0].axes)},{spell(pair[1].axes)}->{spell(axes)}', {texts})"
        product = self.cast(product, op.target.dtype)
        return f"{op.target.name} + {product}" if op.accumulate else product

    def store(self, op: Op, lines: Lines) -> None:
        assert op.element is not None and op.expr is not None
        indices, axes = self.indices(op.element)
        value, name = self.aligned(self.term(op.expr), axes), op.element.tensor
        where = "True" if op.mask is None else self.aligned(self.term(op.mask), axes)
        if op.function != "store":
            function = {"atomic_add": "add", "atomic_max": "maximum", "atomic_min": "minimum"}[op.function]
            lines.add(f"atomic(np.{function}, {name}, ({indices}), {where}, {value})", op.place.line)
        elif op.mask is None:
            lines.add(f"{name}[{indices or '()'}] = {value}", op.place.line)
        else:
            lines.add(f"store({name}, ({indices}), {where}, {value})", op.place.line)

    # --- expressions ---

    def text(self, expr: Expr) -> str:
        return self.term(expr).text

    def atom(self, expr: Expr) -> str:
        text = self.text(expr)
        return text if text.isidentifier() or text.isdigit() else f"({text})"

    def ordered(self, axes: Iterable[str]) -> tuple[str, ...]:
        wanted = set(axes)
        return tuple(name for name, axis in self.body.axes.items() if name in wanted and not axis.unit)

    def aligned(self, term: Term, axes: tuple[str, ...]) -> str:
        """The text with a dimension for each of `axes`."""
        if not term.axes or term.axes == axes:
            return term.text
        return f"({term.text})[{', '.join(':' if axis in term.axes else 'None' for axis in axes)}]"

    def spread(self, term: Term, axes: tuple[str, ...]) -> str:
        """The text with every position along `axes`."""
        if term.axes == axes:
            return term.text
        lengths = ", ".join(str(self.body.axes[axis].lanes or f"len({axis})") for axis in axes)
        return f"np.broadcast_to({self.aligned(term, axes)}, ({lengths},))"

    def term(self, expr: Expr) -> Term:
        match expr:
            case Number(value=value):
                return Term(self.literal(value, expr.type.dtype if expr.type else "i64"))
            case Name(id=name):
                value = self.body.values.get(name)
                return Term(name, self.ordered([name] if value is None else value.axes))
            case Unary(op=op, operand=operand):
                inner = self.term(operand)
                return Term(f"np.logical_not({inner.text})" if op == "not" else f"{op}({inner.text})", inner.axes)
            case Binary(op=op, left=left, right=right):
                (a, b), axes = self.together(left, right)
                return Term(f"({a} {OPERATORS.get(op, op)} {b})", axes)
            case Call(op="cast", args=(inner, Text(value=dtype))):
                source, made = inner.type.dtype if inner.type else "i64", self.term(inner)
                return Term(made.text if (source, dtype) == ("bf16", "f32") else self.cast(made.text, dtype), made.axes)
            case Call(op="load"):
                return self.load(expr)
            case Call(op=op, args=(Name(id=axis),)) if op == EXISTS:
                return Term(f"({axis} < {self.text(self.body.axes[axis].end)})", (axis,))
            case Call():
                return self.call(expr)
        raise TypeError(f"not a value: {expr}")

    def together(self, *exprs: Expr) -> tuple[list[str], tuple[str, ...]]:
        """Texts that broadcast against each other, and their axes."""
        terms = [self.term(expr) for expr in exprs]
        axes = self.ordered(axis for term in terms for axis in term.axes)
        return [self.aligned(term, axes) for term in terms], axes

    def call(self, call: Call) -> Term:
        if call.op == "round_to":
            inner, (_, form) = self.term(call.args[0]), call.args
            assert isinstance(form, Text) and call.type is not None
            rounded = f"np.float16({inner.text})" if form.value == "f16" else f"{form.value}({inner.text})"
            return Term(self.cast(rounded, call.type.dtype), inner.axes)
        texts, axes = self.together(*call.args)
        made = f"{call.op if call.op in HELPED else f'np.{RENAMED.get(call.op, call.op)}'}({', '.join(texts)})"
        assert call.type is not None, f"{call.op} is of kind {OPERATIONS[call.op].kind}"
        return Term(self.cast(made, call.type.dtype) if call.op in HELPED else made, axes)

    def load(self, call: Call) -> Term:
        element = call.args[0]
        assert isinstance(element, Element)
        indices, axes = self.indices(element)
        keywords = dict(call.keywords)
        if "mask" not in keywords:
            return Term(f"{element.tensor}[{indices or '()'}]", axes)
        outside = self.aligned(self.term(keywords.get("other", Number(0))), axes)
        where = self.aligned(self.term(keywords["mask"]), axes)
        dtype = self.tensors[element.tensor].dtype
        return Term(self.cast(f"load({element.tensor}, ({indices}), {where}, {outside})", dtype), axes)

    def indices(self, element: Element) -> tuple[str, tuple[str, ...]]:
        texts, axes = self.together(*element.indices)
        return ", ".join(texts) + ("," if len(texts) == 1 else ""), axes

    def cast(self, text: str, dtype: str) -> str:
        if dtype == "bf16":
            return f"bf16({text})"
        return f"np.not_equal({text}, 0)" if dtype == "bool" else f"np.asarray({text}).astype({self.dtype(dtype)})"

    def literal(self, value: float | int | bool, dtype: str) -> str:
        if dtype in ("bool", "i64"):
            return str(value)
        return f"{self.dtype(dtype)}({f'float({str(value)!r})' if is_float(dtype) else value})"

    def dtype(self, dtype: str) -> str:
        return f"np.{DTYPES[dtype]}"

"""What a captured graph is rewritten to: a few kinds of values that every kernel can be made of.

A value is a function from positions to numbers, with a shape and the dtype that it is computed in. Views are maps of
positions, so they cost nothing; what shapes kernels is in `anchors.py`.
Identity is what tells values apart: the same object is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from akg_core.design.algebra.index import Index, flatten, index, product, unflatten
from akg_core.dtypes import is_float
from akg_core.notation import COMPARISONS, Notation

NARROW = ("f16", "bf16")  # floats of 16 bits, which are computed with in f32
Shape = tuple[Index, ...]
Positions = tuple[Index, ...]
Look = Callable[[Positions], Positions]
Move = tuple[str, tuple[Index, ...]]
Number = bool | int | float


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Value(Notation):
    shape: Shape
    dtype: str

    def combined(self, op: str, *operands: Value | Number) -> Value:
        """`compute` and `comparison` in Python's notation."""
        if op in COMPARISONS:
            return comparison(op, self, operands[1])
        return compute("~" if op == "not" and self.dtype != "bool" else op, *operands)

    @property
    def size(self) -> Index:
        """How many elements."""
        return product(self.shape)


@dataclass(frozen=True, eq=False, slots=True)
class Source(Value):
    """A tensor from outside: `origin` is "argument:x" or "parameter:fc.weight"; `order`: its dims in memory's order."""

    origin: str
    order: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Literal(Value):
    """One number everywhere."""

    number: bool | int | float


@dataclass(frozen=True, eq=False, slots=True)
class Iota(Value):
    """The number that `rule` makes of the position itself."""

    rule: Callable[[Positions], Index]


@dataclass(frozen=True, eq=False, slots=True)
class Pointwise(Value):
    """An elementwise operation of the sketch language on values of the same shape; "cast" goes to `dtype`.

    "round_to tf32" is an operation with a word. "copy" is its argument; "stored" is too, in memory of its own.
    """

    op: str
    args: tuple[Value, ...]


@dataclass(frozen=True, eq=False, slots=True)
class View(Value):
    """`arg` seen at other positions: `rule` maps positions here to positions there.

    `move` says the same in a program's words (reshape, permute, narrow, expand, and its arguments), if there are any.
    """

    arg: Value
    rule: Look
    move: Move | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Window(Value):
    """`arg` seen at positions that may lie outside of it, where there is `fill` instead.

    `whole`: a position outside of this value is outside of `arg` too, as with padding.
    """

    arg: Value
    rule: Look
    fill: int | float
    whole: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Gather(Value):
    """`arg` at positions that are read from `places`; `rule` builds arg's positions from here's and from theirs."""

    arg: Value
    places: tuple[Value, ...]
    rule: Callable[[Positions, Positions], Positions]


@dataclass(frozen=True, eq=False, slots=True)
class Reduction:
    """A reduction of `arg` over `dims`, shared by the values that are its results."""

    kind: str
    arg: Value
    dims: tuple[int, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple(d for d in range(len(self.arg.shape)) if d not in self.dims)

    @property
    def count(self) -> Index:
        """How many elements each result is made of."""
        return product(self.arg.shape[d] for d in self.dims)


@dataclass(frozen=True, eq=False, slots=True)
class Reduced(Value):
    """Result `part` of a reduction; its shape is that of the kept dims."""

    reduction: Reduction
    part: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Scan(Value):
    """Running `op` ("sum", "prod", "max", "min") along `dim`, each position included; `reverse`: from its end."""

    op: str
    arg: Value
    dim: int
    reverse: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Sorted(Value):
    """Whole numbers along `dim`, the least first; `bitonic`: those of `arg` rise, then fall."""

    arg: Value
    dim: int
    bitonic: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Segmented(Value):
    """`op` ("sum", "prod", "max", "min") of the rows of `arg` [N, *rest] in each segment.

    Segment s has those from `starts` [S] to before `stops` [S], each as it says at s.
    """

    op: str
    arg: Value
    starts: Value
    stops: Value


@dataclass(frozen=True, eq=False, slots=True)
class Scatter(Value):
    """`base` with `updates` written, or joined by `op`, to places that are read from `places`.

    `rule` builds the base's positions from those of the updates and what `places` hold there; outside of the base
    nothing is written. `op`: "set", where updates that meet are equal or any of them will do, "add", "max" or "min".
    """

    base: Value
    updates: Value
    places: tuple[Value, ...]
    rule: Callable[[Positions, Positions], Positions]
    op: str


@dataclass(frozen=True, eq=False, slots=True)
class Guard:
    """What an operand of a product stands for: `back` [*batch, M] or [*batch, N] times that operand is `exact`, except
    for numbers that its dtype does not hold. These are not finite there."""

    exact: Value
    back: Value


@dataclass(frozen=True, eq=False, slots=True)
class Product(Value):
    """left [*batch, M, K] times right [*batch, K, N], summed in `dtype`; `narrow`: both are of a narrow format.

    With `guards`, one for each operand, the product of what these stand for: of the exact operands where a sum over
    the others is not finite.
    """

    left: Value
    right: Value
    narrow: bool = False
    guards: tuple[Guard, Guard] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Concat(Value):
    """`parts` beside each other: part n's position 0 is this value's `starts[n]`.

    `ways`: for each dim of a part the dim of this value that it moves along, and in what steps. What a part has beyond
    this value's end is left out.
    """

    parts: tuple[Value, ...]
    starts: tuple[Positions, ...]
    ways: tuple[tuple[int, int], ...]

    def place(self, number: int, at: Positions) -> Positions:
        """This value's position of a position in a part."""
        found = list(self.starts[number])
        for position, (dim, step) in zip(at, self.ways, strict=True):
            found[dim] = found[dim] + position * step
        return tuple(found)


@dataclass(frozen=True, eq=False, slots=True)
class Scores(Value):
    """What the inner product of an attention gives, in the expression of that attention's own scores."""


@dataclass(frozen=True, eq=False, slots=True)
class Attention(Value):
    """softmax over N of `scores` [*batch, M, N] times `right` [*batch, N, F].

    `scores` is made elementwise of `inner`, which is query [*batch, M, K] times key [*batch, K, N]. `zeroed`: a row of
    scores that are all -inf gives 0, not NaN.
    """

    query: Value
    key: Value
    inner: Scores
    scores: Value
    right: Value
    zeroed: bool


def wide(dtype: str) -> str:
    """The dtype that numbers of `dtype` are computed in: narrow floats in f32."""
    return "f32" if dtype in NARROW else dtype


def literal(number: bool | int | float, dtype: str, shape: Shape = ()) -> Literal:
    """A constant, by default a scalar, its number in the form that `dtype` asks for."""
    form = float if is_float(dtype) else bool if dtype == "bool" or isinstance(number, bool) else int
    return Literal(form(number), shape=shape, dtype=dtype)


def cast(value: Value, dtype: str) -> Value:
    if value.dtype == dtype:
        return value
    if isinstance(value, Literal):
        return literal(value.number, dtype, value.shape)
    return Pointwise("cast", (value,), shape=value.shape, dtype=dtype)


def broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """The shape that all can be expanded to."""
    rank = max((len(s) for s in shapes), default=0)
    dims = zip(*((index(1),) * (rank - len(s)) + s for s in shapes), strict=True)
    return tuple(next((size for size in sizes if size != 1), index(1)) for sizes in dims)


def expand(value: Value, shape: Shape) -> Value:
    """`value` repeated along new leading dims and along dims of size 1."""
    if value.shape == shape:
        return value
    if isinstance(value, Literal):
        return Literal(value.number, shape=shape, dtype=value.dtype)
    lead = len(shape) - len(value.shape)
    places = [None if size == 1 else lead + d for d, size in enumerate(value.shape)]
    return view(value, shape, lambda at: tuple(index(0) if d is None else at[d] for d in places), ("expand", shape))


def map_of(op: str, *args: Value, dtype: str) -> Value:
    """An elementwise operation, arguments expanded to each other."""
    shape = broadcast_shape([a.shape for a in args])
    return Pointwise(op, tuple(expand(a, shape) for a in args), shape=shape, dtype=dtype)


def predicate(op: str, *args: Value) -> Value:
    """What holds of values, or of truth values together."""
    return map_of(op, *args, dtype="bool")


def compute(op: str, *args: Value | Number) -> Value:
    """An elementwise operation in the dtype of the arguments that are no numbers, of which all have one."""
    dtype, *others = dict.fromkeys(a.dtype for a in args if isinstance(a, Value))
    assert not others, f"{op} of {dtype} and {others}"
    return arithmetic(op, *args, dtype=dtype)


def arithmetic(op: str, *args: Value | Number, dtype: str) -> Value:
    """An operation done in `dtype`: arguments are cast to it, numbers become literals."""
    return map_of(op, *(cast(a, dtype) if isinstance(a, Value) else literal(a, dtype) for a in args), dtype=dtype)


def comparison(op: str, left: Value, right: Value | Number) -> Value:
    """left op right, as bool; a number is compared in left's dtype, a fraction with an integer in f32."""
    if not isinstance(right, Value):
        whole = not isinstance(right, float)
        dtype = left.dtype if is_float(left.dtype) or whole else "f32"
        left, right = cast(left, dtype), Literal(right, shape=(), dtype=dtype)
    return map_of(op, left, right, dtype="bool")


def where(condition: Value, yes: Value | Number, no: Value | Number, dtype: str = "") -> Value:
    """One or the other, in `dtype`, or else that of the first that is no number."""
    dtype = dtype or next(v.dtype for v in (yes, no) if isinstance(v, Value))
    yes, no = (cast(v, dtype) if isinstance(v, Value) else literal(v, dtype) for v in (yes, no))
    return map_of("where", cast(condition, "bool"), yes, no, dtype=dtype)


def reshape(value: Value, shape: Shape) -> Value:
    """The elements of `value`, row-major, in another shape."""
    if isinstance(value, View) and value.move is not None and value.move[0] == "reshape":
        value = value.arg
    if value.shape == shape:
        return value
    if isinstance(value, Literal):
        return Literal(value.number, shape=shape, dtype=value.dtype)
    old = value.shape
    return view(value, shape, lambda at: unflatten(flatten(at, shape), old), ("reshape", shape))


def permute(value: Value, order: Sequence[int]) -> Value:
    """Dim d of the result is dim order[d] of `value`."""
    order = [d % len(value.shape) for d in order]
    if order == sorted(order):
        return value
    shape, back = tuple(value.shape[d] for d in order), [order.index(d) for d in range(len(order))]
    return view(value, shape, lambda at: tuple(at[d] for d in back), ("permute", tuple(map(index, order))))


def view(value: Value, shape: Shape, rule: Look, move: Move | None = None) -> Value:
    return View(value, rule, move, shape=shape, dtype=value.dtype)


def window(value: Value, shape: Shape, rule: Look, fill: int | float = 0, whole: bool = False) -> Value:
    """`value` at the positions of `rule`, `fill` outside of it; two windows with the same fill are one."""
    fill = literal(fill, value.dtype).number
    if isinstance(value, Window) and value.whole and value.fill == fill:
        inner = value
        return Window(inner.arg, lambda at: inner.rule(rule(at)), fill, whole, shape=shape, dtype=value.dtype)
    return Window(value, rule, fill, whole, shape=shape, dtype=value.dtype)


def narrow(value: Value, dim: int, start: Index, length: Index) -> Value:
    """`length` positions of `dim` from `start` on."""
    if length == value.shape[dim]:
        return value
    shape, move = (*value.shape[:dim], length, *value.shape[dim + 1 :]), ("narrow", (index(dim), start, length))
    return view(value, shape, lambda at: tuple(p + start if d == dim else p for d, p in enumerate(at)), move)


def counting(shape: Shape, rule: Callable[[Positions], Index], dtype: str = "i64") -> Value:
    return cast(Iota(rule, shape=shape, dtype="i64"), dtype)


def fold(kind: str, arg: Value, dims: Sequence[int], dtypes: Sequence[str], keep: bool = False) -> tuple[Value, ...]:
    """The results of a reduction over `dims`, which stay with size 1 when `keep`."""
    dims = tuple(sorted({d % len(arg.shape) for d in dims})) if arg.shape else ()
    reduction = Reduction(kind, arg, dims)
    shape = tuple(arg.shape[d] for d in reduction.kept)
    kept = tuple(index(1) if d in dims else s for d, s in enumerate(arg.shape))
    results = (Reduced(reduction, part, shape=shape, dtype=dtype) for part, dtype in enumerate(dtypes))
    return tuple(reshape(r, kept) if keep else r for r in results)


def held(value: Value) -> Value:
    """`value` in a tensor of its own, because it is read many times or in any order."""
    if isinstance(value, (Source, Concat, Scatter)):
        return value
    ways = tuple((d, 1) for d in range(len(value.shape)))
    return Concat((value,), ((index(0),) * len(value.shape),), ways, shape=value.shape, dtype=value.dtype)

"""Rules of operators that look elsewhere or make constants: reshapes, transposes, slices, padding, joining, filling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul

from akg_core.design.algebra.index import Index, index
from akg_core.design.graph.rules import Call, rule, rules, size_value
from akg_core.design.graph.values import (
    Concat,
    Positions,
    Source,
    Value,
    View,
    cast,
    counting,
    expand,
    literal,
    map_of,
    narrow,
    permute,
    reshape,
    view,
    where,
    wide,
    window,
)
from akg_core.design.operators.scans import exclusive

rules(
    {
        "view _unsafe_view reshape unsqueeze squeeze flatten unflatten": lambda c: reshape(c.raw(0), c.shape),
        "alias detach lift_fresh_copy": lambda c: c.raw(0),
        "permute": lambda c: permute(c.raw(0), c.arg(1)),
        "stack": lambda c: stacked([cast(c.refer(r), c.wide) for r in c.arg(0)], c.arg(1, 0) % len(c.shape)),
        "zeros zeros_like new_zeros": lambda c: literal(0, c.wide, c.shape),
        "ones ones_like new_ones": lambda c: literal(1, c.wide, c.shape),
    }
)


@rule("view.dtype")
def reinterpreted(c: Call) -> Value:
    """The bits of floats as whole numbers of as many bytes, or back."""
    value = c.raw(0)
    if value.dtype == c.dtype:
        return value
    op = {("f32", "i32"): "bits", ("i32", "f32"): "from_bits", ("f64", "i64"): "bits", ("i64", "f64"): "from_bits"}
    if (value.dtype, c.dtype) not in op:
        raise c.unsupported(f"of {value.dtype} as {c.dtype}")
    return map_of(op[value.dtype, c.dtype], value, dtype=c.dtype)


@rule("as_strided")
def strided(c: Call) -> Value:
    """Elements of what is given, as it lies in memory; of what is computed, only what exporting writes to spell out how
    a mean lies there: its own shape, the last dim running fastest."""
    value, strides, first = c.raw(0), [*map(c.size, c.arg(2))], c.arg(3) or 0
    steps = [*accumulate(reversed([*value.shape[1:], index(1)]), mul)][::-1]
    if not first and value.shape == c.shape:
        places = zip(c.shape, strides, steps, strict=True)
        if all(step == due for size, step, due in places if size != 1):
            return value
    if not isinstance(value, Source) or value.order not in ((), tuple(range(len(value.shape)))):
        raise c.unsupported("with other elements than those of its operand, which is no argument as it lies")

    def place(at: Positions) -> Positions:
        return (sum((p * stride for p, stride in zip(at, strides, strict=True)), c.size(first)),)

    return view(reshape(value, (value.size,)), c.shape, place)


@rule("t", "transpose")
def transposed(c: Call) -> Value:
    value = c.raw(0)
    order = list(range(len(value.shape)))
    if len(order) < 2:
        return value
    a, b = (c.arg(1), c.arg(2)) if c.name == "transpose" else (0, 1)
    order[a], order[b] = order[b], order[a]
    return permute(value, order)


@rule("expand", "broadcast_to")
def expanded(c: Call) -> Value:
    value = c.raw(0)
    beside = len(c.shape) - len(value.shape)  # a program expands dims that are there
    return expand(reshape(value, (*(index(1),) * beside, *value.shape)), c.shape)


@rule("repeat")
def repeated(c: Call) -> Value:
    value = c.raw(0)
    lead = len(c.shape) - len(value.shape)
    return view(value, c.shape, lambda at: tuple(p % s for p, s in zip(at[lead:], value.shape, strict=True)))


@rule("slice")
def sliced(c: Call) -> Value:
    value, dim, step = c.raw(0), c.arg(1, 0) % len(c.shape), c.arg(4, 1)
    start = c.position(c.arg(2) or 0, value.shape[dim])
    start = index(0) if (start.constant or 0) < 0 else start
    start = value.shape[dim] if c.shape[dim] == 0 and start.constant else start  # it may begin after the end
    if step == 1:
        return narrow(value, dim, start, c.shape[dim])
    move = ("narrow", (index(dim), start, c.shape[dim], c.size(step)))
    return view(value, c.shape, lambda at: tuple(p * step + start if d == dim else p for d, p in enumerate(at)), move)


@rule("select")
def selected(c: Call) -> Value:
    value = c.raw(0)
    dim = c.arg(1) % len(value.shape)
    return reshape(narrow(value, dim, c.position(c.arg(2), value.shape[dim]), index(1)), c.shape)


@rule("split_with_sizes", "split", "unbind")
def split(c: Call) -> tuple[Value, ...]:
    value, unbind = c.raw(0), c.name == "unbind"
    dim = c.arg(1 if unbind else 2, 0) % len(value.shape)
    parts: list[Value] = []
    start = index(0)
    for result in range(len(c.node.shapes)):
        shape = c.shape_of(result)
        length = index(1) if unbind else shape[dim]
        parts.append(reshape(narrow(value, dim, start, length), shape))
        start = start + length
    return tuple(parts)


@rule("roll")
def rolled(c: Call) -> Value:
    value = c.raw(0)
    if not c.arg(2):
        raise c.unsupported("without dims")
    sizes, shifts = value.shape, dict(zip([d % len(value.shape) for d in c.arg(2)], c.arg(1), strict=True))
    return view(
        value, c.shape, lambda at: tuple((p + sizes[d] - shifts.get(d, 0)) % sizes[d] for d, p in enumerate(at))
    )


@rule("unfold")
def unfolded(c: Call) -> Value:
    value = c.raw(0)
    if not value.shape:
        return reshape(value, c.shape)
    dim, length, step = c.arg(1) % len(value.shape), c.size(c.arg(2)), c.size(c.arg(3))
    move = ("unfold", (index(dim), length, step))
    return view(
        value, c.shape, lambda at: tuple(p * step + at[-1] if d == dim else p for d, p in enumerate(at[:-1])), move
    )


@rule("diagonal")
def diagonal(c: Call) -> Value:
    """Places that step along two dims at once; along one, where these lie in one piece."""
    value, rank = c.raw(0), len(c.raw(0).shape)
    offset, first, second = c.arg(1, 0), c.arg(2, 0) % rank, c.arg(3, 1) % rank
    rest = [d for d in range(rank) if d not in (first, second)]
    start, step = {first: index(max(-offset, 0)), second: index(max(offset, 0))}, {first: index(1), second: index(1)}
    while isinstance(value, View) and value.move and value.move[0] in ("narrow", "permute"):
        kind, details = value.move
        if kind == "narrow":
            dim, begin, each = details[0].constant, details[1], details[3] if len(details) > 3 else index(1)
            if dim not in (first, second):
                break
            start[dim], step[dim] = begin + start[dim] * each, step[dim] * each
        else:
            order = [d.constant or 0 for d in details]
            rest, (first, second) = [order[d] for d in rest], (order[first], order[second])
            start, step = ({order[d]: of[d] for d in of} for of in (start, step))
        value = value.arg
    first, second = sorted((first, second))
    length = c.shape[-1]
    if second != first + 1 or not _in_rows(value):

        def look(at: Positions) -> Positions:
            places = dict(zip(rest, at, strict=False))
            return tuple(start[d] + at[-1] * step[d] if d in start else places[d] for d in range(rank))

        return view(value, c.shape, look)
    lead, columns, behind = value.shape[:first], value.shape[second], value.shape[second + 1 :]
    flat = reshape(value, (*lead, value.shape[first] * columns, *behind))
    begin, each = columns * start[first] + start[second], columns * step[first] + step[second]
    along = view(
        flat,
        (*lead, length, *behind),
        lambda at: tuple(p * each + begin if d == first else p for d, p in enumerate(at)),
        ("narrow", (index(first), begin, length, each)),
    )
    return permute(along, (*(d - (d > first) for d in rest), first))


def _in_rows(value: Value) -> bool:
    """Whether neighbouring dims lie one after the other in memory, as far as the views of a tensor say."""
    while isinstance(value, View) and value.move:
        kind, details = value.move
        if kind != "reshape" and (kind != "narrow" or len(details) > 3):
            return False
        value = value.arg
    return not isinstance(value, Source) or value.order in ((), tuple(range(len(value.shape))))


@rule("diagonal_scatter")
def diagonal_scattered(c: Call) -> Value:
    value, part, rank = c.raw(0), c.raw(1), len(c.shape)
    offset, first, second = c.arg(2, 0), c.arg(3, 0) % rank, c.arg(4, 1) % rank

    def look(at: Positions) -> Positions:
        rest = (p for d, p in enumerate(at) if d not in (first, second))
        return (*rest, at[first] - max(-offset, 0))

    on = counting(c.shape, lambda at: at[second] - at[first]).equals(offset)
    return where(on, window(part, c.shape, look), value, wide(value.dtype))


@rule("constant_pad_nd")
def padded(c: Call) -> Value:
    value, pads, fill = c.raw(0), c.arg(1), c.arg(2) or 0
    rank = len(value.shape)
    before = {rank - 1 - i // 2: c.size(pads[i]) for i in range(0, len(pads), 2)}
    around = all(c.size(pad).nonnegative for pad in pads)
    return window(value, c.shape, lambda at: tuple(p - before.get(d, 0) for d, p in enumerate(at)), fill, around)


def _inside(shape: tuple[Index, ...], dim: int, start: Index, length: Index) -> Value:
    """Whether the position along `dim` is in [start, start + length)."""
    place = counting(shape, lambda at: at[dim] - start)
    return (place >= 0) & (place < size_value(length))


@rule("cat")
def concatenated(c: Call) -> Value:
    dim = c.arg(1, 0) % max(len(c.shape), 1)
    # Empty one-dimensional tensors are allowed beside any others.
    parts = [part for part in map(c.refer, c.arg(0)) if part.size != 0]
    if not parts:
        return literal(0, c.wide, c.shape)
    narrow_too = all(part.dtype == c.dtype for part in parts)
    parts = [cast(part, c.dtype if narrow_too else c.wide) for part in parts]
    if len(parts) == 1:
        return parts[0]
    return exclusive(parts, dim, c.shape) or joined(parts, dim)


def stacked(values: Sequence[Value], dim: int = 0) -> Value:
    """Values beside each other along a new dim."""
    return joined([reshape(v, (*v.shape[:dim], index(1), *v.shape[dim:])) for v in values], dim)


def joined(parts: Sequence[Value], dim: int) -> Value:
    """Values beside each other along a dim."""
    rank, first = len(parts[0].shape), parts[0]
    ends = list(accumulate(part.shape[dim] for part in parts))
    starts = (tuple(end if d == dim else index(0) for d in range(rank)) for end in (index(0), *ends[:-1]))
    shape = (*first.shape[:dim], ends[-1], *first.shape[dim + 1 :])
    return Concat(tuple(parts), tuple(starts), tuple((d, 1) for d in range(rank)), shape=shape, dtype=first.dtype)


@rule("select_scatter", "slice_scatter")
def scattered(c: Call) -> Value:
    value, part = c.raw(0), c.raw(1)
    dim = c.arg(2, 0) % len(value.shape)
    select = c.name == "select_scatter"
    start, step = c.position(c.arg(3) or 0, value.shape[dim]), 1 if select else c.arg(5, 1)
    if select:
        part = reshape(part, tuple(index(1) if d == dim else s for d, s in enumerate(value.shape)))

    def there(at: Positions) -> Positions:
        return tuple((index(0) if select else (p - start) // step) if d == dim else p for d, p in enumerate(at))

    moved = view(part, c.shape, there)
    inside = _inside(c.shape, dim, start, part.shape[dim] * step)
    if step != 1:
        inside = inside & counting(c.shape, lambda at: (at[dim] - start) % step).equals(0)
    return where(inside, moved, value, wide(value.dtype))


# --- constants ---------------------------------------------------------------------------------------


@rule("full", "full_like", "new_full", "fill")
def full(c: Call) -> Value:
    number = c.operand(2 if c.name == "new_full" else 1)
    if isinstance(number, Value):
        return expand(cast(number, c.wide), c.shape)
    return literal(number, c.wide, c.shape)


@rule("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
def empty(c: Call) -> Value:
    """Memory that nothing has written yet: any numbers will do."""
    return literal(0, c.wide, c.shape)


@rule("scalar_tensor")
@rule("scalar_tensor", namespace="prims")
def scalar(c: Call) -> Value:
    number = c.operand(0)
    return cast(number, c.wide) if isinstance(number, Value) else literal(number, c.wide)


@rule("arange")
def arange(c: Call) -> Value:
    bounds = [a for a in c.node.args if a is not None]
    start, step = (bounds[0] if len(bounds) > 1 else 0), (bounds[2] if len(bounds) > 2 else 1)
    if not isinstance(start, float) and not isinstance(step, float):
        first, stride = c.size(start), c.size(step)
        return counting(c.shape, lambda at: at[0] * stride + first, c.wide)
    positions = counting(c.shape, lambda at: at[0], c.wide)
    return positions * step + start

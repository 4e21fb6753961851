"""Rules of operators that order rows: sort, topk, kthvalue, median and what is made of them.

A row's elements become keys that are all different: what orders a value in the high bits, its position in the low ones.
So ties keep their order, and a NaN comes after everything. Rows that a program can sort at once are; where a language
has no such operation, short rows are sorted by ranks: an element's place is how many keys are less. Longer ones are
sorted in runs, and runs merged by twos, tile by tile, where only the ends of tiles look by halves for what lies before
them; without such an operation each place does.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from akg_core.design.algebra.index import Index, ceil_div, index
from akg_core.design.graph.places import along
from akg_core.design.graph.rules import Call, Choices, rule, size_value
from akg_core.design.graph.values import (
    Gather,
    Positions,
    Scatter,
    Sorted,
    Value,
    cast,
    compute,
    counting,
    expand,
    fold,
    held,
    literal,
    map_of,
    narrow,
    permute,
    predicate,
    reshape,
    view,
    where,
    window,
)
from akg_core.design.operators.attention import softmax_of
from akg_core.design.operators.gathers import taken
from akg_core.design.operators.reductions import reduced
from akg_core.design.operators.views import stacked
from akg_core.dtypes import is_float

_FEW, _NEAR = 8, 4096  # so many of rows that stay on the chip are looked for one after the other
_SMALLEST_GROUP = 4  # of keys of which only the least is looked at
_MERGED = 1024  # elements of two runs that are merged at once
RUN = 256  # elements of a row that are sorted by their ranks
_SPARE = 4  # how much longer than the example a row of no fixed length may be to be sorted at once
_LOW = 0xFFFFFFFF
_WIDE = ("f64", "i64")  # dtypes of which a key of 32 bits does not hold all
_LAST = (1 << 63) - 1  # after every key


def ordered(x: Value, longest: int, descending: bool = False) -> Value:
    """For each place of the rows of `x`, along its last dim, the position of what comes there, in a stable order.

    `longest`: how long a row that a program sorts at once, a power of two; 0 for none.
    """
    first, *others = _digits(x, descending)
    order = _sorted(first, longest) & _LOW
    for digit in others:
        order = held(order)
        order = taken(order, _sorted(taken(held(digit), order), longest) & _LOW)
    return order


def _with_elements(x: Value, longest: int, descending: bool) -> tuple[Value, Value]:
    """The rows of `x` in an order that is stable but for -0, which comes before 0, and the positions as in `ordered`.

    Where a key holds all of an element, it is made of that, which is read in order.
    """
    if x.dtype in _WIDE:
        order = ordered(x, longest, descending)
        return taken(x, order), order
    (digit,) = _digits(x, descending, zeros_differ=True)
    keys = _sorted(digit, longest)
    key = keys >> 32
    key = cast(~key if descending else key, "i32")
    if is_float(x.dtype):
        key = map_of("from_bits", _folded(key, 31), dtype="f32")
    return cast(key, x.dtype), keys & _LOW


def _folded(bits: Value, last: int) -> Value:
    """The bits of floats as ints that rise as these do, and back; `last`: that of their sign."""
    return bits ^ (bits >> last & (1 << last) - 1)


def _digits(x: Value, descending: bool, zeros_differ: bool = False) -> list[Value]:
    """What orders `x`, as whole numbers of 32 bits, the least significant first."""
    if is_float(x.dtype):
        x = cast(x, "f64" if x.dtype == "f64" else "f32")
        whole, last = ("i64", 63) if x.dtype == "f64" else ("i32", 31)
        # 0 and -0 are equal, and so are all NaN.
        x = x if zeros_differ else where(x.equals(0.0), 0.0, x, x.dtype)
        folded = _folded(map_of("bits", x, dtype=whole), last)
        x = where(predicate("isnan", x), (1 << last) - 1, folded, whole)
    key = cast(x, "i64")
    if descending:
        key = ~key
    if x.dtype not in _WIDE:
        return [key]
    low = (key & _LOW) - (1 << 31)
    return [low, key >> 32]


def _keys(digit: Value, run: int = 0) -> Value:
    """Numbers of 32 bits with their positions in the row below them; in runs of so many, filled up at the end."""
    digit = _runs(digit, run, _LAST >> 32) if run else digit
    place = counting(digit.shape, lambda at: at[-2] * run + at[-1] if run else at[-1])
    return digit << 32 | place


def _runs(x: Value, run: int, fill: int) -> Value:
    """Rows in runs of so many, filled up at the end."""
    *rows, size = x.shape
    shape = (*rows, ceil_div(size, run), index(run))
    return window(x, shape, lambda at: (*at[:-2], at[-2] * run + at[-1]), fill)


def _sorted(digit: Value, longest: int) -> Value:
    """Rows of keys in order."""
    *rows, size = digit.shape
    if size.constant is None or size.constant <= max(longest, 2 * RUN):
        return _in_order(_keys(digit), longest)
    found = _in_order(_keys(digit, max(longest, RUN)), longest)
    while found.shape[-2] != 1:
        found = _merged(found, min(longest, _MERGED))
    return narrow(reshape(found, (*rows, found.shape[-1])), len(rows), index(0), size)


def _in_order(keys: Value, longest: int) -> Value:
    """Short rows of keys in order."""
    size = keys.shape[-1]
    if size.constant == 1:
        return keys
    if (size.constant or _SPARE * size.example) > longest:
        return _by_ranks(keys)
    return Sorted(keys, len(keys.shape) - 1, shape=keys.shape, dtype=keys.dtype)


def _by_ranks(keys: Value) -> Value:
    """Each key of a row at the place that is the number of lesser ones."""
    *rows, size = keys.shape
    keys = held(keys)
    pairs = (*rows, size, size)
    mine, other = view(keys, pairs, lambda at: at[:-1]), view(keys, pairs, lambda at: (*at[:-2], at[-1]))
    rank = held(reduced("sum", cast(other < mine, "i64"), (len(rows) + 1,)))
    return along(keys.shape, len(rows), rank).joined(literal(0, "i64"), keys, "set")


def _merged(runs: Value, tile: int) -> Value:
    """Runs [*rows, R, L] in order, by twos: so many places at once, or each alone where `tile` is 0."""
    *rows, count, length = runs.shape
    pairs = ceil_div(count, 2)
    shape = (*rows, pairs, length * 2)
    size = length.constant or 0

    def beside(at: Positions) -> Positions:
        return (*at[:-2], at[-2] * 2 + at[-1] // size, at[-1] % size)

    whole = pairs * 2 == count
    both = held(reshape(runs, shape)) if whole else window(held(runs), shape, beside, _LAST)
    return reshape(_merged_in_tiles(both, size, tile), shape) if tile else _merged_by_places(both, size)


def _merged_in_tiles(both: Value, size: int, tile: int) -> Value:
    """Pairs of runs of `size` in order, tile by tile: what belongs in one rises along the first run and then falls
    along the second, read backwards."""
    *pairs, _ = both.shape
    ends = (*pairs, index(2 * size // tile + 1))
    begins = held(_of_first(both, size, counting(ends, lambda at: at[-1] * tile)))
    shape = (*pairs, index(2 * size // tile), index(tile))
    begin, end = view(begins, shape, lambda at: at[:-1]), view(begins, shape, lambda at: (*at[:-2], at[-2] + 1))
    rising = begin + counting(shape, lambda at: at[-1])
    last = counting(shape, lambda at: at[-2] * tile - at[-1] + (size + tile - 1))
    falling = last - begin
    place = where(rising < end, rising, falling, "i64")
    return Sorted(taken(both, place), len(shape) - 1, bitonic=True, shape=shape, dtype=both.dtype)


def _merged_by_places(both: Value, size: int) -> Value:
    """Pairs of runs of `size` in order, each place for itself."""
    place = counting(both.shape, lambda at: at[-1])
    own = _of_first(both, size, place)
    rest = place - own
    after = rest + size
    less = (rest >= size) | (taken(both, own) <= taken(both, after))
    return taken(both, where((own < size) & less, own, after))


def _of_first(both: Value, size: int, place: Value) -> Value:
    """How much of the first run of a pair comes before a place of both in order, by halves: as many as are not more
    than what is left of the second."""
    own, most = compute("maximum", place - size, 0), compute("minimum", place, size)
    step = size
    while step:
        tried = own + step
        mine = taken(both, tried - 1)
        yours = taken(both, place - tried + size)
        fits = (tried <= most) & (mine <= yours)
        own = where(fits, tried, own)
        step //= 2
    return own


def leading(x: Value, first: Index, choices: Choices, descending: bool) -> Value:
    """The positions of so many of each row of `x`, the first in order."""
    count, longest = first.constant, choices.longest_sorted
    digit, *others = _digits(x, descending)
    dim, size = len(x.shape) - 1, x.shape[-1].constant
    at_once = choices.partial_sorts and size is not None and size <= longest
    few = count is not None and count <= (1 if at_once else _FEW) and (size is None or size <= _NEAR)
    if count is None or others or not (few or (size is not None and count <= max(longest, RUN) // 2)):
        return narrow(ordered(x, longest, descending), dim, index(0), first)
    if few:
        found = _least(_keys(digit), count)
    elif at_once:
        found = _first(_keys(digit), count, longest)
    else:
        found = _selected(digit, size or 0, count, longest)
    return found & _LOW


def _selected(digit: Value, size: int, count: int, longest: int) -> Value:
    """The first keys of each row, in order.

    Where they are few of a long row, they are looked for in the groups whose least keys come first: so many groups as
    there are keys wanted have all of them.
    """
    group = 1 << max(math.isqrt(size // count).bit_length() - 1, 0)  # a power of two
    if group < _SMALLEST_GROUP:
        return _first(_keys(digit), count, longest)
    keys, dim = _keys(digit, group), len(digit.shape) - 1
    groups = _first(held(reduced("min", keys, (dim + 1,))), count, longest)
    at = (groups & _LOW) // group
    shape = (*digit.shape[:-1], index(count), index(group))
    within = Gather(keys, (at,), lambda at, found: (*at[:-2], found[0], at[-1]), shape=shape, dtype="i64")
    return _first(reshape(within, (*digit.shape[:-1], index(count * group))), count, longest)


def _first(keys: Value, count: int, longest: int) -> Value:
    """The first of each row of keys, in order: of runs, where a row is too long to be sorted at once."""
    *rows, size = keys.shape
    run, left = max(longest, RUN), size.constant or 0
    while left > max(longest, 2 * RUN):
        runs = _in_order(_runs(keys, run, _LAST), longest)
        left = -(-left // run) * count
        keys = reshape(_cut(runs, count), (*rows, index(left)))
    return _cut(_in_order(keys, longest), count)


def _cut(x: Value, count: int) -> Value:
    """The first of each row, in a tensor of their own: what is computed beyond is written nowhere."""
    shape = (*x.shape[:-1], index(count))
    return Scatter(literal(0, x.dtype, shape), x, (), lambda at, _: at, "set", shape=shape, dtype=x.dtype)


def _least(keys: Value, count: int) -> Value:
    """The first keys of each row, one after the other: each is the least of those that are more than the last."""
    *rows, _ = keys.shape
    found: list[Value] = []
    for _ in range(count):
        left = keys
        if found:
            last = expand(reshape(found[-1], (*rows, index(1))), keys.shape)
            left = where(keys > last, keys, _LAST, "i64")
        found.append(reduced("min", left, (len(rows),)))
    return stacked(found, len(rows))


# --- operators --------------------------------------------------------------------------------------------


def _rows(x: Value, dim: int) -> tuple[Value, tuple[int, ...]]:
    """`x` with `dim` last, in memory of its own where that takes work, and how to turn it back."""
    rank = len(x.shape)
    order = (*(d for d in range(rank) if d != dim), dim)
    return permute(x, order), tuple(order.index(d) for d in range(rank))


@rule("sort", "argsort")
def sort(c: Call) -> Value | tuple[Value, ...]:
    x = c.value(0)
    first = 2 if c.op.endswith("stable") and "stable" not in c.node.kwargs else 1
    dim = c.option("dim", c.arg(first, -1))
    descending = bool(c.option("descending", c.arg(first + 1, False)))
    stable = bool(c.option("stable", c.arg(1, False) if first == 2 else False))
    longest = c.choices.longest_sorted

    def find(rows: Value) -> tuple[Value, Value]:
        if not stable:
            return _with_elements(rows, longest, descending)
        order = ordered(rows, longest, descending)
        return taken(rows, order), order

    return _of_rows(x, dim, find)


def _listed(x: Value, dim: int, find: Callable[[Value], Value]) -> tuple[Value, ...]:
    """Elements along `dim` that `find` names for rows, and where they are."""

    def both(rows: Value) -> tuple[Value, Value]:
        places = find(rows)
        return taken(rows, places), places

    return _of_rows(x, dim, both)


def _of_rows(x: Value, dim: int, find: Callable[[Value], tuple[Value, Value]]) -> tuple[Value, ...]:
    """What `find` gives for rows along `dim`, elements and where they are."""
    if not x.shape:
        return x, literal(0, "i64")
    rows, back = _rows(x, dim % len(x.shape))
    return tuple(permute(each, back) for each in find(rows))


@rule("topk")
def topk(c: Call) -> tuple[Value, ...]:
    """The first of a row in order, which is also a right answer where no order is asked for.

    Which of equal values come first is open: a softmax has the order of what it is of, where less is equal by rounding.
    """
    count, dim, largest = c.size(c.arg(1)), c.arg(2, -1), bool(c.arg(3, True))

    def find(rows: Value) -> Value:
        scores, _ = softmax_of(rows) or (rows, False)
        return leading(scores, count, c.choices, largest)

    return _listed(c.value(0), dim, find)


@rule("kthvalue")
def kth_value(c: Call) -> tuple[Value, ...]:
    """The last of so many elements in order of each row, and where it is."""
    x, count = c.value(0), c.size(c.arg(1))

    def find(rows: Value) -> Value:
        found = leading(rows, count, c.choices, False)
        return narrow(found, len(x.shape) - 1, count - index(1), index(1))

    return tuple(reshape(v, c.shape) for v in _listed(x, c.arg(2, -1), find))


@rule("median", "nanmedian")
def median(c: Call) -> Value | tuple[Value, ...]:
    """The lower of the two in the middle; a NaN is the median, unless these do not count."""
    x, whole = c.value(0), c.op.endswith("default")
    if whole:
        x = reshape(x, (x.size,))
    dim = (-1 if whole else c.arg(1)) % max(len(x.shape), 1)
    if not x.shape:
        return x, literal(0, "i64")
    rows, _ = _rows(x, dim)
    order = ordered(rows, c.choices.longest_sorted)
    size = size_value(rows.shape[-1])
    last = (len(rows.shape) - 1,)
    missing: Value = literal(0, "i64")
    if is_float(x.dtype):
        missing = reduced("sum", cast(predicate("isnan", rows), "i64"), last)
    count = size - missing
    middle = (count - 1) // 2
    if c.name == "median":
        whole_row = (size - 1) // 2
        middle = where(missing > 0, count, whole_row, "i64")
    else:
        middle = compute("maximum", middle, 0)
    middle = reshape(expand(middle, rows.shape[:-1]), (*rows.shape[:-1], index(1)))
    places = taken(order, middle)
    value = reshape(taken(rows, places), c.shape)
    return value if whole else (value, reshape(places, c.shape))


@rule("mode")
def mode(c: Call) -> tuple[Value, ...]:
    """The value that is most often in a row, the least of several, and the last place where it is."""
    x, dim = c.value(0), c.arg(1, -1)
    if not x.shape:
        return x, literal(0, "i64")
    rows, _ = _rows(x, dim % len(x.shape))
    *lead, size = rows.shape
    pairs = (*lead, size, size)
    mine, other = view(rows, pairs, lambda at: at[:-1]), view(rows, pairs, lambda at: (*at[:-2], at[-1]))
    often = held(reduced("sum", cast(other.equals(mine), "i64"), (len(lead) + 1,)))
    order = ordered(rows, c.choices.longest_sorted)
    first = fold("argmax", taken(often, order), (len(lead),), ("i64", "i64"))[1]
    place = taken(order, reshape(first, (*lead, index(1))))
    value = taken(rows, place)
    same = rows.equals(expand(value, rows.shape))
    last = reduced("max", where(same, counting(rows.shape, lambda at: at[-1]), -1, "i64"), (len(lead),))
    return reshape(value, c.shape), reshape(last, c.shape)

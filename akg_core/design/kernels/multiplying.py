"""The kernels that one product becomes: one, or one on halves and one in f32 for the tiles that halves do not hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from akg_core.design.algebra.index import Axis
from akg_core.design.graph.split_precision import LOW, Halves
from akg_core.design.graph.values import Product
from akg_core.design.kernels.builder import Emitted, KernelBuilder, ends
from akg_core.design.kernels.contraction import (
    Chunk,
    Sum,
    emit_product,
    in_chunks,
    multiplies_halves,
    opened,
    plain_sum,
    product_tile,
    roles,
    summed_tile,
    sums_beside,
    tile_product,
)
from akg_core.design.kernels.descriptors import in_bulk, plain
from akg_core.design.nest.accesses import example
from akg_core.design.nest.nest import Head, Nest, Store, widened
from akg_core.design.nest.terms import Load, Result, Term, axes_of, below
from akg_core.design.nest.tiling import Step, Tiling, multiples_up_to, power_below
from akg_core.records import Traits
from akg_core.sketch.ast import (
    Assign,
    AxisList,
    Binary,
    Call,
    Expr,
    Grid,
    Group,
    Hints,
    If,
    Name,
    Number,
    Statement,
    Text,
    Tiles,
    Tune,
    Whole,
    call,
)

SWEPT = 32  # tiles of columns that one program goes through
_WARPS = (4, 8)  # of a program that makes one product a turn; twice as many first where there is but one turn
_FEW_ROWS = 64  # that one tile on matrix units holds
_HALF_FULL, _FULL = 0.75, 1.5  # shares of the memory of a unit that leave room for two programs, and for one
_AHEAD = 4  # turns whose loads are under way to a program that stays
_DEEPEST = 256  # contracted positions of a tile
_FEW = 16  # contracted positions of a turn of what is seldom done
_APART: Hints = (("promote", Number(1)),)

Stream = Callable[[Store], bool]


@dataclass(frozen=True, slots=True)
class Form:
    """One kernel of a product: its nest, its tiles, how it is written, and what its name ends with."""

    nest: Callable[[Nest], Nest]
    tile: Callable[[Nest], Tiling]
    emit: Callable[[Nest, Tiling, str, Stream, Chunk | None], Emitted]
    suffix: str = ""


def forms(product: Product, traits: Traits, halves: tuple[Halves, Halves] | None, beside: int = 1) -> tuple[Form, ...]:
    """The kernels of a product, or of so many `beside` each other, in the order in which they are launched; the first
    is the one that has the work."""
    if product.guards is not None:
        narrow = traits.model_copy(update={"dot_tile": traits.half_tile or traits.dot_tile})
        return (Form(lambda nest: nest, lambda nest: tile_product(_unguarded(nest), narrow), _emit_guarded),)
    if beside > 1:
        return (
            Form(lambda nest: nest, lambda nest: tile_product(nest, traits), partial(emit_product, summed=sums_beside)),
        )
    if halves is None or traits.half_tile is None:
        return (Form(lambda nest: nest, lambda nest: _tiled(nest, traits), partial(emit_product, summed=_sum_in_bulk)),)
    left, right = halves
    sizes = (*left.shape[-2:], right.shape[-1])
    short = (left.shape[-1].constant or 0) <= traits.half_tile[2]

    def part(*numbers: int) -> Callable[[Nest], Nest]:
        """The nest with these arguments of its product, over whole tiles: what is beyond an operand is zero, what is
        beyond the result is not stored."""

        def chosen(nest: Nest) -> Nest:
            m, n, k = nest.axes[-3:]
            nest = widened(nest, dict(zip((m, k, n), sizes, strict=True)))
            (head,) = nest.heads
            return replace(nest, heads=(Head(head.of, tuple(head.args[n] for n in numbers)),))

        return chosen

    rows, columns, depth = traits.half_tile
    short = short and left.stored
    size = (rows, columns // 2 if short else columns, depth if left.stored else depth // 2)
    narrow = traits.model_copy(update={"dot_tile": size})
    whole = partial(emit_product, summed=_sum_of_stored if left.stored else _sum_of_split)
    emit = partial(_emit_swept, units=traits.units) if short else whole
    main = Form(part(2, 3, 4, 5, 6, 7), lambda nest: tile_product(nest, narrow), emit)
    return main, Form(
        part(0, 4, 1, 7),
        lambda nest: _fixed(tile_product(nest, traits)),
        partial(_emit_rest, units=traits.units),
        "_rest",
    )


# --- the product as it is -------------------------------------------------------------------------------


def _tiled(nest: Nest, traits: Traits) -> Tiling:
    """Tiles of a product; those of 16-bit numbers that lie in memory are as large as leaves every unit one.

    Where there are fewer programs than units can run, more loads of each are under way at once.
    """
    if traits.half_tile is None or not multiplies_halves(nest):
        return tile_product(nest, traits)
    skinny = _skinny(nest, traits) if all(map(plain, nest.heads[0].args)) else None
    if skinny is not None:
        return skinny
    if tiling := _windows(nest, traits):
        return tiling
    rows, columns, depth = traits.half_tile
    deep = 2 * depth if example(nest.reduced) % (2 * depth) == 0 else depth
    for tile, programs, held in (
        ((rows, 2 * columns, depth), traits.units, 0.0),
        ((rows, columns, depth), traits.units, 0.0),
        ((rows // 2, columns, depth), traits.units, _HALF_FULL),
        ((rows // 2, columns, deep), traits.units // 2, _FULL),
        ((rows // 2, columns // 2, deep), traits.units // 2, _FULL),
    ):
        tiling = tile_product(nest, traits.model_copy(update={"dot_tile": tile, "units": 1}))
        if tiling.programs >= programs:
            return _at_most(_staged(tiling, tile, held, traits), max(tile[1], columns))
    return tile_product(nest, traits.model_copy(update={"dot_tile": traits.half_tile}))


def _windows(nest: Nest, traits: Traits) -> Tiling | None:
    """Tiles of a product with the windows of an image channels last, for programs that stay: while one ends a tile,
    loads of its next are under way. None where there are too few for that, or no such windows.
    """
    single, row, column, contracted = roles(nest)
    left, right = nest.heads[0].args
    if traits.window_tile is None or single or row is None or column is None or len(contracted) > 1:
        return None
    if not plain(left) or not isinstance(right, Load) or not _is_whole(right, column, contracted[0]):
        return None
    _, pixels, depth = traits.window_tile
    tiling = tile_product(nest, traits.model_copy(update={"dot_tile": traits.window_tile, "units": 1}))
    rows, (n, _), ((k, step),) = *tiling.grid, tiling.loops
    across = n, multiples_up_to(pixels)
    tiling = replace(tiling, grid=(rows, across), loops=((k, replace(step, stages=_AHEAD)),), persistent=True)
    return _at_most(tiling, pixels) if step.default == depth and tiling.programs >= 2 * traits.units else None


def _is_whole(load: Load, column: Axis, contracted: Axis) -> bool:
    """Whether windows stand at each pixel of an image [n, h, w, c] or at every so manieth, and have all channels."""
    sizes = [dim.constant for dim in load.buffer.shape]
    if len(sizes) != 4 or not all(sizes) or None in (column.extent.constant, contracted.extent.constant):
        return False
    images, height, width, channels = map(int, filter(None, sizes))
    taps = column.extent.example, contracted.extent.example
    kernel = math.isqrt(taps[1] // channels)
    strided = (images * -(-height // by) * -(-width // by) for by in range(1, min(height, width) + 1))
    return taps[1] == kernel * kernel * channels and taps[0] in strided


def _staged(tiling: Tiling, tile: tuple[int, int, int], share: float, traits: Traits) -> Tiling:
    """The tiling with loads for such a share of the memory of a unit under way; 0: as many as is usual."""
    *outer, (axis, step) = tiling.loops
    stages = int(share * traits.on_chip_bytes) // (2 * (tile[0] + tile[1]) * tile[2])
    return replace(tiling, loops=(*outer, (axis, replace(step, stages=max(stages, 2) if share else 0))))


def _at_most(tiling: Tiling, size: int) -> Tiling:
    """The tiling without choices of larger tiles."""

    def small(axes: tuple[tuple[Axis, Step], ...]) -> tuple[tuple[Axis, Step], ...]:
        return tuple((a, replace(s, choices=tuple(c for c in s.choices if c <= size))) for a, s in axes)

    return replace(tiling, grid=small(tiling.grid), loops=small(tiling.loops))


def _skinny(nest: Nest, traits: Traits) -> Tiling | None:
    """Tiles of a product with few rows, or few columns, which reads its other operand once: about one for each unit,
    with as much of that operand under way as there is room for; None where there are more of both, or little to read.
    """
    single, row, column, contracted = roles(nest)
    if single or row is None or column is None or len(contracted) > 1:
        return None
    few, many = sorted((row.extent.example, column.extent.example))
    length = contracted[0].extent.example
    deep = next((d for d in (_DEEPEST, _DEEPEST // 2) if length % d == 0), 0)
    if few > _FEW_ROWS or few == many or not deep or length < 8 * deep:
        return None
    fill = power_below(2 * few - 1)
    wanted = power_below(many // (traits.units - traits.units // 8))
    size = min(max(wanted, _FEW_ROWS // 2 if fill == _FEW_ROWS else _FEW_ROWS), 2 * _FEW_ROWS)
    tile = (fill, size, deep) if row.extent.example == few else (size, fill, deep)
    tiling = tile_product(nest, traits.model_copy(update={"dot_tile": tile}))
    return _at_most(_staged(tiling, tile, _FULL, traits), _DEEPEST)


def _sum_in_bulk(e: KernelBuilder, kept: tuple[str, ...], over: Expr) -> Sum:
    found, operands = plain_sum(e, kept, over), e.nest.heads[0].args
    if all(map(plain, operands)):
        found.body = in_bulk(found.body, e.writer, list(operands))
    return found


def _fixed(tiling: Tiling) -> Tiling:
    """The tiling without choices: a kernel that seldom has work is not tuned."""
    grid, loops = (tuple((a, Step(s.default)) for a, s in axes) for axes in (tiling.grid, tiling.loops))
    return replace(tiling, grid=grid, loops=loops)


# --- the product with guards ----------------------------------------------------------------------------


def _unguarded(nest: Nest) -> Nest:
    (head,) = nest.heads
    return replace(nest, heads=(Head(head.of, head.args[::3]),))


def _emit_guarded(nest: Nest, tiling: Tiling, name: str, stream: Stream, chunk: Chunk | None) -> Emitted:
    """A tile whose sums are all finite is taken back to what it stands for; any other one is made again, exactly."""
    e = opened(nest, stream)
    left, left_exact, left_back, right, right_exact, right_back = nest.heads[0].args
    kept = tuple(e.axis(a) for a, _ in tiling.grid)
    body = summed_tile(e, tiling, chunk, partial(plain_sum, operands=(left, right)))
    result = next(e.writer.known[t] for t in e.terms if isinstance(t, Result))
    peak = Call("reduce_max", (call("abs", result), Group(tuple(map(Name, kept)))))
    product, again = e.writer.fresh("product"), replace(tiling, loops=_short(tiling))
    backs = [e.writer.expression(t) for t in (left_back, right_back)]
    e.bind(nest.heads[0].of, (Name(product),))
    taken = [Assign((product,), result * backs[0] * backs[1]), *e.stores(list(nest.stores))]
    e.writer.known.clear()
    made = product_tile(e, again, chunk, partial(plain_sum, operands=(left_exact, right_exact)))
    body.append(If(Binary("<", peak, Number(math.inf)), tuple(taken), tuple(made)))
    warps = _WARPS if tiling.tiles > 1 else _WARPS[::-1]
    grid = e.in_grid(tiling.grid, body, hints=(("warps", Tune(warps)),))
    return e.kernel(name, in_chunks(e, tiling, chunk, grid))


def _short(tiling: Tiling) -> tuple[tuple[Axis, Step], ...]:
    """The loops with few positions a turn, which leaves registers to those who need them more often."""
    return tuple((a, Step(min(s.default, _FEW))) for a, s in tiling.loops)


# --- the product of halves ------------------------------------------------------------------------------


def _sum_of_stored(e: KernelBuilder, kept: tuple[str, ...], over: Expr) -> Sum:
    """high * high in a sum of its own each turn, since matrix units drop low bits of long sums; the other products,
    which are too small for that to matter, in one that goes on while that sum is added."""
    found, (high, low), (other_high, other_low) = _halves_at_hand(e, kept)
    found.body = in_bulk(found.body, e.writer, list(e.nest.heads[0].args))
    acc, rest, part = found.result, e.writer.fresh("rest"), e.writer.fresh("part")
    found.start.append(Assign((rest,), Call("zeros", (AxisList(kept), Text("f32")))))
    found.body.append(Assign((part,), Call("dot", (high, other_high), (("over", over), *_APART))))
    for pair in ((low, other_high), (high, other_low)):
        found.body.append(Assign((rest,), Call("dot", pair, (("over", over), ("into", Name(rest))))))
    found.body.append(Assign((acc,), Name(acc) + Name(part)))
    return _taken_back(e, found, Name(acc) + Name(rest) * (1 / LOW))


def _sum_of_split(e: KernelBuilder, kept: tuple[str, ...], over: Expr) -> Sum:
    """All products of a turn in one sum, the small ones first: splitting operands leaves no registers for two."""
    found, (high, low), (other_high, other_low) = _halves_at_hand(e, kept)
    acc, part = found.result, e.writer.fresh("part")
    into: tuple[tuple[str, Expr], ...] = ()
    for pair in ((low, other_high), (high, other_low)):
        found.body.append(Assign((part,), Call("dot", pair, (("over", over), *into))))
        into = (("into", Name(part)),)
    into = (("into", Name(part) * (1 / LOW)),)
    found.body.append(Assign((part,), Call("dot", (high, other_high), (("over", over), *into))))
    found.body.append(Assign((acc,), Name(acc) + Name(part)))
    return _taken_back(e, found, Name(acc))


def _halves_at_hand(e: KernelBuilder, kept: tuple[str, ...]) -> tuple[Sum, tuple[Expr, Expr], tuple[Expr, Expr]]:
    """An accumulator, and high and low of both operands."""
    args = e.nest.heads[0].args
    found = Sum(e.writer.fresh("acc"))
    found.start.append(Assign((found.result,), Call("zeros", (AxisList(kept), Text("f32")))))
    tiles = [args[n] for n in (0, 3, 1, 4)]
    found.start += e.writer.hoisted(e.terms, tiles, e.nest.reduced)
    found.body += e.writer.named(e.terms, tiles)
    high, other_high, low, other_low = (e.writer.assign(t, found.body) for t in tiles)
    e.writer.known.clear()
    return found, (high, low), (other_high, other_low)


def _taken_back(e: KernelBuilder, found: Sum, value: Expr) -> Sum:
    product = e.writer.fresh("product")
    found.finish.append(Assign((product,), _back(e, value)))
    found.result = product
    return found


def _back(e: KernelBuilder, value: Expr) -> Expr:
    """A product of scaled operands, times the powers of two that they were divided by."""
    for back in e.nest.heads[0].args[2::3]:
        value = value * e.writer.expression(back)
    return value


def _emit_swept(nest: Nest, tiling: Tiling, name: str, stream: Stream, chunk: Chunk | None, *, units: int) -> Emitted:
    """A short contraction, in one step: a program keeps its rows and goes through columns; storing is the work."""
    e = opened(nest, stream)
    ((contracted, _),) = tiling.loops
    high, low, back, other_high, other_low, _ = nest.heads[0].args
    out: list[Statement] = [Whole(e.axis(contracted), e.extent(contracted))]
    left = [e.writer.assign(t, out) for t in (high, low)]
    e.writer.assign(back, out)
    body: list[Statement] = []
    right = [e.writer.assign(t, body) for t in (other_high, other_low)]
    rest, product = e.writer.fresh("rest"), e.writer.fresh("product")
    over = ("over", Name(e.axis(contracted)))
    body.append(Assign((rest,), Call("dot", (left[1], right[0]), (over,))))
    body.append(Assign((rest,), Call("dot", (left[0], right[1]), (over, ("into", Name(rest))))))
    into = ("into", Name(rest) * (1 / LOW))
    body.append(Assign((product,), _back(e, Call("dot", (left[0], right[0]), (over, into)))))
    e.bind(nest.heads[0].of, (Name(product),))
    body += e.stores(list(nest.stores))
    sweep = _Sweep(e, tiling, units)
    return e.kernel(name, sweep.over([*out, sweep.columns(body, (("stages", Number(3)),))]))


# --- what halves do not hold ------------------------------------------------------------------------------


def _emit_rest(nest: Nest, tiling: Tiling, name: str, stream: Stream, chunk: Chunk | None, *, units: int) -> Emitted:
    """The tiles with a row or a column whose factor is NaN, once more in f32; many tiles are looked at together."""
    e = opened(nest, stream)
    left, left_back, right, right_back = nest.heads[0].args

    def exact(e: KernelBuilder, kept: tuple[str, ...], over: Expr) -> Sum:
        return plain_sum(e, kept, over, (left, right), "ieee")

    sweep = _Sweep(e, tiling, units)
    body = product_tile(e, tiling, chunk, exact)
    e.writer.keep_written()
    row = e.writer.fresh("row")
    body = [If(Binary("or", Name(row), _anywhere(e, right_back)), tuple(body))]
    e.writer.special[sweep.column] = Name(sweep.name)
    crossed = Binary("or", Name(row), _anywhere(e, right_back))
    del e.writer.special[sweep.column]
    out = [Assign((row,), _anywhere(e, left_back)), If(crossed, (sweep.columns(body),))]
    return e.kernel(name, sweep.over(in_chunks(e, tiling, chunk, out)))


def _anywhere(e: KernelBuilder, back: Term) -> Expr:
    """Whether a factor of the tile at hand is NaN."""
    axes = axes_of(below([back]), frozenset())[back]
    names = tuple(sorted((e.writer.special.get(a, Name(e.axis(a))) for a in axes), key=repr))
    return Call("reduce_any", (call("isnan", e.writer.expression(back)), names[0] if len(names) == 1 else Group(names)))


# --- programs that go through columns ----------------------------------------------------------------------


class _Sweep:
    """Programs that go through many tiles of columns each, a few programs for each of the chip's `units`.

    `name`: the axis of all columns of a program.
    """

    def __init__(self, e: KernelBuilder, tiling: Tiling, units: int) -> None:
        _, _, column, _ = roles(e.nest)
        assert column is not None
        self.e, self.column, self.name = e, column, e.writer.fresh("s")
        self.rest = tuple((a, step) for a, step in tiling.grid if a != column)
        self.step = e.step(column, dict(tiling.grid)[column])
        self.count = min(SWEPT, power_below(tiling.programs // (4 * units)))

    def columns(self, body: list[Statement], hints: Hints = ()) -> Statement:
        """`body` for each tile of a program's columns."""
        start, stop = ends(self.name)
        e = self.e
        return Tiles(e.axis(self.column), e.extent(self.column), self.step, tuple(body), start, stop, False, hints)

    def over(self, body: list[Statement]) -> list[Statement]:
        """`body` for each program; neighbours write beside each other."""
        step = self.step * self.count
        grid = Grid(self.name, self.e.extent(self.column), step, tuple(body), (("swizzle", Number(1)),))
        return self.e.in_grid(self.rest, [grid])

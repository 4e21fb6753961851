"""Rules of convolutions: products of weights with windows of the input, or sums over taps where nothing is shared.

A transposed convolution is one product for each residue of the output position modulo the stride: the taps that meet
a residue see the input in steps of one, so that nothing is multiplied by zeros. Where a product costs less than storing
rows piece by piece, residues along the last dim are channels of one product instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product as combinations
from math import gcd

from akg_core.design.algebra.index import Index, ceil_div, index
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import (
    Concat,
    Literal,
    Positions,
    Shape,
    Value,
    cast,
    compute,
    counting,
    expand,
    reshape,
    where,
    wide,
    window,
)
from akg_core.design.operators.convolution_taps import Taps, Weights, correlated
from akg_core.design.operators.packing import packed

_SPATIAL = 5  # dims of images with three spatial ones, of which libraries have other kernels


@rule("convolution")
def convolution(c: Call) -> Value:
    x, weight, bias = c.raw(0), c.raw(1), c.maybe(2)
    rank = len(x.shape) - 2
    stride, padding, dilation = (c.each(n, rank) for n in (3, 4, 5))
    transposed, groups = c.arg(6), c.arg(8)
    kernel = [_known(c, size) for size in weight.shape[2:]]
    sides = list(zip(kernel, stride, padding, dilation, strict=True))
    if transposed:
        inputs, outputs = _known(c, weight.shape[0]) // groups, _known(c, weight.shape[1])
        weights = Weights(weight, lambda g, o, i, t: (g * inputs + i, o, *t), groups, outputs, inputs)
        result = _interleaved(c, x, weights, sides)
    else:
        inputs, outputs = _known(c, weight.shape[1]), _known(c, weight.shape[0]) // groups
        weights = Weights(weight, lambda g, o, i, t: (g * outputs + o, i, *t), groups, outputs, inputs)
        taps = [Taps(k, 0, 1, s, -p, d) for k, s, p, d in sides]
        (result,) = _sums(c, x, weights, [(taps, c.shape)])
    result = cast(result, c.wide)
    if bias is None:
        return result
    channels = (index(1), bias.shape[0], *(index(1) for _ in range(rank)))
    return result + reshape(bias, channels)


def _known(c: Call, size: Index) -> int:
    if size.constant is None:
        raise c.unsupported("with a weight whose shape is only known at launch")
    return size.constant


def _sums(c: Call, x: Value, weights: Weights, wanted: list[tuple[list[Taps], Shape]]) -> list[Value]:
    """The sums over input channels and each of these sets of taps, of the shape beside it."""
    dtype = wide(c.dtype)
    empty = any(size == 0 for size in x.shape)
    is_exact = len(x.shape) == _SPATIAL and weights.inputs % c.choices.rounded_channels != 0
    rounding = "" if is_exact else c.choices.rounding
    if (rounding or c.choices.joined) and dtype == "f32" and weights.shared and not empty:
        return packed(x, weights, wanted, dtype, rounding, c.choices.halved)
    return [correlated(x, weights, taps, shape, dtype) for taps, shape in wanted]


# --- transposed ---------------------------------------------------------------------------------------------

Sizes = tuple[int, int, int, int]  # kernel, stride, padding and dilation along one dim


def _phases(kernel: int, stride: int, padding: int, dilation: int) -> list[Taps | None]:
    """For each residue of the output position modulo the stride the taps that meet it, None when there are none.

    Output o is reached from input i by tap k where o = i * stride - padding + k * dilation.
    """
    found: list[Taps | None] = []
    common = gcd(stride, dilation)
    step = stride // common
    for residue in range(stride):
        first = next((k for k in range(min(kernel, step)) if (residue + padding - k * dilation) % stride == 0), None)
        if first is None:
            found.append(None)
            continue
        shift = (residue + padding - first * dilation) // stride
        found.append(Taps(-(-(kernel - first) // step), first, step, 1, shift, -(dilation // common)))
    return found


@dataclass(frozen=True, slots=True)
class _Rows:
    """How output channels of a group go together with residues along the last dim: which of them is the first digit.

    A power of two of residues goes first: their rows of a tile are then columns that lie side by side.
    """

    outputs: int
    residues: int

    @property
    def first(self) -> bool:
        """Whether residues are the first digit."""
        return self.residues & (self.residues - 1) == 0

    def digits(self, row: Index) -> tuple[Index, Index]:
        """The channel and the residue of a row."""
        if self.first:
            return row % self.outputs, row // self.outputs
        return row // self.residues, row % self.residues

    def dims(self, rank: int) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
        """Sizes of both digits, and the ways that they move in an output with `rank` spatial dims."""
        residue, channel = (1 + rank, 1), (1, 1)
        if self.first:
            return (self.residues, self.outputs), (residue, channel)
        return (self.outputs, self.residues), (channel, residue)


def _joined(weights: Weights, lead: Sequence[int], last: Sizes, rows: _Rows) -> tuple[Weights, Taps]:
    """Weights with a row for each channel and residue along the last dim, and the taps of all residues there.

    `lead`: the kernel along the other dims.
    """
    _, stride, padding, dilation = last
    seen = [t for t in _phases(*last) if t is not None]
    low = min(min(t.shift, t.shift + (t.count - 1) * t.dilation) for t in seen)
    high = max(max(t.shift, t.shift + (t.count - 1) * t.dilation) for t in seen)
    outputs = rows.outputs * rows.residues
    shape = tuple(map(index, (weights.groups, outputs, weights.inputs, *lead, high - low + 1)))

    def reach(at: Positions) -> Index:
        """`dilation` times the tap by which a residue sees position low + u."""
        return rows.digits(at[1])[1] + padding - (at[-1] + low) * stride

    def look(at: Positions) -> Positions:
        g, o, i, *t = at
        return weights.place(g, rows.digits(o)[0], i, (*t[:-1], reach(at) // dilation))

    tensor = window(weights.tensor, shape, look)
    if dilation > 1:
        met = counting(shape, lambda at: reach(at) % dilation).equals(0)
        tensor = where(met, tensor, 0.0, tensor.dtype)
    stored = compute("stored", tensor)
    joined = replace(weights, tensor=stored, place=lambda g, o, i, t: (g, o, i, *t), outputs=outputs)
    return joined, Taps(high - low + 1, 0, 1, 1, low, 1)


def _before(stop: Index, at: Positions) -> Index:
    """How far the last position is before `stop`."""
    return stop - at[-1]


def _met(sums: Value, last: Sizes, rows: _Rows, length: Index, out: Index) -> Value:
    """`sums` of rows and positions, with 0 where none of a residue's own taps meets the input.

    Taps of other residues may meet it there, and what these products with zeros add is not 0 where it is not finite.
    `length`, `out`: of input and output along the last dim.
    """
    phases = [t.forward if t is not None else None for t in _phases(*last)]
    seen = [t for t in phases if t is not None]
    lowest, highest = min(t.shift for t in seen), max(t.last for t in seen)
    residue = counting(sums.shape, lambda at: at[2 if rows.first else 3])
    position = counting(sums.shape, lambda at: at[-1])
    for number, taps in enumerate(phases):
        met: list[Value] = []
        if taps is None:
            met = [Literal(False, shape=(), dtype="bool")]
        elif highest > taps.last and taps.last < 0:
            met = [position >= -taps.last]
        if taps is not None and lowest < taps.shift:
            stop = length - taps.shift
            beyond = (ceil_div(out - number, rows.residues) - stop).constant
            if beyond is None or beyond > 0:
                left = counting(sums.shape, partial(_before, stop))
                met.append(left > 0)
        for condition in met:
            there = residue.differs(number) | condition
            sums = where(there, sums, 0.0, sums.dtype)
    return sums


def _interleaved(c: Call, x: Value, weights: Weights, sides: list[Sizes]) -> Value:
    """Every phase at its places in the output."""
    *lead, last = sides
    groups, step = weights.groups, last[1] if c.choices.joined and weights.shared else 1
    rows = _Rows(weights.outputs, step)
    phases = [_phases(*side) for side in sides]
    if step > 1:
        weights, every = _joined(weights, [side[0] for side in lead], last, rows)
        phases[-1] = [every]
    strides = [*(side[1] for side in lead), last[1]]
    batch, channels, *out = c.shape
    wanted: list[tuple[list[Taps], Shape]] = []
    places: list[tuple[bool, Shape, Positions]] = []
    for residues in combinations(*(range(len(each)) for each in phases)):
        sizes = tuple(ceil_div(n - r, s) for n, r, s in zip(out, residues, strides, strict=True))
        if any(n == 0 for n in sizes):
            continue
        taps = [each[r] for each, r in zip(phases, residues, strict=True)]
        met = [t for t in taps if t is not None]
        places.append((len(met) == len(taps), sizes, tuple(map(index, residues))))
        if len(met) == len(taps):
            wanted.append((met, (batch, channels * step, *sizes)))
    sums = iter(_sums(c, x, weights, wanted) if wanted else ())
    parts: list[Value] = []
    for is_met, sizes, _ in places:
        shape: Shape = (batch, index(groups), *map(index, rows.dims(len(sides))[0]), *sizes)
        zeros = Literal(0.0, shape=(), dtype=wide(c.dtype))
        part = reshape(next(sums), shape) if is_met else expand(zeros, shape)
        parts.append(_met(part, last, rows, x.shape[-1], c.shape[-1]) if is_met and step > 1 else part)
    if len(parts) == 1 and step == 1:
        return reshape(parts[0], c.shape)
    ways = ((0, 1), (1, rows.outputs), *rows.dims(len(sides))[1], *((2 + d, s) for d, s in enumerate(strides)))
    starts = tuple((index(0), index(0), *r) for _, _, r in places)
    return Concat(tuple(parts), starts, ways, shape=c.shape, dtype=wide(c.dtype))

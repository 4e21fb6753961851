"""Convolutions over a copy of their input, packed for products and rounded where eager PyTorch rounds.

The copy lies channels last and holds the padding too: neighbouring channels, and the taps of a row after them, are then
neighbours in memory, and no tap falls outside. Where there are few channels, those of a strided convolution are joined
by the positions of a stride, and those of another one by the taps of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from akg_core.design.algebra.index import index, product, unflatten
from akg_core.design.graph.narrowed import HELD, narrowed, row_scales, sample_scale
from akg_core.design.graph.values import (
    Guard,
    Positions,
    Product,
    Shape,
    Source,
    Value,
    compute,
    expand,
    reshape,
    view,
    window,
)
from akg_core.design.operators.convolution_taps import Taps, Weights, chosen, correlated, multiplied

LANE = 16  # channels of a copy come in multiples of this; many in f16 in multiples of twice that
USES = 1.5  # of an element of a copy, for which it is made
SEARCHED = 8  # the same where nothing is rounded
HALVES = ("f16", "bf16")  # of which a format that eager rounds to holds every number
WASTE = 1.6  # how many times more channels a copy may have than what it holds

Wanted = Sequence[tuple[list[Taps], Shape]]  # taps with the shape [batch, channels, *out] of the sums over them


def packed(x: Value, weights: Weights, wanted: Wanted, dtype: str, form: str, halved: bool = False) -> list[Value]:
    """The sums over input channels and taps that are wanted, of factors rounded to `form` unless that is empty.

    `halved`: in f16 where this holds them as well.

    Without a copy where that does not pay: where an element of it is read but once, say. Where nothing is rounded, only
    the search for places is saved, which costs more the more taps there are.
    """
    single = x.dtype == weights.tensor.dtype == "f32"
    scale = sample_scale(x) if halved and single and form in HELD else None
    copy = _Copy.planned(weights, wanted, form, LANE if scale is None else 2 * LANE)
    if copy is not None:
        seen = copy.seen(x)
        made = _factor(seen, form, scale)
        made = made if copy.lies_so(x) else compute("stored", made)
        return [
            reshape(_product(*copy.multiplied(made, seen, taps, shape), dtype, form, scale), shape)
            for taps, shape in wanted
        ]
    if form:
        return [
            reshape(_product(*_in_place(x, weights, taps, shape, dtype, form, scale), dtype, form, scale), shape)
            for taps, shape in wanted
        ]
    return [correlated(x, weights, taps, shape, dtype) for taps, shape in wanted]


Factors = tuple[Value, Value, Value]  # weights [groups, outputs, depth]; the right operand, as it is multiplied and not


def _in_place(
    x: Value, weights: Weights, taps: list[Taps], shape: Shape, dtype: str, form: str, scale: Value | None
) -> Factors:
    found = multiplied(x, weights, taps, shape, dtype)
    one = view(found.left, found.left.shape[1:], lambda at: (index(0), *at))  # the same for every image
    return one, _factor(found.right, form, scale), found.right


def _product(weights: Value, right: Value, seen: Value, dtype: str, form: str, scale: Value | None) -> Value:
    """The product of weights with `right`, which `seen` [batch, groups, depth, pixels] has become."""
    batch, groups, _, pixels = right.shape
    outputs = weights.shape[1]

    def each(value: Value) -> Value:
        return view(value, (batch, *value.shape), lambda at: at[1:])

    whole: Shape = (batch, groups, outputs, pixels)
    if scale is None:
        left = each(compute("stored", _rounded(weights, form)))
        return Product(left, right, narrow=bool(form), shape=whole, dtype=dtype)
    back = row_scales(weights)
    guards = (
        Guard(each(_rounded(weights, form)), each(back)),
        Guard(_rounded(seen, form), expand(scale, (batch, groups, pixels))),
    )
    left = each(compute("stored", narrowed(weights, back)))
    return Product(left, right, narrow=True, guards=guards, shape=whole, dtype=dtype)


def _factor(value: Value, form: str, scale: Value | None) -> Value:
    return _rounded(value, form) if scale is None else narrowed(value, scale)


def _rounded(value: Value, form: str) -> Value:
    return compute(f"round_to {form}", value) if form and value.dtype not in HALVES else value


@dataclass(frozen=True, slots=True)
class Side:
    """One spatial dim of a copy.

    Its position q holds `held` positions of the input, from `low + q * step` on, `apart` from each other.
    """

    low: int
    size: int
    step: int = 1
    held: int = 1
    apart: int = 1

    @staticmethod
    def plain(taps: Sequence[Taps], outs: Sequence[int]) -> Side:
        """All that these taps see for so many results, position by position."""
        low = min(t.shift for t in taps)
        high = max((n - 1) * t.stride + t.shift + (t.count - 1) * t.dilation for t, n in zip(taps, outs, strict=True))
        return Side(low, high - low + 1)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of a convolution's input [batch, *sides, channels], `channels` those of all groups.

    A channel of the copy is a channel of the input, then a number of what is held along each side.
    """

    weights: Weights
    sides: tuple[Side, ...]
    channels: int

    @staticmethod
    def planned(weights: Weights, wanted: Wanted, form: str, lane: int) -> _Copy | None:
        """The copy for these taps; None where it does not pay, or its size is only known at launch.

        `lane`: what many channels come in multiples of.
        """
        if any(size.constant is None for _, shape in wanted for size in shape[2:]):
            return None
        sides = []
        for dim in range(len(wanted[0][0])):
            each = [taps[dim].forward for taps, _ in wanted]
            sides.append(Side.plain(each, [shape[2 + dim].example for _, shape in wanted]))
        needed = weights.inputs
        if needed < LANE and len(wanted) == 1 and weights.groups == 1:
            (taps, shape), *_ = wanted
            sides = _joined(needed, taps, sides, [size.example for size in shape[2:]])
            needed *= prod(s.held for s in sides)
        lane = lane if needed > LANE and weights.groups == 1 else LANE
        channels = -(-needed // lane) * lane
        uses = sum(
            prod(t.count / max(t.stride, s.held) for t, s in zip(taps, sides, strict=True)) for taps, _ in wanted
        )
        if channels > WASTE * needed or (weights.groups > 1 and channels != needed):
            return None
        if uses < (USES if form else SEARCHED):
            return None
        return _Copy(weights, tuple(sides), weights.groups * channels)

    @property
    def held(self) -> Shape:
        return tuple(index(s.held) for s in self.sides)

    def lies_so(self, x: Value) -> bool:
        """Whether an input lies in memory as its copy would, but for the padding, and is read as it is."""
        last_channels = (0, *range(2, len(x.shape)), 1)
        plain = all((s.step, s.held) == (1, 1) for s in self.sides) and x.shape[1] == self.channels
        return plain and x.dtype in HALVES and isinstance(x, Source) and x.order == last_channels

    def seen(self, x: Value) -> Value:
        """What is copied: `x` [batch, channels, *in], 0 outside of it."""

        def look(at: Positions) -> Positions:
            b, *places, channel = at
            i, *r = unflatten(channel, (index(self.weights.inputs * self.weights.groups), *self.held))
            return (b, i, *(q * s.step + s.low + n * s.apart for q, s, n in zip(places, self.sides, r, strict=True)))

        shape: Shape = (x.shape[0], *(index(s.size) for s in self.sides), index(self.channels))
        return window(x, shape, look)

    def multiplied(self, copy: Value, seen: Value, taps: list[Taps], shape: Shape) -> Factors:
        """The factors of the sums over `taps` of the copy's, [batch, channels, *out]."""
        weights, sides = self.weights, self.sides
        taps = [t.forward for t in taps]
        batch, _, *out = shape
        groups, outputs = index(weights.groups), index(weights.outputs)
        inputs = index(self.channels // weights.groups)
        counts = [-(-t.count // s.held) for t, s in zip(taps, sides, strict=True)]
        contracted: Shape = (*map(index, counts), inputs)
        depth, pixels = product(contracted), product(out)

        def weigh(at: Positions) -> Positions:
            g, o, k = at
            *t, channel = unflatten(k, contracted)
            i, *r = unflatten(channel, (index(weights.inputs), *self.held))
            places = [j * s.held + n for j, s, n in zip(t, sides, r, strict=True)]
            return weights.place(g, o, i, chosen(taps, places))

        def look(at: Positions) -> Positions:
            b, g, k, p = at
            *j, channel = unflatten(k, contracted)
            places = (
                o * (t.stride // s.step) + (t.shift - s.low) + n * (t.dilation if s.held == 1 else 1)
                for o, t, s, n in zip(unflatten(p, out), taps, sides, j, strict=True)
            )
            return (b, *places, g * inputs + channel)

        right, exact = (view(v, (batch, groups, depth, pixels), look) for v in (copy, seen))
        return window(weights.tensor, (groups, outputs, depth), weigh), right, exact


def _joined(channels: int, taps: Sequence[Taps], sides: Sequence[Side], outs: Sequence[int]) -> list[Side]:
    """Sides that hold the positions of a stride, and then, from the last dim on, all taps until channels are enough."""
    found = list(sides)
    for dim, t in enumerate(taps):
        if t.stride > 1 and t.dilation == 1 and t.count > 1:
            channels *= t.stride
            found[dim] = Side(sides[dim].low, -(-sides[dim].size // t.stride), t.stride, t.stride)
    for dim, t in reversed(list(enumerate(taps))):
        if channels < LANE and found[dim].held == 1 and t.count > 1:
            t = t.forward
            channels *= t.count
            found[dim] = Side(sides[dim].low, outs[dim], t.stride, t.count, t.dilation)
    return found

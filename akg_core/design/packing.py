"""Convolutions over a copy of their input, packed for products and rounded where eager PyTorch rounds.

The copy lies channels last and holds the padding too: neighbouring channels, and the taps of a row after them, are then
neighbours in memory, and no tap falls outside. Where there are few channels, those of a strided convolution are joined
by the positions of a stride, and those of another one by the taps of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from akg_core.design.index import index, product, unflatten
from akg_core.design.taps import Taps, Weights, chosen, correlated, multiplied
from akg_core.design.values import Map, Positions, Product, Shape, Value, reshape, view, window

LANE = 16  # channels of a copy come in multiples of this
USES = 1.5  # of an element of a copy, for which it is made
SEARCHED = 8  # the same where nothing is rounded
WASTE = 1.6  # how many times more channels a copy may have than what it holds

Wanted = Sequence[tuple[list[Taps], Shape]]  # taps with the shape [batch, channels, *out] of the sums over them


def packed(x: Value, weights: Weights, wanted: Wanted, dtype: str, form: str) -> list[Value]:
    """The sums over input channels and taps that are wanted, of factors rounded to `form` unless that is empty.

    Without a copy where that does not pay: where an element of it is read but once, say. Where nothing is rounded, only
    the search for places is saved, which costs more the more taps there are.
    """
    copy = _Copy.planned(weights, wanted, form)
    if copy is not None:
        made = copy.made(x)
        return [copy.multiplied(made, taps, shape, dtype) for taps, shape in wanted]
    if form:
        return [_in_place(x, weights, taps, shape, dtype, form) for taps, shape in wanted]
    return [correlated(x, weights, taps, shape, dtype) for taps, shape in wanted]


def _in_place(x: Value, weights: Weights, taps: list[Taps], shape: Shape, dtype: str, form: str) -> Value:
    found = multiplied(x, weights, taps, shape, dtype)
    one = view(found.left, found.left.shape[1:], lambda at: (index(0), *at))  # the same for every image
    left = view(_stored(_rounded(one, form)), found.left.shape, lambda at: at[1:])
    return reshape(replace(found, left=left, right=_rounded(found.right, form), narrow=True), shape)


def _rounded(value: Value, form: str) -> Value:
    return Map(f"round_to {form}", (value,), shape=value.shape, dtype=value.dtype) if form else value


def _stored(value: Value) -> Value:
    return Map("stored", (value,), shape=value.shape, dtype=value.dtype)


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
        high = max((n - 1) * t.stride + t.shift + (t.count - 1) * t.walk for t, n in zip(taps, outs, strict=True))
        return Side(low, high - low + 1)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of a convolution's input [batch, *sides, channels], `channels` those of all groups, rounded to `form`.

    A channel of the copy is a channel of the input, then a number of what is held along each side.
    """

    weights: Weights
    sides: tuple[Side, ...]
    channels: int
    form: str

    @staticmethod
    def planned(weights: Weights, wanted: Wanted, form: str) -> _Copy | None:
        """The copy for these taps; None where it does not pay, or its size is only known at launch."""
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
        channels = -(-needed // LANE) * LANE
        uses = sum(
            prod(t.count / max(t.stride, s.held) for t, s in zip(taps, sides, strict=True)) for taps, _ in wanted
        )
        if channels > WASTE * needed or (weights.groups > 1 and channels != needed):
            return None
        if uses < (USES if form else SEARCHED):
            return None
        return _Copy(weights, tuple(sides), weights.groups * channels, form)

    @property
    def held(self) -> Shape:
        return tuple(index(s.held) for s in self.sides)

    def made(self, x: Value) -> Value:
        """The copy of `x` [batch, channels, *in], 0 outside of it."""

        def look(at: Positions) -> Positions:
            b, *places, channel = at
            i, *r = unflatten(channel, (index(self.weights.inputs * self.weights.groups), *self.held))
            return (b, i, *(q * s.step + s.low + n * s.apart for q, s, n in zip(places, self.sides, r, strict=True)))

        shape: Shape = (x.shape[0], *(index(s.size) for s in self.sides), index(self.channels))
        return _stored(_rounded(window(x, shape, look), self.form))

    def multiplied(self, copy: Value, taps: list[Taps], shape: Shape, dtype: str) -> Value:
        """The sums over `taps` of the copy's, [batch, channels, *out]."""
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
                o * (t.stride // s.step) + (t.shift - s.low) + n * (t.walk if s.held == 1 else 1)
                for o, t, s, n in zip(unflatten(p, out), taps, sides, j, strict=True)
            )
            return (b, *places, g * inputs + channel)

        packed = _stored(_rounded(window(weights.tensor, (groups, outputs, depth), weigh), self.form))
        left = view(packed, (batch, groups, outputs, depth), lambda at: at[1:])
        right = view(copy, (batch, groups, depth, pixels), look)
        whole: Shape = (batch, groups, outputs, pixels)
        return reshape(Product(left, right, narrow=bool(self.form), shape=whole, dtype=dtype), shape)


def _joined(channels: int, taps: Sequence[Taps], sides: Sequence[Side], outs: Sequence[int]) -> list[Side]:
    """Sides that hold the positions of a stride, and then, from the last dim on, all taps until channels are enough."""
    found = list(sides)
    for dim, t in enumerate(taps):
        if t.stride > 1 and t.walk == 1 and t.count > 1:
            channels *= t.stride
            found[dim] = Side(sides[dim].low, -(-sides[dim].size // t.stride), t.stride, t.stride)
    for dim, t in reversed(list(enumerate(taps))):
        if channels < LANE and found[dim].held == 1 and t.count > 1:
            t = t.forward
            channels *= t.count
            found[dim] = Side(sides[dim].low, outs[dim], t.stride, t.count, t.walk)
    return found

"""What a convolution sums: taps that slide along spatial dims, weights, and products or plain sums over both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from akg_core.design.algebra.index import Index, index, product, unflatten
from akg_core.design.graph.values import Positions, Product, Shape, Value, cast, reshape, view, window
from akg_core.design.operators.reductions import reduced


@dataclass(frozen=True, slots=True)
class Taps:
    """Taps along one spatial dim.

    Tap j of `count` is the weight's `first + j * step`; by it result o sees position
    `o * stride + shift + j * dilation`.
    """

    count: int
    first: int
    step: int
    stride: int
    shift: int
    dilation: int

    @property
    def last(self) -> int:
        """Where result 0 sees the input by the last tap."""
        return self.shift + (self.count - 1) * self.dilation

    @property
    def forward(self) -> Taps:
        """The same taps, in the order of the positions that they see."""
        if self.dilation >= 0:
            return self
        last = self.count - 1
        first, shift = self.first + last * self.step, self.shift + last * self.dilation
        return Taps(self.count, first, -self.step, self.stride, shift, -self.dilation)


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of group g, its output channel o, its input channel i and taps t is `tensor` at `place(g, o, i, t)`.

    `outputs` and `inputs` are channels of one group.
    """

    tensor: Value
    place: Callable[[Index, Index, Index, Positions], Positions]
    groups: int
    outputs: int
    inputs: int

    @property
    def shared(self) -> bool:
        """Whether several output channels share several input channels, so that there is a matrix product."""
        return self.outputs > 1 and self.inputs > 1


def correlated(x: Value, weights: Weights, taps: Sequence[Taps], shape: Shape, dtype: str) -> Value:
    """The sum over input channels and taps, [batch, channels, *out]."""
    if not weights.shared:
        return _summed(x, weights, taps, shape, dtype)
    return reshape(multiplied(x, weights, taps, shape, dtype), shape)


def multiplied(x: Value, weights: Weights, taps: Sequence[Taps], shape: Shape, dtype: str) -> Product:
    """The same as a product [batch, groups, channels of a group, pixels] of weights with windows of `x`."""
    batch, _, *out = shape
    groups, outputs, inputs = (index(n) for n in (weights.groups, weights.outputs, weights.inputs))
    contracted: Shape = (inputs, *(index(t.count) for t in taps))
    depth, pixels = product(contracted), product(out)

    def weigh(at: Positions) -> Positions:
        _, g, o, k = at
        i, *t = unflatten(k, contracted)
        return weights.place(g, o, i, chosen(taps, t))

    def look(at: Positions) -> Positions:
        b, g, k, p = at
        i, *t = unflatten(k, contracted)
        return (b, g * inputs + i, *_slid(taps, unflatten(p, out), t))

    left = view(weights.tensor, (batch, groups, outputs, depth), weigh)
    right = window(x, (batch, groups, depth, pixels), look)
    return Product(left, right, shape=(batch, groups, outputs, pixels), dtype=dtype)


def _summed(x: Value, weights: Weights, taps: Sequence[Taps], shape: Shape, dtype: str) -> Value:
    """The same without a matrix product: an input channel serves one output channel, or the other way round."""
    outputs, rank = index(weights.outputs), len(taps)
    whole: Shape = (*shape, index(weights.inputs), *(index(t.count) for t in taps))

    def weigh(at: Positions) -> Positions:
        channel, i, t = at[1], at[2 + rank], at[3 + rank :]
        return weights.place(channel // outputs, channel % outputs, i, chosen(taps, t))

    def look(at: Positions) -> Positions:
        channel, i, t = at[1], at[2 + rank], at[3 + rank :]
        return (at[0], channel // outputs * weights.inputs + i, *_slid(taps, at[2 : 2 + rank], t))

    seen, weight = cast(window(x, whole, look), dtype), cast(view(weights.tensor, whole, weigh), dtype)
    return reduced("sum", seen * weight, tuple(range(2 + rank, 3 + 2 * rank)))


def chosen(taps: Sequence[Taps], at: Sequence[Index]) -> Positions:
    """Where along the weight's dims the taps numbered `at` are."""
    return tuple(t.first + j * t.step for t, j in zip(taps, at, strict=True))


def _slid(taps: Sequence[Taps], out: Sequence[Index], at: Sequence[Index]) -> Positions:
    return tuple(o * t.stride + t.shift + j * t.dilation for t, o, j in zip(taps, out, at, strict=True))

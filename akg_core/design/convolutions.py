"""Rules of convolutions: products of weights with windows of the input, or sums over taps where a product has nothing
to share.

A transposed convolution is one product for each residue of the output position modulo the stride: the taps that meet
a residue see the input in steps of one, so that nothing is multiplied by zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product as combinations
from math import gcd

from akg_core.design.index import Index, ceil_div, index, product, unflatten
from akg_core.design.reductions import reduced
from akg_core.design.rules import Call, rule
from akg_core.design.values import (
    Concat,
    Literal,
    Positions,
    Product,
    Shape,
    Value,
    arithmetic,
    cast,
    expand,
    reshape,
    view,
    wide,
    window,
)


@dataclass(frozen=True, slots=True)
class Taps:
    """Taps along one spatial dim.

    Tap j of `count` is the weight's `first + j * step`; result o sees position `o * stride + shift + j * walk` by it.
    """

    count: int
    first: int
    step: int
    stride: int
    shift: int
    walk: int


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


@rule("convolution")
def convolution(c: Call) -> Value:
    x, weight, bias = c.raw(0), c.raw(1), c.maybe(2)
    rank = len(x.shape) - 2
    stride, padding, dilation = (_each(c.arg(n), rank) for n in (3, 4, 5))
    transposed, groups = c.arg(6), c.arg(8)
    kernel = [_known(c, size) for size in weight.shape[2:]]
    wide_dtype = wide(c.dtype)
    if transposed:
        inputs, outputs = _known(c, weight.shape[0]) // groups, _known(c, weight.shape[1])
        weights = Weights(weight, lambda g, o, i, t: (g * inputs + i, o, *t), groups, outputs, inputs)
        phases = [_phases(*side) for side in zip(kernel, stride, padding, dilation, strict=True)]
        result = _interleaved(x, weights, phases, stride, c.shape, wide_dtype)
    else:
        inputs, outputs = _known(c, weight.shape[1]), _known(c, weight.shape[0]) // groups
        weights = Weights(weight, lambda g, o, i, t: (g * outputs + o, i, *t), groups, outputs, inputs)
        taps = [Taps(k, 0, 1, s, -p, d) for k, s, p, d in zip(kernel, stride, padding, dilation, strict=True)]
        result = _correlated(x, weights, taps, c.shape, wide_dtype)
    result = cast(result, c.wide)
    if bias is None:
        return result
    channels = (index(1), bias.shape[0], *(index(1) for _ in range(rank)))
    return arithmetic("+", result, reshape(bias, channels), dtype=c.wide)


def _each(argument: Sequence[int], rank: int) -> list[int]:
    return list(argument) * rank if len(argument) == 1 else list(argument)


def _known(c: Call, size: Index) -> int:
    if size.constant is None:
        raise c.unsupported("with a weight whose shape is only known at launch")
    return size.constant


# --- one set of taps ----------------------------------------------------------------------------------------


def _correlated(x: Value, weights: Weights, taps: list[Taps], shape: Shape, dtype: str) -> Value:
    """The sum over input channels and taps, [batch, channels, *out]."""
    if weights.outputs == 1 or weights.inputs == 1:
        return _summed(x, weights, taps, shape, dtype)
    batch, _, *out = shape
    groups, outputs, inputs = (index(n) for n in (weights.groups, weights.outputs, weights.inputs))
    contracted: Shape = (inputs, *(index(t.count) for t in taps))
    depth, pixels = product(contracted), product(out)

    def weigh(at: Positions) -> Positions:
        _, g, o, k = at
        i, *t = unflatten(k, contracted)
        return weights.place(g, o, i, _chosen(taps, t))

    def look(at: Positions) -> Positions:
        b, g, k, p = at
        i, *t = unflatten(k, contracted)
        return (b, g * inputs + i, *_slid(taps, unflatten(p, out), t))

    left = view(weights.tensor, (batch, groups, outputs, depth), weigh)
    right = window(x, (batch, groups, depth, pixels), look)
    return reshape(Product(left, right, shape=(batch, groups, outputs, pixels), dtype=dtype), shape)


def _summed(x: Value, weights: Weights, taps: list[Taps], shape: Shape, dtype: str) -> Value:
    """The same without a matrix product: an input channel serves one output channel, or the other way round."""
    outputs, rank = index(weights.outputs), len(taps)
    whole: Shape = (*shape, index(weights.inputs), *(index(t.count) for t in taps))

    def weigh(at: Positions) -> Positions:
        channel, i, t = at[1], at[2 + rank], at[3 + rank :]
        return weights.place(channel // outputs, channel % outputs, i, _chosen(taps, t))

    def look(at: Positions) -> Positions:
        channel, i, t = at[1], at[2 + rank], at[3 + rank :]
        return (at[0], channel // outputs * weights.inputs + i, *_slid(taps, at[2 : 2 + rank], t))

    seen, weight = cast(window(x, whole, look), dtype), cast(view(weights.tensor, whole, weigh), dtype)
    return reduced("sum", arithmetic("*", seen, weight, dtype=dtype), tuple(range(2 + rank, 3 + 2 * rank)))


def _chosen(taps: list[Taps], at: Sequence[Index]) -> Positions:
    return tuple(t.first + j * t.step for t, j in zip(taps, at, strict=True))


def _slid(taps: list[Taps], out: Sequence[Index], at: Sequence[Index]) -> Positions:
    return tuple(o * t.stride + t.shift + j * t.walk for t, o, j in zip(taps, out, at, strict=True))


# --- transposed ---------------------------------------------------------------------------------------------


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


def _interleaved(
    x: Value, weights: Weights, phases: list[list[Taps | None]], stride: list[int], shape: Shape, dtype: str
) -> Value:
    """Every phase at its places in the output."""
    parts: list[Value] = []
    starts: list[Positions] = []
    for residues in combinations(*(range(s) for s in stride)):
        sizes = [ceil_div(n - r, s) for n, r, s in zip(shape[2:], residues, stride, strict=True)]
        if any(n == 0 for n in sizes):
            continue
        part: Shape = (*shape[:2], *sizes)
        taps = [phase[r] for phase, r in zip(phases, residues, strict=True)]
        met = [t for t in taps if t is not None]
        if len(met) == len(taps):
            parts.append(_correlated(x, weights, met, part, dtype))
        else:
            parts.append(expand(Literal(0.0, shape=(), dtype=dtype), part))
        starts.append((index(0), index(0), *map(index, residues)))
    if len(parts) == 1:
        return parts[0]
    return Concat(tuple(parts), tuple(starts), (1, 1, *stride), shape=shape, dtype=dtype)

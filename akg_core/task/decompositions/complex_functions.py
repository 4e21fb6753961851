"""Complex numbers by their parts, and the elementary functions of them. Worker side only."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

_MOST_FACTORS = 8  # of a power
_FAR = 80.0  # where sinh and cosh are half of an exponential, which f32 still holds


@dataclass(frozen=True, slots=True)
class Pair:
    """A complex tensor, or a complex number, by its parts; `real`: the imaginary one is zero everywhere."""

    re: Any
    im: Any
    real: bool = False


def has_pairs(value: Any) -> bool:
    """Whether there is a pair, or a complex number, anywhere in some arguments."""
    if isinstance(value, (list, tuple)):
        return any(map(has_pairs, value))
    return isinstance(value, (Pair, complex))


def as_pair(value: Any) -> Pair:
    if isinstance(value, Pair):
        return value
    if isinstance(value, complex):
        return Pair(value.real, value.imag)
    return Pair(value, torch.zeros_like(value) if isinstance(value, Tensor) else 0.0)


def _add(a: Any, b: Any, *, alpha: float = 1) -> Pair:
    left, right = as_pair(a), as_pair(b)
    return Pair(left.re + alpha * right.re, left.im + alpha * right.im)


def _mixed(z: Pair) -> Pair:
    """The same number, both parts NaN where one is NaN or infinite: to eager PyTorch a real factor is b + 0i."""
    return z if z.real else Pair(z.re + 0.0 * z.im, z.im + 0.0 * z.re)


def _multiply(a: Any, b: Any) -> Pair:
    if not has_pairs(a) or not has_pairs(b):
        pair, real = (_mixed(as_pair(a)), b) if has_pairs(a) else (_mixed(as_pair(b)), a)
        return Pair(pair.re * real, pair.im * real)
    left, right = as_pair(a), as_pair(b)
    return Pair(left.re * right.re - left.im * right.im, left.re * right.im + left.im * right.re)


def _divide(a: Any, b: Any) -> Pair:
    if not has_pairs(b):
        pair = _mixed(as_pair(a))
        return Pair(pair.re / b, pair.im / b)
    if isinstance(b, complex):
        return _multiply(a, 1 / b)
    above, below = as_pair(a), as_pair(b)
    scale = torch.maximum(below.re.abs(), below.im.abs())  # so that no square is too large or too small
    re, im = below.re / scale, below.im / scale
    size = (re * re + im * im) * scale
    found = _multiply(above, Pair(re, -im))
    zero = scale == 0  # by which eager PyTorch divides both parts
    real, imaginary = (
        torch.where(zero, one / scale, of / size) for one, of in ((above.re, found.re), (above.im, found.im))
    )
    return Pair(real, imaginary)


def _product(operator: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Any, Any], Pair]:
    def apply(a: Any, b: Any) -> Pair:
        if not has_pairs(a):
            return Pair(operator(a, b.re), operator(a, b.im))
        if not has_pairs(b):
            return Pair(operator(a.re, b), operator(a.im, b))
        real = operator(a.re, b.re) - operator(a.im, b.im)
        return Pair(real, operator(a.re, b.im) + operator(a.im, b.re))

    return apply


def _exp(z: Pair) -> Pair:
    return _polar(torch.exp(z.re), z.im)


def _polar(size: Tensor, angle: Tensor) -> Pair:
    return Pair(size * torch.cos(angle), size * torch.sin(angle))


def _conjugate(z: Pair) -> Pair:
    return Pair(z.re, -z.im)


def _power(z: Any, exponent: Any) -> Pair:
    if isinstance(exponent, (int, float)) and abs(exponent) <= _MOST_FACTORS:
        if exponent == 0:
            return Pair(torch.ones_like(z.re), torch.zeros_like(z.im))
        if exponent in (0.5, -0.5):
            return _root(z) if exponent > 0 else _divide(1.0, _root(z))
        if exponent == int(exponent):
            found = functools.reduce(_multiply, [z] * abs(int(exponent)))
            return found if exponent > 0 else _divide(1.0, found)
    like = next(part for x in (z, exponent) for part in (as_pair(x).re,) if isinstance(part, Tensor))
    (base, is_zero), (to, is_one) = (_with_zeros(as_pair(x), like) for x in (z, exponent))
    found = _exp(_multiply(_log(base), to if has_pairs(exponent) else exponent))
    known = is_zero & (is_one | (to.re > 0))
    return Pair(torch.where(known, is_one.to(like.dtype), found.re), torch.where(known, 0.0, found.im))


def _with_zeros(z: Pair, like: Tensor) -> tuple[Pair, Tensor]:
    """A pair of tensors, and where it is 0."""
    re, im = (part if isinstance(part, Tensor) else torch.full_like(like, part) for part in (z.re, z.im))
    return Pair(re, im), (re == 0) & (im == 0)


def _log(z: Pair) -> Pair:
    """The logarithm; of the size's, what keeps its digits where the size is close to 1."""
    size, parts = torch.hypot(z.re, z.im), (z.re.abs(), z.im.abs())
    large, small = torch.maximum(*parts), torch.minimum(*parts)
    close = torch.log1p((large - 1) * (large + 1) + small * small) * 0.5
    return Pair(torch.where((size > 0.5) & (size < 2), close, torch.log(size)), torch.atan2(z.im, z.re))


def _root(z: Pair) -> Pair:
    """The square root with a real part that is not negative."""
    long = torch.sqrt((torch.hypot(z.re, z.im) + z.re.abs()) * 0.5)
    short = torch.where(long == 0, 0.0, z.im.abs() / (long * 2))
    right = z.re >= 0
    return Pair(torch.where(right, long, short), torch.copysign(torch.where(right, short, long), z.im))


def _hyperbolic_tangent(z: Pair) -> Pair:
    """Its real part is 1 or -1 in f32 and f64 where the real part is far from 0, and its imaginary part vanishes."""
    x = z.re.clamp(-20, 20)
    sinh, cosine = torch.sinh(x), torch.cos(z.im)
    below = sinh * sinh + cosine * cosine
    return Pair(sinh * torch.cosh(x) / below, torch.sin(z.im) * cosine / below)


def _turned(function: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """-i f(i z), which makes a function of angles of a hyperbolic one."""

    def apply(z: Pair) -> Pair:
        found = function(Pair(-z.im, z.re))
        return Pair(found.im, -found.re)

    return apply


def _hyperbolic_sine(z: Pair) -> Pair:
    cosine, sine = torch.cos(z.im), torch.sin(z.im)
    return Pair(_grown(torch.sinh, z.re, cosine * torch.sign(z.re), cosine), _grown(torch.cosh, z.re, sine, sine))


def _hyperbolic_cosine(z: Pair) -> Pair:
    cosine, sine = torch.cos(z.im), torch.sin(z.im)
    return Pair(_grown(torch.cosh, z.re, cosine, cosine), _grown(torch.sinh, z.re, sine * torch.sign(z.re), sine))


def _grown(function: Callable[[Tensor], Tensor], x: Tensor, far: Tensor, near: Tensor) -> Tensor:
    """sinh or cosh of x, times `near`; where exp may overflow by itself, half of exp(|x|) times `far`."""
    root = torch.exp(x.abs() * 0.5)
    return torch.where(x.abs() > _FAR, root * (far * 0.5) * root, function(x) * near)


def _equal(a: Any, b: Any) -> Any:
    left, right = as_pair(a), as_pair(b)
    return (left.re == right.re) & (left.im == right.im)


def truth(z: Any) -> Any:
    """Whether numbers, complex or not, are other than zero."""
    return (z.re != 0) | (z.im != 0) if isinstance(z, Pair) else z != 0


def _of_truths(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def apply(*args: Any, **kwargs: Any) -> Tensor:
        return function(*(truth(each) if isinstance(each, (Pair, Tensor)) else each for each in args), **kwargs)

    return apply


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "complex": lambda re, im: Pair(*torch.broadcast_tensors(re, im)),
    "polar": _polar,
    "add": _add,
    "sub": lambda a, b, *, alpha=1: _add(a, b, alpha=-alpha),
    "mul": _multiply,
    "div": _divide,
    "reciprocal": lambda z: _divide(1.0, z),
    "mm": _product(torch.mm),
    "bmm": _product(torch.bmm),
    "pow": _power,
    "exp": _exp,
    "log": _log,
    "log2": lambda z: _multiply(_log(z), 1 / math.log(2)),
    "log10": lambda z: _multiply(_log(z), 1 / math.log(10)),
    "sqrt": _root,
    "rsqrt": lambda z: _divide(1.0, _root(z)),
    "sinh": _hyperbolic_sine,
    "cosh": _hyperbolic_cosine,
    "tanh": _hyperbolic_tangent,
    "sin": _turned(_hyperbolic_sine),
    "cos": lambda z: _hyperbolic_cosine(Pair(-z.im, z.re)),
    "tan": _turned(_hyperbolic_tangent),
    "sigmoid": lambda z: _divide(1.0, _add(1.0, _exp(Pair(-z.re, -z.im)))),
    "eq": _equal,
    "ne": lambda a, b: ~_equal(a, b),
    **{f"logical_{name}": _of_truths(getattr(torch, f"logical_{name}")) for name in ("and", "or", "xor", "not")},
    "any": _of_truths(torch.any),
    "all": _of_truths(torch.all),
    "isnan": lambda z: z.re.isnan() | z.im.isnan(),
    "abs": lambda z: torch.hypot(z.re, z.im),
    "angle": lambda z: torch.atan2(z.im, z.re),
    "conj": _conjugate,
    "_conj": _conjugate,
    "_conj_physical": _conjugate,
}
"""What each of PyTorch's operators does with pairs, by its name."""

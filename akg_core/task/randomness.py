"""Random numbers of a reference, drawn as a kernel has to draw them: by Philox, from the seed of the call.

Worker side. Inside `drawn_from` each operator that draws gives what the rules of
`akg_core.design.operators.randomness` give: element i of the n-th one that draws, counted from 0, has the uniform
numbers philox(seed ^ 2n, i) and philox(seed ^ (2n + 1), i). So what a reference computes is a function of its inputs
and the seed, in any precision. What PyTorch itself draws there is looked at, too: both must be spread alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from akg_core import philox

_WORD = 24  # bits of a draw
_BITS = {torch.float16: 11, torch.bfloat16: 8}  # of uniform numbers in 16 bits, below 1 all of them
_LEAST = 2.0**-25  # of exponential numbers, which are never 0
_ON_HOST, _ON_DEVICE = 1 << 15, 1 << 20  # elements drawn at once, a hundred bytes each: there in a core's own cache
_DEVIATIONS = 7.0  # that a mean or a mean square may be from the one due

Uniform = Callable[..., torch.Tensor]
Given = dict[str, Any]


class Drawing(TorchDispatchMode):
    """Rewrites operators that draw. `shapes`: of each draw so far; `odd`: what PyTorch spreads otherwise, in words.

    `compared`: PyTorch draws, too. Else nobody asks whether probabilities are such, which rounding may take beyond 1.
    """

    def __init__(self, seed: int, compared: bool) -> None:
        super().__init__()
        self._seed, self._compared = seed, compared
        self.shapes: list[tuple[int, ...]] = []
        self.odd = ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2].removesuffix("_")
        if name not in _DRAWN or func.namespace != "aten":
            return func(*args, **(kwargs or {}))
        functional = not (self._compared or func._schema.is_mutable)
        made = torch.empty_like(args[0]) if name == "bernoulli" and functional else func(*args, **(kwargs or {}))
        given = {a.name: a.default_value for a in func._schema.arguments if a.has_default_value()}
        given |= {a.name: value for a, value in zip(func._schema.arguments, args, strict=False)} | (kwargs or {})
        kept = name == "native_dropout" and not (given["train"] and 0 < given["p"] < 1)
        if kept or (name == "rrelu_with_noise" and not given["training"]):
            return made
        like = made[0] if isinstance(made, tuple) else made
        theirs = like.clone() if self._compared else like
        ours = _DRAWN[name](given, like, self._uniforms(like))
        self.shapes.append(tuple(like.shape))
        if self._compared:
            self._compare(name, theirs, ours[0] if isinstance(ours, tuple) else ours)
        if func._schema.is_mutable:
            return like.copy_(ours)
        return ours

    def _uniforms(self, like: torch.Tensor) -> Uniform:
        number, seed = len(self.shapes), self._seed

        def uniform(which: int = 0, shape: Sequence[int] = like.shape) -> torch.Tensor:
            with _disable_current_modes():
                drawn = torch.empty(math.prod(shape), dtype=torch.float32, device=like.device)
                key = torch.tensor(seed ^ (2 * number + which), dtype=torch.int64, device=like.device)
                at_once = _ON_HOST if like.device.type == "cpu" else _ON_DEVICE
                for begin in range(0, len(drawn), at_once):
                    part = drawn[begin : begin + at_once]
                    part.copy_(philox.uniform(key, torch.arange(begin, begin + len(part), device=like.device)))
                return drawn.reshape(shape)

        return uniform

    def _compare(self, name: str, theirs: torch.Tensor, ours: torch.Tensor) -> None:
        """Whether mean and mean square are those of what PyTorch draws, as far as so many numbers tell."""
        count = theirs.numel()
        for power in (1, 2):
            with _disable_current_modes():
                one, other = (each.double().reshape(-1) ** power for each in (theirs, ours))
                gap = float((one.mean() - other.mean()).abs()) if count else 0.0
                deviation = float((one.var(correction=0) + other.var(correction=0)).sqrt()) if count else 0.0
                few = float(torch.maximum(one.abs().max(), other.abs().max())) / count if count else 0.0
            if gap > _DEVIATIONS * (deviation / math.sqrt(max(1, count)) + few):
                self.odd = f"{name} differs by {gap:.3g} in the mean of its power {power}"


@contextmanager
def drawn_from(seed: int, compared: bool = False) -> Iterator[Drawing]:
    """Inside, operators draw from the seed of a call. `compared`: look at how PyTorch spreads what it draws."""
    with Drawing(seed, compared) as drawing:
        yield drawing


def _bernoulli(given: Given, like: torch.Tensor, uniform: Uniform) -> torch.Tensor:
    p = given["p"] if given.get("p") is not None else given["self"]
    return (uniform(0) < p).to(like.dtype)


def _dropout(given: Given, like: torch.Tensor, uniform: Uniform) -> tuple[torch.Tensor, torch.Tensor]:
    p, kept = given["p"], uniform(0) < 1.0 - given["p"]
    return given["input"] * torch.where(kept, 1.0 / (1.0 - p), 0.0).to(like.dtype), kept


def _between(low: float, high: float, like: torch.Tensor, uniform: Uniform) -> torch.Tensor:
    drawn = uniform(0)
    if bits := _BITS.get(like.dtype):
        drawn = (drawn * 2.0**bits).floor() * 2.0**-bits
    return (drawn.to(_wide(like)) * (high - low) + low).to(like.dtype)


def _standard(like: torch.Tensor, uniform: Uniform) -> torch.Tensor:
    """Box and Muller's transform of two uniform numbers, of which the first is never 0."""
    first, second = (uniform(which).to(_wide(like)) for which in range(2))
    return (-2.0 * (1.0 - first).log()).sqrt() * (2 * math.pi * second).cos()


def _normal(given: Given, like: torch.Tensor, uniform: Uniform) -> torch.Tensor:
    mean, deviation = given.get("mean", 0.0), given.get("std", 1.0)
    return (_standard(like, uniform) * deviation + mean).to(like.dtype)


def _exponential(given: Given, like: torch.Tensor, uniform: Uniform) -> torch.Tensor:
    return (_waited(uniform(0).to(_wide(like))) / given["lambd"]).to(like.dtype)


def _waited(drawn: torch.Tensor) -> torch.Tensor:
    """Exponential numbers of the rate 1, made of uniform ones."""
    return (-(1.0 - drawn).log()).clamp(min=_LEAST)


def _whole(given: Given, like: torch.Tensor, uniform: Uniform) -> torch.Tensor:
    low, high = given.get("low", 0), given["high"]
    bits = (uniform(0).double() * 2.0**_WORD).to(torch.int64)
    return ((bits * (high - low) >> _WORD) + low).to(like.dtype)


def _picked(given: Given, like: torch.Tensor, uniform: Uniform) -> torch.Tensor:
    """With replacement, how many sums of the first shares are not above a part of all that is drawn for each pick;
    else the places whose shares are largest beside exponential numbers."""
    shares, count = given["self"], given["num_samples"]
    *rows, size = shares.shape
    if given["replacement"]:
        sums = shares.double().cumsum(-1)
        return torch.searchsorted(sums, uniform(0, (*rows, count)).double() * sums[..., -1:], right=True)
    waited = _waited(uniform(0, (*rows, size)).to(_wide(shares)))
    return (shares / waited).sort(dim=-1, descending=True, stable=True).indices.narrow(-1, 0, count).contiguous()


def _shuffled(given: Given, like: torch.Tensor, uniform: Uniform) -> torch.Tensor:
    """The order of whole numbers of 48 bits."""
    high, low = ((uniform(which).double() * 2.0**_WORD).to(torch.int64) for which in range(2))
    return ((high << _WORD) | low).sort(stable=True).indices.to(like.dtype)


def _leaky(given: Given, like: torch.Tensor, uniform: Uniform) -> torch.Tensor:
    x, low, high = given["self"], given["lower"], given["upper"]
    return torch.where(x <= 0, x * _between(low, high, like, uniform), x)


def _wide(like: torch.Tensor) -> torch.dtype:
    return torch.float32 if like.dtype in _BITS else like.dtype


_DRAWN: dict[str, Callable[[Given, torch.Tensor, Uniform], Any]] = {
    "native_dropout": _dropout,
    "bernoulli": _bernoulli,
    "rand": lambda given, like, uniform: _between(0.0, 1.0, like, uniform),
    "rand_like": lambda given, like, uniform: _between(0.0, 1.0, like, uniform),
    "uniform": lambda given, like, uniform: _between(given["from"], given["to"], like, uniform),
    "randn": lambda given, like, uniform: _standard(like, uniform).to(like.dtype),
    "randn_like": lambda given, like, uniform: _standard(like, uniform).to(like.dtype),
    "normal": _normal,
    "normal_functional": _normal,
    "exponential": _exponential,
    "multinomial": _picked,
    "randperm": _shuffled,
    "rrelu_with_noise": _leaky,
    "randint": _whole,
    "randint_like": _whole,
}
"""By operator, what its draws are. `like`: a tensor of the shape, dtype and device that are due."""

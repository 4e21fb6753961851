"""Steps of a reference, comparisons and the like, that no rounding decides.

Noise on a number moves it over a step, and then an answer by as much as the step is high, whichever side was right. So
it may where the number was computed. What was given, and what sums, products and moves make of it with not a digit
lost, is the same for every kernel: eager PyTorch and float64 hold the same number there, and the step is taken as
float64 takes it. Worker side, in the reference process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from akg_core.records import Task

COMPARISONS = frozenset(("eq", "ge", "gt", "le", "lt", "ne", "hardshrink", "threshold"))
"""Steps at a number that may stand in the call."""
# fmt: off
_STEPS = COMPARISONS | frozenset((
    "sign", "sgn", "heaviside", "floor", "ceil", "round", "trunc", "frac", "floor_divide", "remainder", "fmod",
    "bucketize", "histc", "searchsorted",
))
_LOSSLESS = _STEPS | frozenset((
    "add", "sub", "rsub", "mul", "neg", "abs", "sum", "where", "masked_fill", "clamp", "clamp_min", "clamp_max",
    "maximum", "minimum", "amax", "amin", "max", "min", "relu", "cat", "stack", "clone", "copy", "_to_copy",
    "constant_pad_nd", "gather", "index", "index_select", "embedding", "flip", "repeat", "logical_and", "logical_or",
    "logical_not", "logical_xor", "full", "full_like", "zeros", "zeros_like", "ones", "ones_like", "arange",
    "scalar_tensor", "lift_fresh", "lift_fresh_copy", "_local_scalar_dense", "empty", "fill", "zero",
))
# fmt: on
"""Operators that give the right number where a dtype holds it, in whatever order they work. A quotient may be a product
with a reciprocal elsewhere, and is none of them."""
_ROUNDED = "_akg_rounded"

Decided = Sequence[tuple[torch.Tensor, torch.Tensor] | None]
"""For each step of a run, in order, where it is decided and what it gives; None where it is so nowhere."""
Held = Mapping[float, torch.dtype]
"""By number that a reference compares with, the dtype that holds it then."""


def has_steps(task: Task) -> bool:
    """Whether a reference takes any."""
    return any(node.op.split(".")[1] in _STEPS for node in task.graph.nodes)


def name_of(func: Any) -> str:
    """The name of an operator, without a sign that it writes to what it is given."""
    return str(func._schema.name).partition("::")[2].rstrip("_")


class Steps(TorchDispatchMode):
    """Notes what each step of a run is taken on; beside those of another run, where both are taken on the same."""

    def __init__(self, other: Steps | None = None) -> None:
        super().__init__()
        self._other = other
        self.taken: list[tuple[torch.Tensor, ...]] = []
        self.decided: list[tuple[torch.Tensor, torch.Tensor] | None] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = name_of(func), kwargs or {}
        given = [value for value in tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
        is_rounded = any(hasattr(value, _ROUNDED) for value in given)
        is_step = name in _STEPS
        held = tuple(value.detach().clone() for value in given) if is_step and not is_rounded else ()
        result = func(*args, **kwargs)
        if is_rounded or not (name in _LOSSLESS or func.is_view or name == "detach"):
            for value in tree_leaves(result):
                if isinstance(value, torch.Tensor):
                    setattr(value, _ROUNDED, True)
        if is_step:
            self.decided.append(self._beside(held, result))
            self.taken.append(held)
        return result

    def _beside(self, held: tuple[torch.Tensor, ...], result: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
        number = len(self.taken)
        others = self._other.taken[number] if self._other and number < len(self._other.taken) else ()
        if not held or [v.shape for v in held] != [v.shape for v in others] or not isinstance(result, torch.Tensor):
            return None
        even = torch.ones(result.shape, dtype=torch.bool, device=result.device)
        for one, other in zip(held, others, strict=True):
            same = one.double() == other.double()
            try:
                even &= same
            except RuntimeError:  # a table, of which each number may count
                even &= same.all()
        return (even, result.clone()) if bool(even.any()) else None


class Taker:
    """Gives the steps of a run as they are decided, one after the other."""

    def __init__(self, decided: Decided) -> None:
        self._left = iter(decided)

    def __call__(self, func: Any, result: Any) -> Any:
        """What an operator gives, as far as it is a step that is decided."""
        known = next(self._left, None) if name_of(func) in _STEPS else None
        if known is None or known[1].shape != result.shape or known[1].dtype != result.dtype:
            return result
        return torch.where(*known, result)


def as_held(func: Any, args: tuple[Any, ...], known: Held) -> tuple[Any, ...]:
    """Arguments of a comparison in float64, with a number as the dtype holds it that is compared with it."""
    if not known or name_of(func) not in COMPARISONS:
        return args
    return (args[0], *(_as_held(value, known) for value in args[1:]))


def _as_held(value: Any, known: Held) -> Any:
    dtype = known.get(float(value)) if type(value) in (int, float) else None
    return value if dtype is None else torch.tensor(value, dtype=torch.float64).to(dtype).double().item()

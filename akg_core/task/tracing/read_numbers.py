"""Numbers that forward reads from tensors while it is traced: tensors of one element that behave as Python's numbers.

What is computed with them is a number again. It does not change with the tensor that it was read from, nor does
`n += 1` change the number that has another name, too. How far apart two of them are is known where they differ by
whole numbers: so many elements `x[n : n + 4]` has. Worker side only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

_SIGNS = {"add": 1, "sub": -1}
_DIVISIONS = ("div", "__rdiv__")
_IN_PLACE = {f"__i{name}__": f"__{name}__" for name in ("lshift", "rshift", "and", "or", "xor")}


def read(x: Tensor) -> Tensor:
    """What one element holds now, in the dtype of Python's numbers, which changes no other tensor's of floats, too."""
    return _number(x.reshape(()).to(torch.float64 if x.is_floating_point() else torch.int64, copy=True))


def computed(func: Callable[..., Any], name: str, args: Sequence[Any]) -> Tensor | None:
    """The number that a call makes of numbers; None for any other call."""
    if not any(map(is_number, args)) or not all(isinstance(each, (int, float)) or is_number(each) for each in args):
        return None
    plain = _IN_PLACE.get(name, name if name.endswith("__") else name.removesuffix("_"))  # n += 1 makes another number
    if plain in _DIVISIONS or any(_is_float(each) for each in args):  # of 64 bits, as Python's are
        args = [each.double() if isinstance(each, Tensor) else each for each in args]
    found = func(*args) if plain == name else getattr(Tensor, plain)(*args)
    if not isinstance(found, Tensor) or found.dtype == torch.bool:
        return found
    if plain in _SIGNS and is_number(args[0]) and isinstance(args[1], int):
        root, apart = args[0].number
        return _number(found, root, apart + _SIGNS[plain] * args[1])
    return _number(found)


def is_number(x: Any) -> bool:
    """Whether this tensor stands for a number that was read."""
    return isinstance(x, Tensor) and hasattr(x, "number")


def places(start: Any, stop: Any) -> Tensor | None:
    """The whole numbers from one number to before another, [n]; None where it is not known how many these are."""
    if is_number(start) and is_number(stop) and start.number[0] is stop.number[0] and not start.is_floating_point():
        return start + torch.arange(stop.number[1] - start.number[1], device=start.device)
    return None


def _is_float(x: Any) -> bool:
    return isinstance(x, float) or (isinstance(x, Tensor) and x.is_floating_point())


def _number(x: Tensor, root: object = None, apart: int = 0) -> Tensor:
    x.number = (root or object(), apart)  # type: ignore[attr-defined]
    return x

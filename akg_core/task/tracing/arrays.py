"""NumPy in forward while it is traced: `x.numpy()` is an array of `torch._numpy`, which computes with tensors.

NumPy's functions hand over to it, as they do for any array that says how; what it lacks is refused. Worker side only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch._numpy as followed
from torch import Tensor


def array(func: Callable[..., Any], args: Sequence[Any]) -> followed.ndarray | None:
    """The array that `x.numpy()` or `np.asarray(x)` is; None for any other call."""
    if getattr(func, "__name__", "") in ("numpy", "__array__") and args and isinstance(args[0], Tensor):
        return followed.ndarray(args[0].detach())
    return None


def from_numpy(x: Any) -> Tensor:
    """As `torch.from_numpy`, of arrays that are tensors, too."""
    found: Tensor = x.tensor if isinstance(x, followed.ndarray) else _FROM_NUMPY(x)
    return found


def dtype(arg: Any) -> Any:
    """As `torch._numpy.dtype`, of NumPy's own dtypes, too."""
    return _DTYPE(_plain(arg))


def by_function(self: Any, func: Any, types: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """NumPy's protocol `__array_function__`: the function of the same name."""
    return _called(func.__name__, args, kwargs)


def by_operator(self: Any, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """NumPy's protocol `__array_ufunc__`: an elementwise function of the same name."""
    return _called(ufunc.__name__, args, kwargs) if method == "__call__" else NotImplemented


def _called(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    function = getattr(followed, name, None)
    if function is None:
        return NotImplemented
    return function(*map(_plain, args), **{key: _plain(value) for key, value in kwargs.items()})


def _plain(value: Any) -> Any:
    """NumPy's own dtypes and arrays in terms that `torch._numpy` has, too."""
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return np.dtype(value).name
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


_FROM_NUMPY, _DTYPE = torch.from_numpy, followed._dtypes.dtype

"""`x[mask]` while forward is traced: all rows with a mask beside them, as long as what is made of it does not depend on
how many rows the mask picks.

Elementwise work, and work along the other dims, is done for every row; what is summed or compared over the rows leaves
out the others; what is written back goes where the mask says. Everything else is as data-dependent as it is in PyTorch,
and refused. Worker side only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DynamicOutputShapeException

_NAMES = """
    abs add addcdiv addcmul atan bitwise_and bitwise_not bitwise_or ceil clamp clip clone contiguous cos detach div
    elu eq erf exp expm1 float floor floor_divide gelu ge gt half hardsigmoid hardswish hardtanh isfinite isinf
    isnan le leaky_relu lerp log log10 log1p log2 logaddexp logical_and logical_not logical_or logsigmoid lt
    masked_fill maximum minimum mish mul multiply ne neg pow reciprocal relu relu6 remainder round rsqrt rsub sigmoid
    sign silu sin softplus sqrt square sub tan tanh to true_divide type_as where xlogy nan_to_num double long int bool
    bfloat16
    __add__ __and__ __eq__ __floordiv__ __ge__ __gt__ __invert__ __le__ __lt__ __mod__ __mul__ __ne__ __neg__ __or__
    __pow__ __radd__ __rmul__ __rpow__ __rsub__ __rdiv__ __rtruediv__ __sub__ __truediv__ __abs__
    __rfloordiv__ __matmul__
    """
_ELEMENTWISE = frozenset(_NAMES.split())
_ALONG = {"softmax": 1, "log_softmax": 1, "logsumexp": 1, "cumsum": 1, "normalize": 2, "cosine_similarity": 2}
"""Where in the arguments of a function along one dim that dim is."""
_LOSSES = frozenset(f"{name}_loss" for name in ("mse", "l1", "smooth_l1", "huber", "soft_margin")) | {
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
}
_SHAPED = frozenset(("unsqueeze", "squeeze", "flatten"))
_CLASSES = frozenset(("cross_entropy", "nll_loss"))
_IGNORED = -100


class Picked:
    """The rows of a tensor [n, *rest] that a mask [n] keeps, without saying how many there are."""

    def __init__(self, rows: Tensor, mask: Tensor) -> None:
        """`rows`: one for each element of the mask, in its order."""
        self.rows, self.mask, self.kept = rows, mask, mask.reshape(-1)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        return _called(func, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        if name in ("dtype", "device", "ndim", "dim", "is_floating_point"):
            return getattr(self.rows, name)
        function = getattr(Tensor, name, None)
        if not callable(function):
            raise _depends()
        return lambda *args, **kwargs: _called(function, (self, *args), kwargs)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, tuple) and at and at[0] == slice(None):
            return Picked(self.rows[at], self.mask)
        raise _depends()

    def __len__(self) -> int:
        raise _depends()

    def __bool__(self) -> bool:
        raise _depends()

    __hash__ = None  # type: ignore[assignment]


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: Picked, *others: Any) -> Any:
        return _called(getattr(Tensor, name), (self, *others), {})

    return apply


for _name in _ELEMENTWISE:
    if _name.startswith("__"):
        setattr(Picked, _name, _operator(_name))


def picked(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any] | None:
    """What indexing by a mask gives, or writing there; None for any other call."""
    name = getattr(func, "__name__", "")
    if name == "masked_select" and not kwargs and _is_mask(args[1]) and args[0].shape == args[1].shape:
        return (Picked(args[0].reshape(-1), args[1]),)
    if name == "__getitem__" and (found := _by_mask(*args)):
        mask, others = found
        rows = args[0].reshape(mask.numel(), *args[0].shape[mask.dim() :])
        within = (slice(None), *others)
        return (Picked(rows[within] if others else rows, mask),)
    if name == "__setitem__" and isinstance(args[2], Picked):
        _write(*args)
        return (None,)
    return None


def _write(base: Tensor, at: Any, new: Picked) -> None:
    found = _by_mask(base, at)
    if found is None or found[1] or found[0] is not new.mask:
        raise _depends()
    mask = new.mask
    wide = mask.reshape(*mask.shape, *(1,) * (base.dim() - mask.dim()))
    base.copy_(torch.where(wide, new.rows.reshape(*mask.shape, *new.rows.shape[1:]).to(base.dtype), base))


def _is_mask(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype == torch.bool and value.dim() > 0


def _by_mask(base: Any, at: Any) -> tuple[Tensor, tuple[Any, ...]] | None:
    """The mask that an index begins with, and the numbers and slices after it."""
    first, *others = at if isinstance(at, tuple) and at else (at,)
    plain = all(isinstance(other, (int, slice)) for other in others)
    if not plain or not _is_mask(first) or first.shape != base.shape[: first.dim()]:
        return None
    return first, tuple(others)


def _called(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    name = getattr(func, "__name__", "")
    given = [value for value in (*args, *kwargs.values()) if isinstance(value, Picked)]
    if not given:  # they are in a list, or part of an index
        raise _depends()
    first, reduction = given[0], kwargs.get("reduction", "mean")
    alike = name in _CLASSES or all(each.rows.dim() == first.rows.dim() for each in given)
    if not alike or any(each.mask is not first.mask for each in given):
        raise _depends()
    if name in _CLASSES and len(args) == len(given) == 2:
        return _of_classes(func, *args, **kwargs)
    if name in _LOSSES and len(args) == 2:
        whole = _mapped(func, first, args, {**kwargs, "reduction": "none"})
        return whole if reduction == "none" else _OVER[reduction](whole, None)
    if name in _ELEMENTWISE and name != "__matmul__":
        return _mapped(func, first, args, kwargs)
    if name == "linear" and args[0] is first and len(given) == 1 and first.rows.dim() > 1:
        return Picked(func(first.rows, *args[1:], **kwargs), first.mask)
    if name in _SHAPED and args[0] is first and len(given) == 1 and not kwargs:
        return _shaped(func, name, first, args[1:])
    matrix = name in ("matmul", "__matmul__") and isinstance(args[1], Tensor) and args[1].dim() <= 2
    if matrix and first.rows.dim() > 1:
        return Picked(func(first.rows, *args[1:]), first.mask)
    if name == "layer_norm" and args[0] is first and len(args[1]) < first.rows.dim():
        return Picked(func(first.rows, *args[1:], **kwargs), first.mask)
    if name in _OVER and args[0] is first and len(given) == 1:
        return _over(func, name, first, args[1:], kwargs)
    if name in _ALONG:
        place = _ALONG[name]
        dim = kwargs.get("dim", args[place] if len(args) > place else None)
        if dim is not None and _is_inner(first.rows, dim):
            return _mapped(func, first, args, kwargs)
    raise _depends()


def _shaped(func: Callable[..., Any], name: str, x: Picked, args: Sequence[Any]) -> Picked:
    """Dims other than that of the rows, made or left out."""
    (dim,) = args if len(args) == 1 else (0,)
    least = -x.rows.dim() if name == "unsqueeze" else 1 - x.rows.dim()
    if not isinstance(dim, int) or not (dim > 0 or least <= dim < 0):
        raise _depends()
    return Picked(func(x.rows, dim), x.mask)


def _mapped(func: Callable[..., Any], first: Picked, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function of each row for itself."""
    for value in (*args, *kwargs.values()):
        same = isinstance(value, Tensor) and value.dim() == first.rows.dim() and value.shape[0] != 1
        if same or (isinstance(value, Tensor) and value.dim() > first.rows.dim()):
            raise _depends()
    rows = [value.rows if isinstance(value, Picked) else value for value in args]
    named = {key: value.rows if isinstance(value, Picked) else value for key, value in kwargs.items()}
    result = func(*rows, **named)
    if isinstance(result, tuple):
        return type(result)(Picked(each, first.mask) for each in result)
    if result.shape[:1] != first.rows.shape[:1]:
        raise _depends()
    return Picked(result, first.mask)


def _of_classes(func: Callable[..., Any], logits: Any, target: Any, **options: Any) -> Any:
    """A loss by classes, which has a number of its own for rows that do not count."""
    ignored = options.get("ignore_index", _IGNORED)
    if not isinstance(logits, Picked) or logits.rows.dim() != 2 or target.rows.dim() != 1:
        raise _depends()
    loss = func(logits.rows, torch.where(target.kept, target.rows, ignored), **options)
    return Picked(loss, logits.mask) if options.get("reduction") == "none" else loss


def _is_inner(rows: Tensor, dim: Any) -> bool:
    """Whether a dim, or all of several, is another than that of the rows."""
    dims = dim if isinstance(dim, (list, tuple)) else (dim,)
    return bool(dims) and all(isinstance(d, int) and d % rows.dim() != 0 for d in dims)


def _over(func: Callable[..., Any], name: str, x: Picked, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A reduction: of everything, of the rows, or of each row for itself."""
    dim = args[0] if args else kwargs.get("dim")
    if isinstance(dim, (Tensor, Picked)) or (args and name == "norm"):
        raise _depends()
    if dim is not None and _is_inner(x.rows, dim):
        return _mapped(func, x, (x, *args), kwargs)
    if len(args) > 1 or set(kwargs) - {"dim"} or dim not in (None, 0, (0,), [0]) or (dim == 0 and name in _PAIRS):
        raise _depends()
    return _OVER[name](x, None if dim is None else 0)


def _wide(x: Picked) -> Tensor:
    return x.kept.reshape(-1, *(1,) * (x.rows.dim() - 1))


def _sum(x: Picked, dim: int | None) -> Tensor:
    return _summed(torch.where(_wide(x), x.rows, 0), dim)


def _summed(rows: Tensor, dim: int | None) -> Tensor:
    return rows.sum() if dim is None else rows.sum(dim)


def _count(x: Picked, dim: int | None) -> Tensor:
    return x.kept.sum() * (math.prod(x.rows.shape[1:]) if dim is None else 1)


def _widened(over: Callable[[Picked, int | None], Tensor]) -> Callable[[Picked, int | None], Tensor]:
    """A reduction done in f32 for narrow floats, as PyTorch does it."""

    def widened(x: Picked, dim: int | None) -> Tensor:
        narrow = x.rows.dtype in (torch.float16, torch.bfloat16)
        return over(Picked(x.rows.float(), x.mask), dim).to(x.rows.dtype) if narrow else over(x, dim)

    return widened


def _mean(x: Picked, dim: int | None) -> Tensor:
    return _sum(x, dim) / _count(x, dim)


def _variance(x: Picked, dim: int | None) -> Tensor:
    apart = torch.where(_wide(x), x.rows - _mean(x, dim), 0)
    return _summed(apart * apart, dim) / (_count(x, dim) - 1)


def _extreme(largest: bool) -> Callable[[Picked, int | None], Tensor]:
    def extreme(x: Picked, dim: int | None) -> Tensor:
        if x.rows.is_floating_point():
            none: float = -math.inf if largest else math.inf
        else:
            limits = torch.iinfo(x.rows.dtype)
            none = limits.min if largest else limits.max
        rows = torch.where(_wide(x), x.rows, none)
        dims = tuple(range(rows.dim())) if dim is None else (dim,)
        return rows.amax(dims) if largest else rows.amin(dims)

    return extreme


def _any(x: Picked, dim: int | None) -> Tensor:
    rows = _wide(x) & x.rows.bool()
    return rows.any() if dim is None else rows.any(dim)


def _all(x: Picked, dim: int | None) -> Tensor:
    rows = ~_wide(x) | x.rows.bool()
    return rows.all() if dim is None else rows.all(dim)


_PAIRS = ("max", "min")  # of which a dim gives places, too
_OVER: dict[str, Callable[[Picked, int | None], Tensor]] = {
    "sum": _sum,
    "mean": _widened(_mean),
    "var": _widened(_variance),
    "std": _widened(lambda x, dim: _variance(x, dim).sqrt()),
    "norm": _widened(lambda x, dim: _sum(Picked(x.rows * x.rows, x.mask), dim).sqrt()),
    "max": _extreme(True),
    "amax": _extreme(True),
    "min": _extreme(False),
    "amin": _extreme(False),
    "any": _any,
    "all": _all,
}


def _depends() -> DynamicOutputShapeException:
    return DynamicOutputShapeException(torch.ops.aten.nonzero.default)

"""Rows that a mask picks, as `x[mask]` and `x[mask.nonzero()]` are, while forward is traced: all rows with the mask
beside them, as long as what is made of them does not depend on how many the mask picks.

Elementwise work, and work along the other dims, is done for every row; what is summed or compared over the rows leaves
out the others; what is written somewhere goes where the mask says. Everything else is as data-dependent as it is in
PyTorch, and refused. Worker side only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from akg_core.task.dense import DIFFERENT, IN_ORDER, dense, length, row, taken
from akg_core.task.domain import Columns, Rows, Spans, depends, is_in_place, union
from akg_core.task.over_rows import ALONG, OVER, PAIRS, batch_norm, pair
from akg_core.task.resized import shaped, sized, view

_NAMES = """
    abs add addcdiv addcmul atan bitwise_and bitwise_not bitwise_or ceil clamp clip clone contiguous cos detach div
    elu eq erf exp expm1 float floor floor_divide gelu ge gt half hardsigmoid hardswish hardtanh isfinite isinf
    isnan le leaky_relu lerp log log10 log1p log2 logaddexp logical_and logical_not logical_or logsigmoid lt
    masked_fill maximum minimum mish mul multiply ne neg pow reciprocal relu relu6 remainder round rsqrt rsub sigmoid
    sign silu sin softplus sqrt square sub tan tanh to true_divide type_as where xlogy nan_to_num double long int bool
    bfloat16 cpu zeros_like ones_like full_like empty_like one_hot atan2
    __add__ __and__ __eq__ __floordiv__ __ge__ __gt__ __invert__ __le__ __lt__ __mod__ __mul__ __ne__ __neg__ __or__
    __pow__ __radd__ __rmul__ __rpow__ __rsub__ __rdiv__ __rtruediv__ __sub__ __truediv__ __abs__
    __rfloordiv__ __matmul__ __xor__ __rmod__ __rand__ __ror__
    """
_ELEMENTWISE = frozenset(_NAMES.split())
_SAME_PLACES = ("clone", "contiguous", "detach", "cpu", "long", "to")
_ALONG = {
    "softmax": (1, None), "log_softmax": (1, None), "logsumexp": (1, None), "cumsum": (1, None), "cumprod": (1, None),
    "normalize": (2, 1), "cosine_similarity": (2, 1), "chunk": (2, 0), "split": (2, 0), "topk": (2, -1),
    "sort": (1, -1), "argsort": (1, -1), "argmax": (1, None), "argmin": (1, None), "gather": (1, None),
    "glu": (1, -1), "flip": (1, None), "prod": (1, None), "select": (1, None), "narrow": (1, None),
    "cat": (1, 0), "concat": (1, 0), "stack": (1, 0), "median": (1, None), "msort": (1, 0),
    "quantile": (2, None), "roll": (2, None),
}  # fmt: skip
"""Where in the arguments of a function along one dim that dim is, and which it is if it is not said."""
_ROW_BY_ROW = {"cdist": 2, "group_norm": 2, "bmm": 3, "scaled_dot_product_attention": 3, "baddbmm": 3}
"""Functions that take the first dim to be one of things that have nothing to do with each other, from so many dims."""
_LOSSES = frozenset(f"{name}_loss" for name in ("mse", "l1", "smooth_l1", "huber", "soft_margin")) | {
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
}
_SHAPED = frozenset(("unsqueeze", "squeeze", "flatten"))
_SIZED = frozenset(("view", "reshape", "expand", "repeat"))
_CLASSES = frozenset(("cross_entropy", "nll_loss"))
_IGNORED = -100


class Picked(Rows):
    """The rows of a tensor [n, *rest] that a mask of n elements keeps, without saying how many there are."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        return _called(func, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        if name in ("dtype", "device", "ndim", "dim", "is_floating_point"):
            return getattr(self.rows, name)
        function = getattr(Tensor, name, None)
        if not callable(function):
            raise depends()
        return lambda *args, **kwargs: _called(function, (self, *args), kwargs)

    @property
    def shape(self) -> tuple[Any, ...]:
        return (self.domain.count, *self.rows.shape[1:])

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> Any:
        rest = math.prod(self.rows.shape[1:])
        return self.domain.count if rest == 1 else self.domain.count * rest

    def tolist(self) -> Picked:
        found = Picked(self.rows, *self._where(), self.places)
        found.is_python = True
        return found

    numpy = tolist

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, Picked) and at.dtype == torch.bool and at.ndim == 1 and at.domain is self.domain:
            return self._among(at, at.spread)
        if isinstance(at, slice):
            by = (at.start, at.stop, at.step)
            return self._among(by, lambda: self._between(at.start, at.stop, at.step or 1), length(*by))
        if isinstance(at, Picked) and at.domain.root is self.domain.root and at.dtype == torch.bool and at.ndim == 1:
            return dense(self)[dense(at)]
        if isinstance(at, int):
            return row(self, at)
        if isinstance(at, (Tensor, Picked)) and not at.is_floating_point() and at.dtype != torch.bool:
            return taken(self, at)
        if isinstance(at, tuple) and len(at) > 1 and isinstance(at[0], (Picked, int, slice)) and at[0] != slice(None):
            part, rest = self[at[0]], at[1:]
            return part.__getitem__((slice(None), *rest)) if isinstance(part, Picked) else part[rest]
        if not (isinstance(at, tuple) and at and (at[0] is Ellipsis or at[0] == slice(None))):
            raise depends()
        if not all(part is None or part is Ellipsis or isinstance(part, (int, slice)) or _is_list(part) for part in at):
            raise depends()
        if at[0] is Ellipsis:
            missing = self.ndim - sum(part is not None for part in at) + 1
            at = (*(slice(None),) * missing, *at[1:])
            if missing < 1:
                raise depends()
        if isinstance(self.places, tuple) and len(at) == 2 and isinstance(at[1], int):
            return column(self.domain, self.places[at[1]])
        return view(self, Picked(self.rows[at], self.domain, self.spans))

    def _among(self, by: Any, keep: Callable[[], Tensor], of: tuple[str, int] | None = None) -> Picked:
        narrowed = self.domain.narrowed(by, keep, of)
        return Picked(self.rows, narrowed, self.spans, self.places)

    def _between(self, start: Any, stop: Any, step: int) -> Tensor:
        rank = self.domain.rank
        ends = [self.domain.count + end if isinstance(end, int) and end < 0 else end for end in (start, stop)]
        first = 0 if start is None else ends[0]
        kept = rank >= first
        kept = kept if step == 1 else kept & ((rank - first) % step == 0)
        return kept if stop is None else kept & (rank < ends[1])

    @property
    def T(self) -> _Columns:
        return _Columns(self[:, k] for k in range(self.rows.shape[1])) if self.ndim == 2 else self._no_columns()

    def t(self) -> _Columns:
        return self.T

    def unbind(self, dim: int = 0) -> Any:
        return tuple(self.T) if dim in (1, -1) and self.ndim == 2 else self._no_columns()

    def transpose(self, one: int, other: int) -> Any:
        if self.ndim == 2 and {one % 2, other % 2} == {0, 1}:
            return self.T
        inner = 0 not in (one % self.ndim, other % self.ndim)
        return view(self, Picked(self.rows.transpose(one, other), *self._where())) if inner else self._no_columns()

    def _where(self) -> tuple[Any, Spans]:
        return self.domain, self.spans

    def _no_columns(self) -> Any:
        raise depends()

    def __iter__(self) -> Iterator[Any]:
        raise depends()

    __len__ = __bool__ = __setitem__ = __int__ = __index__ = _no_columns
    __hash__ = None  # type: ignore[assignment]


class _Columns(Columns):
    """What `mask.nonzero().t()` is: the numbers of every dim."""

    def contiguous(self) -> _Columns:
        return self

    long = contiguous

    def __matmul__(self, other: Any) -> Any:
        """The product over all rows."""
        if not isinstance(other, Picked) or other.ndim != 2:
            raise depends()
        return torch.stack([(column.unsqueeze(1) * other).sum(0) for column in self])


def _is_list(index: Any) -> bool:
    """Whether an index is one of places that are known to be as many."""
    if isinstance(index, list):
        return all(isinstance(each, int) for each in index)
    return isinstance(index, Tensor) and index.dim() == 1 and index.dtype in (torch.int64, torch.int32)


def column(domain: Any, dim: int) -> Picked:
    """The numbers of a dim of a mask at what it keeps."""
    spans = tuple(each == dim for each in range(len(domain.grid)))
    return Picked(torch.arange(domain.grid[dim], device=domain.mask.device), domain, spans, dim)


def columns(domain: Any) -> tuple[Picked, ...]:
    """The numbers of every dim of a mask at what it keeps."""
    return tuple(column(domain, dim) for dim in range(len(domain.grid)))


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: Picked, *others: Any) -> Any:
        return _called(getattr(Tensor, name), (self, *others), {})

    return apply


for _name in _ELEMENTWISE:
    if _name.startswith("__"):
        setattr(Picked, _name, _operator(_name))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "and", "or", "pow"):
    setattr(Picked, f"__i{_name}__", _operator(f"__i{_name}__"))


def _called(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    name = getattr(func, "__name__", "")
    given = [value for value in tree_leaves((args, kwargs)) if isinstance(value, Picked)]
    if not given or isinstance(kwargs.get("out"), (Tensor, Picked)):  # they are part of an index
        raise depends()
    if name in DIFFERENT:
        return DIFFERENT[name](*args, **kwargs, kind=Picked)
    if kwargs.get("inplace") or is_in_place(name):
        return _in_place(func, name, args, kwargs)
    domains = [each.domain for each in given]

    def aligned(value: Any) -> Any:
        return Picked(value.spread(spans), value.domain, spans, value.places) if isinstance(value, Picked) else value

    if len({*domains}) > 1 and len({domain.root for domain in domains}) == 1:
        args, kwargs = tree_map(
            lambda each: dense(each) if isinstance(each, Picked) else each, (tuple(args), dict(kwargs))
        )
        return _called(func, args, kwargs)
    spans = union(given)
    if len({each.rows.dim() for each in given}) > 1 and name not in _CLASSES:
        raise depends()
    if isinstance(args[0], Picked) and name in _SAME_PLACES:
        return Picked(_rows(func, args, kwargs), *args[0]._where(), args[0].places)
    return _of_rows(func, name, aligned(given[0]), *tree_map(aligned, (tuple(args), dict(kwargs))))


def _of_rows(func: Callable[..., Any], name: str, first: Picked, args: Any, kwargs: Any) -> Any:
    """A function of rows that all span the same dims."""
    given = [value for value in tree_leaves((args, kwargs)) if isinstance(value, Picked)]
    own, rank, reduction = isinstance(args[0], Picked), first.rows.dim(), kwargs.get("reduction", "mean")
    if name in _CLASSES and len(args) == len(given) == 2:
        return _of_classes(func, *args, **kwargs)
    if name in _LOSSES and len(args) == 2:
        whole = _mapped(func, first, args, {**kwargs, "reduction": "none"})
        return whole if reduction == "none" else OVER[reduction](_everywhere(whole), None)
    if name in IN_ORDER and own and len(given) == 1 and not _is_inner(rank, _dim_of(name, args, kwargs)):
        return IN_ORDER[name](*args, **kwargs)
    if name == "stack" and rank == 1 and len(given) == len(args[0]) and _dim_of(name, args, kwargs) == 0:
        return _Columns(args[0])
    if name == "batch_norm" and own and len(given) == 1 and rank == 2:
        return batch_norm(_everywhere(first), *args[1:], **kwargs)
    if name == "dot" and len(given) == 2:
        return OVER["sum"](_mapped(torch.mul, first, args, kwargs), None)
    if name in _ELEMENTWISE and name != "__matmul__":
        return _mapped(func, first, args, kwargs)
    if name in _SHAPED and own and len(given) == 1 and not kwargs:
        return shaped(func, name, first, args[1:])
    if name in _SIZED and own and not kwargs:
        return sized(name, first, args[1:])
    if (
        name == "dropout"
        and own
        and (kwargs.get("p", args[1] if len(args) > 1 else 0.5) == 0 or not _training(args, kwargs))
    ):
        return first
    if name in ("matmul", "__matmul__", "linear", "layer_norm", "rms_norm") and own and _is_by_row(name, args):
        return _mapped(func, first, args, kwargs, broadcast=False)
    if rank >= _ROW_BY_ROW.get(name, math.inf) and own:
        alike = all(isinstance(each, Picked) for each in args if isinstance(each, (Picked, Tensor)))
        return _mapped(func, first, args, kwargs, broadcast=alike)
    if name == "einsum":
        return _einsum(first, *args)
    if name in OVER and own and len(given) == 1:
        return _over(func, name, first, args[1:], kwargs)
    if name in _ALONG:
        dim = _dim_of(name, args, kwargs)
        if dim is not None and _is_inner(rank + (name == "stack"), dim):
            if name == "gather" and own and isinstance(args[2], Picked):  # others may be no places
                args = (*args[:2], first.made(args[2].valid(first.spans)))
            return _mapped(func, first, args, kwargs)
        plain = len(args) < 3 and kwargs.get("dtype") is None and set(kwargs) <= {"dim", "dtype", "_stacklevel"}
        if dim is not None and dim % rank == 0 and name in ALONG and own and plain:
            return ALONG[name](func, _everywhere(first), 0)
    raise depends()


def _dim_of(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The dim that a function goes along, None where it is not said."""
    place, usual = _ALONG[name]
    return kwargs.get("dim", args[place] if len(args) > place else usual)


def _training(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return kwargs.get("training", args[2] if len(args) > 2 else True)


def _in_place(func: Callable[..., Any], name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Picked:
    """What changes rows that nobody else sees."""
    x = args[0]
    plain = name if kwargs.get("inplace") else f"__{name[3:]}" if name.startswith("__i") else name[:-1]
    if not isinstance(x, Picked) or x.shared or plain not in _ELEMENTWISE:
        raise depends()
    options = {key: value for key, value in kwargs.items() if key != "inplace"}
    new = _called(func if kwargs.get("inplace") else getattr(Tensor, plain), args, options)
    x.rows, x.spans, x.places = new.rows.to(x.dtype), new.spans, None
    x.front = None
    return x


def _rows(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    given, named = tree_map(lambda each: each.rows if isinstance(each, Picked) else each, (tuple(args), dict(kwargs)))
    return func(*given, **named)


def _mapped(
    func: Callable[..., Any], first: Picked, args: Sequence[Any], kwargs: Mapping[str, Any], broadcast: bool = True
) -> Any:
    """A function of each row for itself. `broadcast`: tensors beside them meet the rows from the last dim on."""
    for value in tree_leaves((args, kwargs)) if broadcast else ():
        same = isinstance(value, Tensor) and value.dim() == first.rows.dim() and value.shape[0] != 1
        if same or (isinstance(value, Tensor) and value.dim() > first.rows.dim()):
            raise depends()
    count = first.rows.shape[:1]

    def of_rows(result: Any) -> Any:
        if not isinstance(result, Tensor) or result.shape[:1] != count:
            raise depends()
        return Picked(result, *first._where())

    return tree_map(of_rows, _rows(func, args, kwargs))


def _is_by_row(name: str, args: Sequence[Any]) -> bool:
    """Whether a product or norm leaves the first dim of its first argument alone."""
    rank, other = args[0].rows.dim(), args[1]
    if isinstance(other, Picked):
        return "matmul" in name and rank > 2
    if name.endswith("norm"):
        return len(other) < rank
    return rank > 1 and isinstance(other, Tensor) and other.dim() <= 2


def _einsum(first: Picked, equation: str, *operands: Any) -> Any:
    terms, arrow, result = equation.replace(" ", "").partition("->")
    row, each = "", terms.split(",")
    for term, operand in zip(each, operands, strict=True):
        row = row or (term[:1] if isinstance(operand, Picked) else "")
    by_row = all(
        term.startswith(row) and term.count(row) == 1 if isinstance(operand, Picked) else row not in term
        for term, operand in zip(each, operands, strict=True)
    )
    if not arrow or "." in equation or not by_row or not result.startswith(row):
        raise depends()
    return _mapped(torch.einsum, first, (equation, *operands), {}, broadcast=False)


def _of_classes(func: Callable[..., Any], logits: Any, target: Any, **options: Any) -> Any:
    """A loss by classes, which has a number of its own for rows that do not count."""
    ignored = options.get("ignore_index", _IGNORED)
    if not isinstance(logits, Picked) or logits.rows.dim() != 2 or target.rows.dim() != 1:
        raise depends()
    logits, target = _everywhere(logits), _everywhere(target)
    loss = func(logits.rows, torch.where(target.domain.kept, target.rows, ignored), **options)
    return Picked(loss, logits.domain) if options.get("reduction") == "none" else loss


def _everywhere(x: Picked) -> Picked:
    return Picked(x.spread(), x.domain)


def _is_inner(rank: int, dim: Any) -> bool:
    """Whether a dim, or all of several, is another than that of the rows."""
    dims = dim if isinstance(dim, (list, tuple)) else (dim,)
    return bool(dims) and all(isinstance(d, int) and d % rank != 0 for d in dims)


def _over(func: Callable[..., Any], name: str, x: Picked, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A reduction: of everything, of the rows, or of each row for itself."""
    dim = args[0] if args else kwargs.get("dim")
    if isinstance(dim, (Tensor, Picked)) or (args and name == "norm"):
        raise depends()
    if dim is not None and _is_inner(x.rows.dim(), dim):
        return _mapped(func, x, (x, *args), kwargs)
    of_all = dim is None or {each % x.ndim for each in (dim if isinstance(dim, (tuple, list)) else (dim,))}
    keep = kwargs.get("keepdim", len(args) > 1 and args[1])
    spread = name in ("var", "std")
    named = {"dim", "keepdim", *(("unbiased", "correction") if spread else ())}
    if len(args) > (1 if spread else 2) or set(kwargs) - named or keep not in (0, 1):
        raise depends()
    if of_all not in (True, {0}, {*range(x.ndim)}) or (keep and of_all == {0} and name in PAIRS):
        raise depends()
    x = _everywhere(x)
    if of_all == {0} and name in PAIRS:
        return pair(func, name, x)
    over = None if dim is None or of_all != {0} else 0
    found = OVER[name](x, over, *((int(kwargs.get("correction", kwargs.get("unbiased", 1))),) if spread else ()))
    return (found[None] if over == 0 else found.reshape((1,) * x.ndim)) if keep else found

"""Tensors with dims as long as masks say, of which that of rows is not the first or not the only one: `x[:, mask]`,
`x[mask].T`, `x[mask] @ y[other].T`, `x[mask][:, None] - x[mask]`.

Each such dim has room for all rows, beside the mask, as `Rows` have. What goes along one of them is done by rows of
it, which come first then; what goes along others is done for every row. Worker side only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from akg_core.task.data_dependent.by_row import DIM_OF, ELEMENTWISE, LOSSES, SAME_PLACES, dim_of, with_operators
from akg_core.task.data_dependent.domain import Domain, Rows, counted, depends, is_in_place, out_of_place, parts_of
from akg_core.task.data_dependent.over_rows import OVER, PAIRS

Domains = tuple[Domain | None, ...]

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Functions of ragged tensors by their names, besides those that go along dims or element by element."""
_ONE_BY_ONE = frozenset(("sum", "mean", "prod", "amax", "amin", "any", "all"))
_KEEPING = frozenset((*OVER, *PAIRS, "argmax", "argmin", "logsumexp", "median"))
_LAST = frozenset(("linear", "layer_norm", "rms_norm", "normalize", "glu"))
"""Functions of the last dims alone."""


@with_operators
class Ragged:
    """`data`, with the rows of `domains` along its dims: None where there are as many as its shape says.

    `parts`: what it is made of along its first dim, where more is known of them.
    """

    kind: ClassVar[Any]
    is_python = False

    def __init__(self, data: Tensor, domains: Domains, parts: Sequence[Any] | None = None) -> None:
        self.data, self.domains, self.parts = data, domains, parts
        self.shared = False

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        return called(func, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        if name in ("dtype", "device", "ndim", "dim", "is_floating_point"):
            return getattr(self.data, name)
        function = getattr(Tensor, name, None)
        if not callable(function):
            raise depends()
        return lambda *args, **kwargs: called(function, (self, *args), kwargs)

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(d.count if d else size for d, size in zip(self.domains, self.data.shape, strict=True))

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> Any:
        return math.prod(self.shape)

    @property
    def T(self) -> Any:
        return _permute(self, *reversed(range(self.data.dim())))

    @property
    def mT(self) -> Any:
        return _transpose(self, -1, -2)

    def __iter__(self) -> Iterator[Any]:
        if self.domains[0]:
            raise depends()
        return (self[at] for at in range(self.data.shape[0]))

    def __getitem__(self, index: Any) -> Any:
        if self.parts and isinstance(index, int):
            return self.parts[index]
        return _seen(self, _indexed(self, parts_of(index)))

    def filled(self, dim: int, value: float = 0) -> Tensor:
        """The data, with a value in the place of rows along a dim that do not count."""
        domain = self.domains[dim]
        if domain is None:
            return self.data
        after = self.data.dim() - dim % self.data.dim() - 1
        return torch.where(domain.kept.reshape(-1, *(1,) * after), self.data, value)

    def front(self, dim: int) -> tuple[Any, Domains]:
        """The rows of a dim, which come first, and the domains of what comes after it."""
        domain, dim = self.domains[dim], dim % self.data.dim()
        return self.kind(self.data.movedim(dim, 0), domain), self.domains[:dim] + self.domains[dim + 1 :]

    def merged(self, first: int, stop: int) -> tuple[Tensor, Domain | None]:
        """The data with some dims in one, and the domain of that."""
        sizes, domains = self.data.shape[first:stop], self.domains[first:stop]
        data = self.data.flatten(first, stop - 1)
        several = [number for number, size in enumerate(sizes) if size != 1 or domains[number]]
        known = [(number, domain) for number, domain in enumerate(domains) if domain]
        if not known or len(several) == 1:
            return data, known[0][1] if known else None
        head, domain = known[0]
        if len(known) == 1 and several[0] == head:
            return data, domain.repeated(math.prod(sizes[head + 1 :]))

        def beside() -> Domain:
            mask = torch.ones(sizes, dtype=torch.bool, device=self.data.device)
            for number, each in known:
                mask = mask & each.kept.reshape(-1, *(1,) * (len(sizes) - number - 1))
            return Domain(mask.reshape(-1))

        return data, domain.part(("merged", *sizes, *(id(each) for each in domains)), beside)


def of(value: Any) -> Ragged:
    """A tensor or rows with the domains of all their dims."""
    if isinstance(value, Ragged):
        return value
    if isinstance(value, Rows):
        return Ragged(value.spread(), (value.domain, *(None,) * (value.rows.dim() - 1)))
    return Ragged(value, (None,) * value.dim())


def wrapped(data: Tensor, domains: Domains, parts: Sequence[Any] | None = None) -> Any:
    """A tensor, rows, or a ragged tensor: what these domains make of it."""
    if not any(domains):
        return data.contiguous()
    if domains[0] and not any(domains[1:]):
        return Ragged.kind(data, domains[0])
    return Ragged(data, domains, parts)


def lifted(rows: Any, dim: int) -> Any:
    """Rows that come first, where their dim comes after `dim` others."""
    domains = (*(None,) * dim, rows.domain, *(None,) * (rows.rows.dim() - 1 - dim))
    parts = (rows.made(rows.rows[:, 0]),) if dim == 1 and rows.rows.shape[1] == 1 else None
    return wrapped(rows.spread().movedim(0, dim), domains, parts) if dim else rows


def stacked(parts: Sequence[Any]) -> Any:
    """Rows beside each other along a new first dim."""
    whole = [of(part) for part in parts]
    return wrapped(torch.stack([each.data for each in whole]), (None, *met(whole)), tuple(parts))


def called(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A function of which some argument is ragged."""
    name = getattr(func, "__name__", "")
    if kwargs.get("inplace") or kwargs.get("out") is not None:
        raise depends()
    if is_in_place(name):
        return _in_place(out_of_place(name), args)
    if name in _OF_DIMS:
        return _seen(args[0], _OF_DIMS[name](of(args[0]), *args[1:], **kwargs))
    if name in FUNCTIONS:
        return FUNCTIONS[name](*args, **kwargs)
    if name in LOSSES:
        reduction = kwargs.get("reduction", "mean")
        whole = _elementwise(func, args, {**kwargs, "reduction": "none"})
        return whole if reduction == "none" else getattr(whole, reduction)()
    if name in ELEMENTWISE:
        return _elementwise(func, args, kwargs)
    if name in _LAST or name in DIM_OF or name in _KEEPING:
        return _along(func, name, args, kwargs)
    raise depends()


def beyond(name: str) -> bool:
    """Whether a function of rows may give what has them along another dim than the first, or along several."""
    return name in ELEMENTWISE or name in FUNCTIONS or name in _OF_DIMS


def _seen(whole: Any, part: Any) -> Any:
    """A part, where both are known to share what is written to them."""
    for each in (whole, part):
        if isinstance(each, (Rows, Ragged)):
            each.shared = True
    return part


def _in_place(name: str, args: Sequence[Any]) -> Ragged:
    """What changes a tensor that nobody else sees."""
    x = args[0]
    if not isinstance(x, Ragged) or x.shared or name not in ELEMENTWISE:
        raise depends()
    new = of(_elementwise(getattr(Tensor, name), args, {}))
    x.data, x.domains, x.parts = new.data.to(x.data.dtype), new.domains, None
    return x


# --- element by element ----------------------------------------------------------------------------------


def met(given: Sequence[Ragged]) -> Domains:
    """The domains of what tensors give that meet from the last dim on."""
    rank = max(len(each.domains) for each in given)
    found: list[Domain | None] = []
    for dim in range(-rank, 0):
        here = [(each.domains[dim], each.data.shape[dim]) for each in given if dim >= -len(each.domains)]
        first = next((domain for domain, _ in here if domain), None)
        if first and any(domain is not first and (domain or size != 1) for domain, size in here):
            raise depends()
        found.append(first)
    return tuple(found)


def same(one: Domain | None, other: Domain | None) -> None:
    """Raise unless two dims are as long, and of the same rows."""
    if one is not other:
        raise depends()


def _elementwise(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    given = [of(each) for each in tree_leaves((args, kwargs)) if isinstance(each, (Tensor, Rows, Ragged))]
    domains = met(given)
    data = _plain(func, args, kwargs)
    more = data.dim() - len(domains)  # of one_hot
    first = args[0]
    parts = first.parts if isinstance(first, Ragged) and getattr(func, "__name__", "") in SAME_PLACES else None
    return wrapped(data, domains + (None,) * more, parts)


def _plain(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    def data(value: Any) -> Any:
        return of(value).data if isinstance(value, (Rows, Ragged)) else value

    given, named = tree_map(data, (tuple(args), dict(kwargs)))
    return func(*given, **named)


# --- along dims ------------------------------------------------------------------------------------------


def _along(func: Callable[..., Any], name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What goes along one dim or several, or over all elements."""
    x, rank = of(args[0]), of(args[0]).data.dim()
    dims = dim_of(name, args, kwargs)
    if name in _LAST:
        dims = tuple(range(-len(args[1]), 0)) if name.endswith("norm") else -1 if dims is None else dims
    if dims is None:
        return _by_rows(func, (Ragged.kind(*x.merged(0, rank)), *args[1:]), kwargs)
    along = sorted(dim % rank for dim in (dims if isinstance(dims, (tuple, list)) else (dims,)))
    if not any(x.domains[dim] for dim in along):
        return tree_map(lambda each: _left(each, x.domains, along), _plain(func, args, kwargs))
    place = DIM_OF.get(name, (1, None))[0]
    kept = kwargs.get("keepdim", args[place + 1] if name in _KEEPING and len(args) > place + 1 else False)
    if len(along) > 1 and name in _ONE_BY_ONE:
        for dim in reversed(along):
            x = getattr(x, name)(dim, keepdim=bool(kept))
        return x
    if len(along) > 1 or len(args) > place + 2 or any(isinstance(each, (Rows, Ragged)) for each in args[1:]):
        raise depends()
    (dim,) = along
    rows, others = x.front(dim)
    named = {key: value for key, value in kwargs.items() if key not in ("dim", "keepdim")}
    found = _by_rows(func, (rows, *args[1:place]), {**named, "dim": 0})
    return tree_map(lambda each: _back(each, others, dim, bool(kept), rank), found)


def _by_rows(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return Ragged.kind.__torch_function__(func, (), args, kwargs)


def _left(data: Tensor, domains: Domains, along: Sequence[int]) -> Any:
    """What a function along dims without rows gives, with or without these."""
    if data.dim() != len(domains):
        domains = tuple(each for dim, each in enumerate(domains) if dim not in along)
    return wrapped(data, domains)


def _back(found: Any, others: Domains, dim: int, kept: bool, rank: int) -> Any:
    """What a function along the first dim gives, with that dim where it was."""
    if isinstance(found, Rows):
        return wrapped(found.spread().movedim(0, dim), (*others[:dim], found.domain, *others[dim:]))
    if found.dim() == rank:
        return wrapped(found.movedim(0, dim), (*others[:dim], None, *others[dim:]))
    return wrapped(found.unsqueeze(dim), (*others[:dim], None, *others[dim:])) if kept else wrapped(found, others)


# --- dims ------------------------------------------------------------------------------------------------


def _permute(x: Ragged, *dims: Any) -> Any:
    order = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    return wrapped(x.data.permute(order), tuple(x.domains[dim] for dim in order))


def _transpose(x: Ragged, one: int, other: int) -> Any:
    order = list(range(x.data.dim()))
    order[one], order[other] = order[other], order[one]
    return _permute(x, order)


def _movedim(x: Ragged, source: int, destination: int) -> Any:
    order = [dim for dim in range(x.data.dim()) if dim != source % x.data.dim()]
    order.insert(destination % x.data.dim(), source % x.data.dim())
    return _permute(x, order)


def _unsqueeze(x: Ragged, dim: int) -> Any:
    at = dim % (x.data.dim() + 1)
    return wrapped(x.data.unsqueeze(at), (*x.domains[:at], None, *x.domains[at:]))


def _squeeze(x: Ragged, *dims: int) -> Any:
    """Without dims of one element; none of rows is taken to be such a one."""
    rank = x.data.dim()
    of_one = {dim for dim, size in enumerate(x.data.shape) if size == 1 and not x.domains[dim]}
    out = of_one if not dims else of_one & {dim % rank for dim in dims}
    if x.parts and out == {0}:
        return x.parts[0]
    return wrapped(x.data.squeeze(tuple(out)), tuple(d for dim, d in enumerate(x.domains) if dim not in out))


def _reshape(x: Ragged, *given: Any) -> Any:
    """Other sizes of the dims between those at both ends that stay: as they are, or all in one."""
    sizes = list(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else list(given)
    rank, head, tail = x.data.dim(), 0, 0
    if x.parts and len(x.parts) == 1 and isinstance(sizes[0], int) and sizes[0] == -1:
        return x.parts[0].reshape(sizes)

    def stays(dim: int, size: Any) -> bool:
        domain = x.domains[dim]
        return counted(size) is domain if domain else isinstance(size, int) and size == x.data.shape[dim]

    while head < min(rank, len(sizes)) and stays(head, sizes[head]):
        head += 1
    while head + tail < min(rank, len(sizes)) and stays(rank - 1 - tail, sizes[len(sizes) - 1 - tail]):
        tail += 1
    between, stop = sizes[head : len(sizes) - tail], rank - tail
    if not any(x.domains[head:stop]) and not any(isinstance(size, Tensor) for size in between):
        data = x.data.reshape(*x.data.shape[:head], *between, *x.data.shape[stop:])
        return wrapped(data, (*x.domains[:head], *(None,) * len(between), *x.domains[stop:]))
    if len(between) != 1 or head == stop or not (isinstance(between[0], int) and between[0] == -1):
        raise depends()
    data, domain = x.merged(head, stop)
    return wrapped(data, (*x.domains[:head], domain, *x.domains[stop:]))


def _flatten(x: Ragged, start_dim: int = 0, end_dim: int = -1) -> Any:
    first, last = start_dim % x.data.dim(), end_dim % x.data.dim()
    data, domain = x.merged(first, last + 1)
    return wrapped(data, (*x.domains[:first], domain, *x.domains[last + 1 :]))


def _diagonal(x: Ragged, *options: Any) -> Any:
    if options or x.data.dim() != 2:
        raise depends()
    same(*x.domains)
    return wrapped(x.data.diagonal(), x.domains[:1])


def _indexed(x: Ragged, index: tuple[Any, ...]) -> Any:
    """Parts of the dims; what is asked of rows, rows of this dim know."""
    used = sum(part is not None and part is not Ellipsis for part in index)
    missing = [slice(None)] * (x.data.dim() - used)
    at = next((number for number, part in enumerate(index) if part is Ellipsis), len(index))
    parts, found, dim = [*index[:at], *missing, *index[at + 1 :]], x, 0
    for part in parts:
        if part is None:
            found, dim = of(_unsqueeze(found, dim)), dim + 1
        elif isinstance(part, slice) and part == slice(None):
            dim += 1
        elif not found.domains[dim] and isinstance(part, (int, slice)):
            left = wrapped(found.data[(slice(None),) * dim + (part,)], _without(found, dim, isinstance(part, int)))
            found, dim = of(left), dim + isinstance(part, slice)
        elif found.domains[dim]:
            rows, others = found.front(dim)
            found = of(_back(rows[part], others, dim, False, found.data.dim()))
            dim += not isinstance(part, int)
        else:
            raise depends()
    return wrapped(found.data, found.domains)


def _without(x: Ragged, dim: int, left_out: bool) -> Domains:
    return (*x.domains[:dim], *x.domains[dim + 1 :]) if left_out else x.domains


_OF_DIMS: dict[str, Callable[..., Any]] = {
    "permute": _permute, "transpose": _transpose, "swapaxes": _transpose, "movedim": _movedim, "t": lambda x: x.T,
    "unsqueeze": _unsqueeze, "squeeze": _squeeze, "reshape": _reshape, "view": _reshape, "flatten": _flatten,
    "diagonal": _diagonal, "diag": _diagonal, "trace": lambda x: _diagonal(x).sum(),
    "unbind": lambda x, dim=0: tuple(_transpose(x, 0, dim) if dim else x),
}  # fmt: skip

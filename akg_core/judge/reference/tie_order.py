"""What of a reference's answers depends on which of several comes first, where PyTorch leaves that open.

Worker side, in the reference process. `topk`, `sort` and `argsort` that are not stable, `kthvalue`, `median` and `mode`
give any of the places that equal values have, and of what `x[i] = v`, `index_copy` and `scatter` write to the same
place anything stays there. The reference runs with the first of them, with the last, and with equal values in an order
that is drawn, for of three the one between the others stays there: what then differs by more than rounding is nobody's
to judge.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from akg_core.records import Graph

_ORDERS = frozenset({"topk", "sort", "argsort"})
_PICKS = frozenset({"kthvalue", "median", "nanmedian", "mode"})
_WRITES = frozenset({"index_put", "index_copy", "scatter"})
_OPEN = ("aten.index_put.default", "aten.scatter.src")
_AT_ONCE = 1 << 24  # elements that are looked through
_ROUNDINGS = 1e3  # of the largest element of a row, by which a sum in another order may differ
_NARROW_ROUNDINGS = 8.0  # the same in formats of 16 bits, which are summed in a wider one and rounded now and then


def leaves_open(graph: Graph) -> bool:
    """Whether an operator of the graph may give any of the places of equal values, or keep any of several writes."""
    names = {node.op.split(".")[1] for node in graph.nodes if not node.op.endswith(".stable")}
    return bool(names & (_ORDERS | _PICKS)) or writes_open(graph)


def writes_open(graph: Graph) -> bool:
    """Whether an operator of the graph may write to a place twice."""
    return any(node.op in _OPEN and True not in node.args[3:] for node in graph.nodes)


class TieOrder(TorchDispatchMode):
    """Has the first of equal values come first, and the first of several writes stay; with `last` the last of them;
    with `drawn` any of equal values."""

    def __init__(self, last: bool, drawn: bool = False) -> None:
        super().__init__()
        self._last, self._drawn = last, drawn

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        if name.strip("_") in _WRITES and func._overloadname not in ("value", "reduce", "value_reduce"):
            return self._write(func, name.strip("_"), args, kwargs or {})
        if name not in _ORDERS | _PICKS:
            return func(*args, **(kwargs or {}))
        given = {a.name: a.default_value for a in func._schema.arguments if a.has_default_value()}
        given |= {a.name: value for a, value in zip(func._schema.arguments, args, strict=False)} | (kwargs or {})
        x, dim = given["self"], given.get("dim", -1)
        returned = len(func._schema.returns)
        if not x.dim() or given.get("stable") or "out" in func._overloadname or (name in _PICKS and returned == 1):
            return func(*args, **(kwargs or {}))
        order = self._order(x.shape[dim], x.device)
        searched = x if order is None else _in_order(x, dim, order)
        if name == "topk":
            with _disable_current_modes():  # of which some move what every operator gives
                places = _first_of_equals(searched, given["k"], dim, given["largest"])
            values = searched.gather(dim, places)
        elif name in _ORDERS:
            values, places = searched.sort(dim=dim, descending=given["descending"], stable=True)
        else:
            values, places = func(*(searched if each is x else each for each in args), **(kwargs or {}))
        places = places if order is None else order[places]
        return places if name == "argsort" else (values, places)

    def _order(self, size: int, device: torch.device) -> torch.Tensor | None:
        """The places of so many, in the order in which they are searched; None as they are."""
        if self._drawn:
            return torch.randperm(size, generator=torch.Generator().manual_seed(size)).to(device)
        return torch.arange(size - 1, -1, -1, device=device) if self._last else None

    def _write(self, func: Any, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if not self._last:
            args = (args[0], *_turned_round(name, *args), *args[3 if name == "index_put" else 4 :])
        with one_after_another():
            return func(*args, **kwargs)


def _in_order(x: torch.Tensor, dim: int, order: torch.Tensor) -> torch.Tensor:
    """What a dim holds in another order; `index_select` takes one place after the other, on one core."""
    along = [1] * x.dim()
    along[dim] = -1
    return x.gather(dim, order.view(along).expand_as(x))


def _first_of_equals(x: torch.Tensor, k: int, dim: int, largest: bool) -> torch.Tensor:
    """The places that `topk` gives, of equal values the first in this order; only rows with NaNs, or for a large `k`,
    are sorted."""
    size = x.shape[dim]
    if 4 * k > size:
        return x.sort(dim=dim, descending=largest, stable=True).indices.narrow(dim, 0, k).contiguous()
    turned = x.movedim(dim, -1)
    rows = turned.reshape(-1, size)
    found, places = rows.topk(k + 1, largest=largest)
    last, places, odd = found[:, -2:-1], places[:, :-1].contiguous(), found.isnan().any(1)
    tied = (last.eq(found[:, -1:])[:, 0] & ~odd).nonzero()[:, 0]
    for at in tied.split(max(1, _AT_ONCE // size)):
        some, end = rows[at], last[at]
        before, equal = some > end if largest else some < end, some == end
        first = equal & (equal.cumsum(1, dtype=torch.int32) <= k - before.sum(1, keepdim=True))
        places[at] = (before | first).nonzero()[:, 1].view(-1, k)
    if bool(odd.any()):
        places[odd] = rows[odd].sort(descending=largest, stable=True).indices[:, :k]
    places = places.sort().values
    order = rows.gather(1, places).sort(descending=largest, stable=True).indices
    return places.gather(1, order).view(*turned.shape[:-1], k).movedim(-1, dim).contiguous()


def _turned_round(name: str, x: torch.Tensor, *args: Any) -> tuple[Any, ...]:
    """Places and what is written there, in the other order."""
    if name == "index_put":
        return _of_lists(x, *args[:2])
    dim, index, new = args[:3]
    if not index.dim():
        return dim, index, new
    if name == "scatter":
        return dim, index.flip(dim), new[tuple(map(slice, index.shape))].flip(dim)
    return dim, index.flip(0), new.flip(dim) if new.dim() else new


def _of_lists(x: torch.Tensor, lists: Sequence[torch.Tensor | None], new: torch.Tensor) -> tuple[Any, torch.Tensor]:
    given = [each for each in lists if each is not None]
    if any(each.dtype in (torch.bool, torch.uint8) for each in given):
        return lists, new
    shape = torch.broadcast_shapes(*(each.shape for each in given))
    dims = [dim for dim, each in enumerate(lists) if each is not None]
    first = dims[0] if dims == list(range(dims[0], dims[0] + len(dims))) else 0
    block = list(range(first, first + len(shape)))
    others = [size for dim, size in enumerate(x.shape) if dim not in dims]
    new = new.expand(*others[:first], *shape, *others[first:]).flip(block)
    return [None if each is None else each.expand(shape).flip(list(range(len(shape)))) for each in lists], new


@contextlib.contextmanager
def one_after_another() -> Iterator[None]:
    """Inside, what several write to the same place is what the last of them writes."""
    settings: Any = torch.utils.deterministic
    before = torch.get_deterministic_debug_mode(), settings.fill_uninitialized_memory
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.use_deterministic_algorithms(True, warn_only=True)
        settings.fill_uninitialized_memory = False
        try:
            yield
        finally:
            torch.set_deterministic_debug_mode(before[0])
            settings.fill_uninitialized_memory = before[1]


def open_to_ties(answers: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    """By leaf, where answers to the same inputs differ by more than rounding."""
    found: dict[str, torch.Tensor] = {}
    first = answers[0]
    for name, one in first.items():
        others = [answer.get(name) for answer in answers[1:]]
        if not isinstance(one, torch.Tensor) or not one.numel():
            continue
        differs = torch.zeros_like(one, dtype=torch.bool)
        for other in others:
            if isinstance(other, torch.Tensor) and other.shape == one.shape:
                differs |= _unlike(one, other)
        if bool(differs.any()):
            found[name] = differs
    return found


def _unlike(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Where two tensors differ, floats by more than sums of a row in another order do."""
    if not one.is_floating_point():
        return one != other
    size = one.abs().nan_to_num(0.0, 0.0, 0.0)
    size = size.amax(dim=-1, keepdim=True) if size.dim() else size
    gap = (one.double() - other.double()).abs()
    roundings = _NARROW_ROUNDINGS if one.dtype.itemsize < 4 else _ROUNDINGS
    alike = (one == other) | (one.isnan() & other.isnan()) | (gap <= roundings * torch.finfo(one.dtype).eps * size)
    return ~alike


def runs(answer: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
    """What a reference gives in several orders of equal values."""
    found = []
    for last, drawn in ((False, False), (True, False), (True, True)):
        with TieOrder(last, drawn):
            found.append(answer())
    return found

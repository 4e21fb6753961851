"""Indices into values, of an extreme or of an order: where several values are as good, any of their places is right.

Worker side, in the reference process. The operators that search are seen as the reference runs, with what they search;
where that is computed, values that rounding cannot tell apart are as good as each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from akg_core.judge.compare import accuracy

_EXTREMES = {"argmax": "the greatest", "max": "the greatest", "argmin": "the least", "min": "the least"}
_DISTINCT = frozenset({"topk", "sort", "argsort"})
_RUNNING = frozenset({"cummax", "cummin"})
_POOLS = ("max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool3d")
_SEARCHES = frozenset({*_EXTREMES, *_DISTINCT, *_RUNNING, *_POOLS, "kthvalue", "mode", "median", "nanmedian"})


@dataclass(frozen=True)
class Tie:
    """What indices of this `shape` point into: `values` along `dim`, the last where that is a pool's plane.

    `exact`: the values in float64, where they are computed; `allowed`: indices at which each place may point (None:
    all); `distinct`: none of them twice; `due`: what is searched, in words; `search`: which of the reference's it is.
    """

    values: torch.Tensor
    dim: int
    shape: tuple[int, ...]
    exact: torch.Tensor | None = None
    allowed: Callable[[torch.Tensor], torch.Tensor] | None = None
    distinct: bool = False
    due: str = "what is due"
    search: int = 0

    def rows(self, open_values: torch.Tensor) -> torch.Tensor:
        """Where the indices are that a search of values gives of which some are open."""
        return open_values.any(self.dim, keepdim=True).expand(self.shape)


@dataclass(frozen=True)
class _Search:
    name: str
    asked: dict[str, Any]
    indices: torch.Tensor
    version: int

    @property
    def values(self) -> torch.Tensor:
        found: torch.Tensor = self.asked["self"]
        return found


class _Searches(TorchDispatchMode):
    """Notes every operator that gives indices, with its arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[_Search] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.partition("::")[2]
        indices = result if isinstance(result, torch.Tensor) else result[-1] if isinstance(result, tuple) else None
        if name in _SEARCHES and isinstance(indices, torch.Tensor) and indices.dtype == torch.int64:
            parts = func._schema.arguments
            asked = {part.name: part.default_value for part in parts if part.has_default_value()}
            asked |= dict(zip((part.name for part in parts), args, strict=False)) | (kwargs or {})
            self.found.append(_Search(name, asked, indices, asked["self"]._version))
        return result


def ties(result: dict[str, Any], run: Callable[[], Any], run_exactly: Callable[[], Any] | None) -> dict[str, Tie]:
    """For outputs that are indices, what they point into; `run` runs the reference, `run_exactly` in float64."""
    indices = {path: leaf for path, leaf in result.items() if _is_indices(leaf)}
    if not indices:
        return {}
    searches = _searches(run)
    pairs = {path: at for path, leaf in indices.items() if (at := _made_by(leaf, searches)) is not None}
    exactly: Sequence[_Search] = ()
    if run_exactly is not None and any(searches[at].values.is_floating_point() for at in pairs.values()):
        exactly = _searches(run_exactly)
    alike = [one.name for one in searches] == [one.name for one in exactly]
    found = {path: _tie(searches[at], exactly[at] if alike else None) for path, at in pairs.items()}
    return {path: replace(tie, search=pairs[path]) for path, tie in found.items() if tie is not None}


def searched(run: Callable[[], Any], known: Mapping[str, Tie]) -> dict[str, torch.Tensor]:
    """The values that outputs of indices point into in another run, by path, where these can be told."""
    searches, found = _searches(run), dict[str, torch.Tensor]()
    for path, tie in known.items():
        search = searches[tie.search] if tie.search < len(searches) else None
        if search and search.values._version == search.version and search.values.numel() == tie.values.numel():
            found[path] = search.values.reshape(tie.values.shape)
    return found


def tied(mine: torch.Tensor, due: torch.Tensor, tie: Tie, reduced: float) -> torch.Tensor:
    """Where two tensors of indices point at values that are the same, up to what rounding moves them."""
    one, other = mine.reshape(tie.shape).long(), due.reshape(tie.shape).long()
    size = tie.values.shape[tie.dim]
    inside = (one >= 0) & (one < size)
    one = one.clamp(0, size - 1)
    if tie.allowed is not None:
        inside &= tie.allowed(one)
    a, b = _at(tie.values, tie.dim, one), _at(tie.values, tie.dim, other)
    same = (a == b) | ((a != a) & (b != b))
    if tie.exact is not None:
        r, s = _at(tie.exact, tie.dim, one), _at(tie.exact, tie.dim, other)
        kind = torch.finfo(tie.values.dtype)
        ulps = accuracy.slack(reduced, tie.values.dtype).ulps * kind.eps
        allowed = 2 * ((a.double() - r).abs() + (b.double() - s).abs()) + ulps * (r.abs() + s.abs()) / 2
        same |= (r - s).abs() <= allowed + kind.tiny  # which is 0 where hardware flushes what is smaller
    return (inside & same).reshape(mine.shape)


def repeated(mine: torch.Tensor, tie: Tie) -> torch.Tensor:
    """Where an index is given that stands before along the dimension, and must not."""
    if not tie.distinct or mine.numel() == 0 or not tie.shape:
        return torch.zeros_like(mine, dtype=torch.bool)
    kept, order = mine.reshape(tie.shape).sort(dim=tie.dim, stable=True)
    twice = torch.zeros_like(kept, dtype=torch.bool)
    size = kept.shape[tie.dim]
    after, before = (kept.narrow(tie.dim, start, size - 1) for start in (1, 0))
    twice.narrow(tie.dim, 1, size - 1).copy_(after == before)
    return torch.zeros_like(twice).scatter_(tie.dim, order, twice).reshape(mine.shape)


def told(mine: torch.Tensor, due: torch.Tensor, tie: Tie, place: int) -> str:
    """What a wrong index points at, for one place of the flat tensors."""
    index = int(mine.reshape(-1)[place])
    size = tie.values.shape[tie.dim]
    if not 0 <= index < size:
        return f"there are indices from 0 to {size - 1}"
    if bool(repeated(mine, tie).reshape(-1)[place]):
        return f"index {index} is given twice"
    one, other = (each.reshape(tie.shape).long().clamp(0, size - 1) for each in (mine, due))
    if tie.allowed is not None and not bool(tie.allowed(one).reshape(-1)[place]):
        return f"index {index} is not among those that are searched there"
    held, wanted = (float(_at(tie.values, tie.dim, each).reshape(-1)[place]) for each in (one, other))
    return f"index {index} holds {held:.6g} where {tie.due} is {wanted:.6g}"


def _is_indices(leaf: Any) -> bool:
    kind = leaf.dtype if isinstance(leaf, torch.Tensor) else torch.bool
    return kind in (torch.int64, torch.int32, torch.int16) and bool(leaf.numel())


def _searches(run: Callable[[], Any]) -> list[_Search]:
    with _Searches() as seen:
        run()
    return seen.found


def _made_by(leaf: torch.Tensor, searches: Sequence[_Search]) -> int | None:
    """Which of the searches gave the numbers of an output, the last of them."""
    for at, search in reversed(list(enumerate(searches))):
        alike = search.indices.numel() == leaf.numel() and search.values.numel() > 0
        if alike and torch.equal(search.indices.reshape(-1), leaf.reshape(-1).long()):
            return at
    return None


def _tie(search: _Search, exactly: _Search | None) -> Tie | None:
    values: Any = search.values
    exact: Any = exactly.values if exactly else None
    if values._version != search.version:  # they have been written to since
        return None
    if exact is None or exact.shape != values.shape or torch.equal(exact.double(), values.double()):
        exact = None
    if exact is None and search.asked.get("stable"):
        return None  # any other place is wrong
    shape, dim = tuple(search.indices.shape), search.asked.get("dim", -1)
    if search.name in _POOLS:
        rank = 3 if search.name.endswith(("3d", "3d_with_indices")) else 2
        spatial, lead = values.shape[-rank:], values.shape[:-rank]
        window = _window(search, spatial, shape[-rank:])
        flat = (*lead, math.prod(shape[-rank:]))
        values, exact = (None if v is None else v.reshape(*lead, -1) for v in (values, exact))
        return Tie(values, -1, flat, exact, window)
    if dim is None or not values.dim():
        values, exact = (None if v is None else v.reshape(-1) for v in (values, exact))
        return Tie(values, 0, (search.indices.numel(),), exact, due=_EXTREMES.get(search.name, Tie.due))
    dim %= values.dim()
    if len(shape) < values.dim():
        shape = (*shape[:dim], 1, *shape[dim:])
    running = _up_to(dim) if search.name in _RUNNING else None
    due = _EXTREMES.get(search.name, Tie.due)
    return Tie(values, dim, shape, exact, running, search.name in _DISTINCT, due)


def _at(values: torch.Tensor, dim: int, indices: torch.Tensor) -> torch.Tensor:
    return values.gather(dim, indices)


def _up_to(dim: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Of a running extreme: no place points behind itself."""

    def allowed(indices: torch.Tensor) -> torch.Tensor:
        return indices <= _along(indices.shape, dim, indices.device)

    return allowed


def _window(search: _Search, spatial: Sequence[int], places: Sequence[int]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Of a pool: each place points into its own window of the plane."""
    asked, rank = search.asked, len(spatial)

    def listed(name: str) -> list[int]:
        given = asked.get(name) or asked["kernel_size"]
        return list(given) * (rank if len(given) == 1 else 1)

    def allowed(indices: torch.Tensor) -> torch.Tensor:
        inside, rest = torch.ones_like(indices, dtype=torch.bool), indices.reshape(*indices.shape[:-1], *places)
        inside = inside.reshape(rest.shape)
        for axis in range(rank - 1, -1, -1):
            at, rest = rest.remainder(spatial[axis]), rest.div(spatial[axis], rounding_mode="floor")
            place = _along(at.shape, at.dim() - rank + axis, at.device)
            if "kernel_size" not in asked:
                first = (place * spatial[axis]).div(places[axis], rounding_mode="floor")
                last = ((place + 1) * spatial[axis] + places[axis] - 1).div(places[axis], rounding_mode="floor")
                inside &= (at >= first) & (at < last)
            else:
                kernel, stride, dilation = (listed(name)[axis] for name in ("kernel_size", "stride", "dilation"))
                step = at - (place * stride - listed("padding")[axis])
                inside &= (step >= 0) & (step <= (kernel - 1) * dilation) & (step.remainder(dilation) == 0)
        return inside.reshape(indices.shape)

    return allowed


def _along(shape: Iterable[int], dim: int, device: torch.device) -> torch.Tensor:
    """The position along a dimension, in a shape that broadcasts."""
    shape = list(shape)
    return torch.arange(shape[dim], device=device).reshape([-1 if axis == dim else 1 for axis in range(len(shape))])

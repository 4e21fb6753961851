"""Values that kernels get wrong, kind by kind: for a whole tensor, or dealt to its rows so that one draw holds many.

Worker side. A row is what lies at one place of some leading dimensions, all that a reference combines with each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

Shape = Sequence[int]
Pattern = Callable[[Shape, torch.dtype, torch.Generator], torch.Tensor]

EXACT = "exact"
_MEAN, _STEPS = 1e4, 0.05  # of rows far from zero, and how far at most, in steps of the dtype per deviation
_OUTWEIGH = 100
_HEADROOM = 64  # times that a sum of what is huge stays below the largest number
_SPARSE = 16  # of so many rows, one holds what is not finite


@dataclass(frozen=True)
class Deal:
    """Which `kinds` go to which rows: those of the first `depth` dimensions of the arguments at `leaves`.

    `sparse`: most rows are drawn plainly. Without rows (`depth` 0) a tensor is all of the first kind. `borders`:
    numbers of which some stand in what is `exact`, as the dtype holds them, and the `tables` of the module's state
    that hold more of them. Rows that are `exact` are the same in all arguments, by the `order`, so that equal numbers
    meet there.
    """

    kinds: tuple[str, ...]
    depth: int = 0
    leaves: tuple[int, ...] = ()
    sparse: bool = False
    borders: tuple[float, ...] = ()
    tables: tuple[str, ...] = ()
    order: int = 0


def normal(shape: Shape, draw: torch.Generator) -> torch.Tensor:
    """Standard normal numbers in f32."""
    return torch.randn(tuple(shape), generator=draw, device=draw.device)


def dealt(shape: Shape, dtype: torch.dtype, deal: Deal, draw: torch.Generator) -> torch.Tensor:
    """A tensor of this shape whose rows are of the kinds of a deal, each at rows picked at random."""
    if not 0 < deal.depth <= len(shape):
        kind = deal.kinds[0] if not deal.depth else "signed"
        new = _of_kind(kind, shape, dtype, deal, draw)
        return _with_faint(new, draw) if kind == "large" else new
    new = normal(shape, draw).to(dtype)
    rows = new.view(math.prod(shape[: deal.depth]), *(shape[deal.depth :] or (1,)))
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(deal.order)).to(draw.device)
    if deal.sparse:
        order = order[: max(len(deal.kinds), len(rows) // _SPARSE)]
    for number, kind in enumerate(_turned(deal.kinds, draw)):
        places = order[number :: len(deal.kinds)]
        if len(places):
            rows[places] = _of_kind(kind, (len(places), *rows.shape[1:]), dtype, deal, draw).to(dtype)
    return new


def _with_faint(new: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """With magnitudes of 1e-4 at one place of each dimension: what a norm over the others adds to a variance matters
    there."""
    for dim, size in enumerate(new.shape):
        if size > 2:
            new.select(dim, int(torch.randint(size, (), generator=draw, device=draw.device))).mul_(1e-4 / _OUTWEIGH)
    return new


def _turned(kinds: tuple[str, ...], draw: torch.Generator) -> list[str]:
    """The kinds in another order, but for what is exact."""
    others = [kind for kind in kinds if kind != EXACT]
    by = int(torch.randint(max(1, len(others)), (), generator=draw, device=draw.device))
    others = others[by:] + others[:by]
    return [kind if kind == EXACT else others.pop() for kind in kinds]


def _of_kind(kind: str, shape: Shape, dtype: torch.dtype, deal: Deal, draw: torch.Generator) -> torch.Tensor:
    """A tensor of a kind; in an `exact` one every second number that is not zero is a border."""
    new = PATTERNS[kind](shape, dtype, draw)
    held = torch.tensor(deal.borders, dtype=torch.float64).to(dtype).to(new)
    held = held[held.isfinite()]
    if kind != EXACT or not len(held):
        return new
    picked = held[torch.randint(len(held), new.shape, generator=draw, device=draw.device)]
    return torch.where((new != 0) & (normal(new.shape, draw) > 0), picked, new)


def _constant_rows(shape: Shape, dtype: torch.dtype, draw: torch.Generator) -> torch.Tensor:
    """Quarters between -2 and 2 in every other row: their sums are exact in any order."""
    new = normal(shape, draw)
    if not shape:
        return new
    rows = new.view(-1, shape[-1])
    rows[::2] = torch.randint(-8, 9, (len(rows[::2]), 1), generator=draw, device=draw.device) / 4
    return new


def _border(shape: Shape, dtype: torch.dtype, draw: torch.Generator) -> torch.Tensor:
    """Numbers at either end of a dimension outweigh the others: who leaves out the end of a long loop misses them."""
    new = normal(shape, draw)
    ends = torch.zeros(tuple(shape), dtype=torch.bool, device=draw.device)
    for dim, size in enumerate(shape):
        for place in {0, size - 1} if size > 2 else ():
            ends.select(dim, place).fill_(True)
    return torch.where(ends, new * _OUTWEIGH, new)


def _exact(shape: Shape, dtype: torch.dtype, draw: torch.Generator) -> torch.Tensor:
    """Halves between -2 and 2, so that numbers are equal, whole, or zero; every second row is zero throughout."""
    new = torch.randint(-4, 5, tuple(shape), generator=draw, device=draw.device) / 2
    if len(shape) > 1:
        new[1::2] = 0
    return new


def _cancelling(shape: Shape, dtype: torch.dtype, draw: torch.Generator) -> torch.Tensor:
    new = normal(shape, draw)
    if shape and shape[-1] > 1:
        half = shape[-1] // 2
        new[..., half : 2 * half].mul_(0.01).sub_(new[..., :half])
    return new


def _offset(shape: Shape, dtype: torch.dtype, draw: torch.Generator) -> torch.Tensor:
    """A mean far above the deviation, of which the dtype still holds the digits: squares of it cancel."""
    return normal(shape, draw).add_(min(_MEAN, _STEPS / torch.finfo(dtype).eps))


def _huge(shape: Shape, dtype: torch.dtype, draw: torch.Generator) -> torch.Tensor:
    """So large that a row's sum just stays finite, and no square does."""
    most = torch.finfo(dtype).max / _HEADROOM / max(1, math.prod(shape[1:]))
    return normal(shape, draw).to(dtype).mul_(most)


def _tiny(shape: Shape, dtype: torch.dtype, draw: torch.Generator) -> torch.Tensor:
    """Below the normal numbers."""
    return normal(shape, draw).double().mul_(torch.finfo(dtype).smallest_normal / 8).to(dtype)


def _scaled(by: float) -> Pattern:
    return lambda shape, dtype, draw: normal(shape, draw).mul_(by)


def _with(*values: float) -> Pattern:
    """Plain rows in each of which these values stand once, at random places."""

    def pattern(shape: Shape, dtype: torch.dtype, draw: torch.Generator) -> torch.Tensor:
        new = normal(shape, draw)
        rows = new.view(shape[0], -1) if len(shape) > 1 else new.view(1, -1)
        for value in values:
            places = torch.randint(0, rows.shape[1], (len(rows),), generator=draw, device=draw.device)
            rows[torch.arange(len(rows), device=draw.device), places] = value
        return new

    return pattern


def _one_nan(shape: Shape, dtype: torch.dtype, draw: torch.Generator) -> torch.Tensor:
    """A single one in the whole tensor."""
    new = normal(shape, draw)
    if new.numel():
        new.view(-1)[int(torch.randint(0, new.numel(), (), generator=draw, device=draw.device))] = math.nan
    return new


def _all(value: float) -> Pattern:
    return lambda shape, dtype, draw: torch.full(tuple(shape), value, device=draw.device)


PATTERNS: dict[str, Pattern] = {
    "signed": lambda shape, dtype, draw: normal(shape, draw),
    "large": _scaled(100),
    "border": _border,
    "small": _scaled(1e-4),
    "constant_rows": _constant_rows,
    "exact": _exact,
    "cancelling": _cancelling,
    "offset": _offset,
    "huge": _huge,
    "tiny": _tiny,
    "one_nan": _one_nan,
    "nan": _with(math.nan),
    "inf": _with(math.inf),
    "minus_inf": _with(-math.inf),
    "both_inf": _with(math.inf, -math.inf),
    "all_minus_inf": _all(-math.inf),
    "all_nan": _all(math.nan),
}
"""By kind. `large`: magnitudes of 100, beyond where exp overflows; `small`: of 1e-4, where epsilons matter;
`constant_rows`: every other row holds one value; `exact`: halves, equal ones and zeros; `cancelling`: each row holds v
and nearly -v; `offset`: a mean of 1e4; `huge`: near the dtype's largest numbers; `tiny`: below its normal ones. The
others hold what is not finite."""

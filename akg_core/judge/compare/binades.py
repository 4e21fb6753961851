"""Eager PyTorch's worst error at elements of similar magnitude: step 2 of the accuracy policy.

Elements are sorted by the binade of the right answer. A binade of few elements is widened to larger ones, as far as
these are similar: of a softmax, what is right for its largest elements says nothing of its tail.
"""

from __future__ import annotations

import functools

import torch

from akg_core.records import HOST

CHUNK = 1 << 15  # small enough for the caches, and for torch not to wake its threads
_DEVICE_CHUNK = 1 << 25  # on another device: large enough that launches do not count
_POOLED = 64  # elements that tell what is usual
_SAMPLE = 1 << 20  # elements that are looked at first, or a chunk
_LANES = 1024  # of a table that a device updates in many places at once
_BINADES, _MANTISSA_BITS, _BIAS = 2048, 52, 1023  # of float64; denormal numbers share a binade with zero
_LAST = _BINADES - 1
_REACH = 12  # binades, to which one of few elements is widened at most
_MARGIN = 8  # binades that are looked at beyond those that are asked for
_FEW = 0.2  # of all elements: of more, looking for them saves nothing


def chunk_of(tensor: torch.Tensor) -> int:
    """How many elements of a tensor to work on at a time."""
    return CHUNK if tensor.device.type == HOST else _DEVICE_CHUNK


class WorstErrors:
    """Eager's worst error for each binade of one answer: flat `eager`, and `exact` in float64.

    Looked for only as far as it is asked for: few answers need it at all, and of these most for few elements.
    """

    def __init__(self, eager: torch.Tensor, exact: torch.Tensor) -> None:
        self._eager, self._exact, self._seen = eager, exact, max(_SAMPLE, chunk_of(eager))
        self._pooled, self._top = torch.empty(0), -1  # the table, and the last binade that is right in it

    def of_sample(self, values: torch.Tensor) -> torch.Tensor:
        """For each of some right answers, what is no more than the worst error at similar ones, and soon found."""
        return self.of_all(values) if self._is_small else self._sample[0][_binade(values)]

    def of_all(self, values: torch.Tensor) -> torch.Tensor:
        """For each of some right answers, the worst error at similar ones."""
        binades = _binade(values)
        asked = int(binades.max())
        if asked > self._top and self._top < 0 and not self._is_small:
            counts, far = self._sample[1], asked + _MARGIN
            if far < _LAST and counts[: far + 1].sum() < _FEW * counts.sum():
                self._pooled, self._top = _widened(*_table(self._eager, self._exact, far), far)
        if asked > self._top:  # or too few elements are that small
            whole = self._sample if self._is_small else _table(self._eager, self._exact)
            self._pooled, self._top = _widened(*whole, _LAST)
        return self._pooled[binades]

    @property
    def _is_small(self) -> bool:
        """Whether the sample is all that there is."""
        return self._seen >= len(self._eager)

    @functools.cached_property
    def _sample(self) -> tuple[torch.Tensor, torch.Tensor]:
        return _table(self._eager[: self._seen], self._exact[: self._seen])


def _table(eager: torch.Tensor, exact: torch.Tensor, top: int = _LAST) -> tuple[torch.Tensor, torch.Tensor]:
    """For each binade up to `top`, eager's worst error in it, and the number of its elements."""
    device, chunk = eager.device, chunk_of(eager)
    lanes = torch.arange(1 if device.type == HOST else _LANES, device=device)
    worst = torch.zeros(_BINADES * len(lanes), dtype=torch.float64, device=device)
    count = torch.zeros(_BINADES, dtype=torch.int64, device=device)
    for start in range(0, eager.numel(), chunk):
        e, r = eager[start : start + chunk], exact[start : start + chunk]
        if top < _LAST:
            small = (r.abs() < 2.0 ** (top + 1 - _BIAS)).nonzero().flatten()
            e, r = e[small], r[small]
        binade, error = _binade(r), torch.sub(e, r).abs_()
        usable = torch.isfinite(error)
        if not bool(usable.all()):
            binade, error = binade[usable], error[usable]
        count += torch.bincount(binade, minlength=_BINADES)
        if len(lanes) > 1:  # most elements are of few binades, and a device that updates one place at a time waits
            binade = binade.mul_(len(lanes)).add_(lanes.repeat(-(-len(binade) // len(lanes)))[: len(binade)])
        worst.scatter_reduce_(0, binade, error, "amax")
    return worst.view(_BINADES, len(lanes)).amax(1), count


def _widened(worst: torch.Tensor, count: torch.Tensor, top: int) -> tuple[torch.Tensor, int]:
    """The table with binades of few elements widened, to smaller ones where no larger are left; and its last right one.

    Where the table ends before the binades do, those that would be widened beyond it are not right.
    """
    pooled, worsts, counts = worst.cpu(), worst.tolist(), count.tolist()
    used = [index for index in range(_BINADES) if counts[index]]
    is_whole = top == _LAST
    for position, index in enumerate(used):
        seen, most = 0, 0.0
        larger = [other for other in used[position : position + _REACH + 1] if other <= index + _REACH]
        for other in (*larger, *(reversed(used[:position]) if is_whole else ())):
            if seen >= _POOLED:
                break
            seen, most = seen + counts[other], max(most, worsts[other])
        if seen < _POOLED and top < index + _REACH and not is_whole:
            top = index - 1
            break
        pooled[index] = most
    return pooled.to(worst.device), top


def _binade(values: torch.Tensor) -> torch.Tensor:
    """The exponents of float64 numbers, as their bits have them."""
    return (values.view(torch.int64) >> _MANTISSA_BITS).bitwise_and_(_LAST)

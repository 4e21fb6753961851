"""How exact an answer has to be, element by element. The policy, and why it is what it is.

Known for each element: the candidate's value c, eager PyTorch's e in the task's dtype, and r from float64. Wanted:
honest kernels, which sum in another order, fuse, or use another exponential, never fail; an element that is wrong by
more than rounding always does. `ulp` is the spacing of the output's dtype at one.

1.  Allowed at first is  2 |e - r| + F ulp |r| + tiny.  F is 4, for a short chain of functions of 1-2 ulp, plus half of
    c = min(sqrt(n), 64), n being the longest reduction: errors of a sum in n steps grow like sqrt(n) (Higham, Accuracy
    and Stability of Numerical Algorithms, 4.2 and 4.5). Chains up to 4096 long are usual; longer sums are expected to
    be split, as eager's are. In 16 bits F is 1: what is computed in 32 bits is rounded once. `tiny` is the smallest
    normal number, for hardware that flushes what is smaller. Most kernels need no more.
2.  Where c is further off, eager may have been lucky at that element: rounding errors scatter, some are zero. So twice
    the worst error that eager makes at elements of similar magnitude (the same binade, widened to larger
    ones until 64 elements are in it) is allowed too. Not the worst of all: a small output beside large ones, such
    as the tail of a softmax, must still be right for its own size.
3.  Where that is not enough, the element may be worse conditioned than others of its magnitude: a cancellation that few
    share. The reference is then run in float64 with rounding noise (`precise.in_double`) on every input, parameter and
    intermediate value, and S times the scatter that this causes is allowed. S is 4, for the luck of a few runs, plus
    2.5 c: noise on the terms of a sum moves it by sqrt(n) units, rounding its partial sums by 0.4 n, now and then by 4
    times that. Where few elements are outside still, more runs tell whether only their scatter was small by chance.
    An element outside is wrong.
4.  Besides, ||c - r|| <= 2 ||e - r|| + F/2 ulp ||r||, again with the scatter's norm when it fails: a kernel of
    narrower arithmetic that stays within each element's bound is still worse overall.

NaN and infinities must stand where eager has them; where eager overflows but float64 does not, the right
number is accepted too. Integers and booleans must equal eager's, or where float64 decides differently, its.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from akg_core.records import HOST

CHUNK = 1 << 15  # small enough for the caches, and for torch not to wake its threads
_DEVICE_CHUNK = 1 << 25  # on another device: large enough that launches do not count
_POOLED = 64
_LANES = 1024  # of a table that a device updates in many places at once
_KEPT = 1 << 26  # places of wrong elements; of more than so many only the number is known
_BINADES, _MANTISSA_BITS = 2048, 52  # of float64; denormal numbers share a binade with zero


@dataclass(frozen=True)
class Errors:
    """The errors of one floating output. `where` is the worst element's index; its error and what is allowed there."""

    outside: torch.Tensor  # flat indices of elements beyond what is allowed so far, the first where there are very many
    count: int  # of all of them
    worst: float
    allowed: float
    where: int
    norm: float  # ||c - r||
    eager_norm: float
    size: float  # ||r||
    eager_worst: float
    nonfinite: int  # the first element where only one of both is finite, or -1
    close: bool  # within KernelBench's tolerance of eager


@dataclass(frozen=True)
class Slack:
    """F and S of the policy: the ulps that are allowed anyway, and the multiple of the scatter of rounding noise."""

    ulps: float
    scatter: float


def slack(longest_reduction: float, dtype: torch.dtype) -> Slack:
    """What is allowed beyond twice eager's error to an output of `dtype`."""
    if torch.finfo(dtype).bits <= 16:
        return Slack(ulps=1.0, scatter=4.0)
    chain = min(math.sqrt(max(0.0, longest_reduction - 1)), 64.0)
    return Slack(ulps=4 + chain / 2, scatter=4 + 2.5 * chain)


def roundoff(dtype: torch.dtype) -> float:
    """Half the spacing of numbers at one."""
    return torch.finfo(dtype).eps / 2


def kernelbench_tolerance(dtype: torch.dtype) -> float:
    """KernelBench's own absolute and relative tolerance for a dtype."""
    return 1e-2 if dtype in (torch.float16, torch.bfloat16) else 1e-4


def errors(
    candidate: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor, slack: Slack, noise: torch.Tensor | None = None
) -> Errors:
    """Compare flat tensors of one dtype (`exact` and `noise` in float64) by steps 1 and 2, with `noise` also 3.

    Works through them in chunks: every element is looked at, however many there are.
    """
    kind = torch.finfo(eager.dtype)
    relative = slack.ulps * kind.eps
    tolerance = kernelbench_tolerance(eager.dtype)
    outside: list[torch.Tensor] = []
    count, pooled = 0, None
    norm, eager_norm, size = 0.0, 0.0, 0.0
    worst, excess, where, allowed_there, eager_worst, nonfinite, close = 0.0, -1.0, 0, 0.0, 0.0, -1, True
    chunk = _chunk(eager)
    for start in range(0, eager.numel(), chunk):
        piece = slice(start, start + chunk)
        c, e, r = candidate[piece].double(), eager[piece].double(), exact[piece]
        wrong, eager_wrong = (c - r).abs_(), (e - r).abs_()
        if not math.isfinite(float(wrong.sum() + eager_wrong.sum())):
            misplaced, c, e, r = _nonfinite(c, e, r, relative)
            nonfinite = start + misplaced if nonfinite < 0 <= misplaced else nonfinite
            wrong, eager_wrong = (c - r).abs_(), (e - r).abs_()
        allowed = r.abs().mul_(relative).add_(eager_wrong, alpha=2.0).add_(kind.tiny)
        if noise is not None:
            allowed.add_(noise[piece], alpha=slack.scatter)
        most, eager_most = float(wrong.max()), float(eager_wrong.max())
        if most + eager_most > tolerance:  # else they are close whatever they are
            close = close and bool(((c - e).abs() <= tolerance + tolerance * e.abs()).all())
        eager_worst = max(eager_worst, eager_most)
        norm, eager_norm = norm + float(wrong.dot(wrong)), eager_norm + float(eager_wrong.dot(eager_wrong))
        size += float(r.dot(r))
        beyond, places = wrong / allowed, None
        if float(beyond.max()) > 1:
            places = (beyond > 1).nonzero().flatten()
            pooled = _pooled(eager, exact) if pooled is None else pooled
            wrong, allowed = wrong[places], allowed[places].add_(pooled[_binade(r[places])], alpha=2.0)
            beyond = wrong / allowed
            if count < _KEPT:
                outside.append(places[beyond > 1] + start)
            count += int((beyond > 1).sum())
        at = int(beyond.argmax())
        if float(beyond[at]) > excess:
            excess, where = float(beyond[at]), start + (at if places is None else int(places[at]))
            worst, allowed_there = float(wrong[at]), float(allowed[at])
    kept = torch.cat(outside) if outside else torch.empty(0, dtype=torch.int64, device=eager.device)
    norms = (math.sqrt(norm), math.sqrt(eager_norm), math.sqrt(size))
    return Errors(kept, count, worst, allowed_there, where, *norms, eager_worst, nonfinite, close and nonfinite < 0)


def _nonfinite(
    c: torch.Tensor, e: torch.Tensor, r: torch.Tensor, relative: float
) -> tuple[int, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The first place where a NaN or infinity is not as it must be (or -1), and the tensors with zeros where any is."""
    finite = torch.isfinite(c) & torch.isfinite(e) & torch.isfinite(r)
    alike = (c == e) | (torch.isnan(c) & torch.isnan(e))
    rescued = torch.isfinite(c + r) & ~torch.isfinite(e) & ((c - r).abs() <= 2 * relative * r.abs())
    misplaced = (~(finite | alike | rescued)).nonzero()
    first = int(misplaced[0]) if misplaced.numel() else -1
    return first, torch.where(finite, c, 0.0), torch.where(finite, e, 0.0), torch.where(finite, r, 0.0)


def ratio(found: Errors, dtype: torch.dtype) -> float | None:
    """How many times as far from float64 as eager, or as the right answer rounded once when that is further.

    None where even those are exact.
    """
    usual = max(found.eager_norm, roundoff(dtype) * found.size)
    return found.norm / usual if usual else None


def norm_allowed(found: Errors, slack: Slack, dtype: torch.dtype, noise: torch.Tensor | None = None) -> float:
    """The bound of step 4 on ||c - r||."""
    scatter = slack.scatter * float(noise.norm()) if noise is not None else 0.0
    rounding = slack.ulps / 2 * torch.finfo(dtype).eps * found.size
    return 2 * found.eager_norm + rounding + scatter + torch.finfo(dtype).tiny


def _pooled(eager: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """For each binade, eager's worst error in it and in as many larger ones as give enough elements."""
    device, chunk = eager.device, _chunk(eager)
    lanes = torch.arange(1 if device.type == HOST else _LANES, device=device)
    worst = torch.zeros(_BINADES * len(lanes), dtype=torch.float64, device=device)
    count = torch.zeros(_BINADES, dtype=torch.int64, device=device)
    for start in range(0, eager.numel(), chunk):
        e, r = eager[start : start + chunk].double(), exact[start : start + chunk]
        binade, error = _binade(r), (e - r).abs_()
        usable = torch.isfinite(error)
        if not bool(usable.all()):
            binade, error = binade[usable], error[usable]
        count += torch.bincount(binade, minlength=_BINADES)
        if len(lanes) > 1:  # most elements are of few binades, and a device that updates one place at a time waits
            binade = binade.mul_(len(lanes)).add_(lanes.repeat(-(-len(binade) // len(lanes)))[: len(binade)])
        worst.scatter_reduce_(0, binade, error, "amax")
    worst = worst.view(_BINADES, len(lanes)).amax(1)
    pooled, worsts, counts = worst.cpu(), worst.tolist(), count.tolist()
    used = [index for index in range(_BINADES) if counts[index]]
    for position, index in enumerate(used):
        seen, most = 0, 0.0
        for other in (*used[position:], *reversed(used[:position])):
            if seen >= _POOLED:
                break
            seen, most = seen + counts[other], max(most, worsts[other])
        pooled[index] = most
    return pooled.to(device)


def _chunk(tensor: torch.Tensor) -> int:
    """How many elements to compare at a time."""
    return CHUNK if tensor.device.type == "cpu" else _DEVICE_CHUNK


def _binade(values: torch.Tensor) -> torch.Tensor:
    """The exponents of float64 numbers, as their bits have them."""
    return (values.view(torch.int64) >> _MANTISSA_BITS).bitwise_and_(_BINADES - 1)

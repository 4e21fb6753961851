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
3.  Where that is not enough, the element may be worse conditioned than others of its magnitude: a cancellation that
    few share. The reference is then run in float64 with rounding noise (`precise.in_double`) on every input,
    parameter and intermediate value, in every second run with zeros for what is below the normal numbers, and 4
    times the scatter that this causes is allowed, for the luck of a few runs. The noise is of 1 + 5 c / 8
    roundoffs: noise on the terms of a sum moves it by sqrt(n) units, rounding its partial sums by 0.4 n, now and
    then by 4 times that. (Less noise and a larger factor would do for sums, but not for what comes after: where
    relu gives 0, an element scatters only if noise lifts it over 0 as far as rounding does.) Where few elements are
    outside still, more runs tell whether only their scatter was small by chance. An element outside is wrong.
4.  Besides, ||c - r|| <= 2 ||e - r|| + F/2 ulp ||r||, again with the scatter's norm when it fails: a kernel of
    narrower arithmetic that stays within each element's bound is still worse overall.

NaN and infinities must stand where eager has them; where eager overflows but float64 does not, the right number is
accepted too, and an infinity where what is allowed at first rounds to one. Where eager's is none that float64's,
rounded once, would be, or where noise and zeros for what is below the normal numbers bring one about, nothing is asked:
it depends on the order of what is computed. Integers and booleans must equal eager's, or where float64 decides
differently, its; where rounding decides, as where a quotient is rounded to a whole number, what a run with noise gives
at that element is right too, and of a sum, as a count is, what lies four times as far; as long as no more than a
quarter of all, or a few, are so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from akg_core.judge.compare.binades import WorstErrors, chunk_of
from akg_core.records import HOST

LUCK = 4.0
"""Times the scatter that is allowed."""
NOISE_RUNS = (3, 8, 24)
"""At first, and where that leaves a few elements in doubt."""
_KEPT = 1 << 26  # places of wrong elements; of more than so many only the number is known
_SUMMED = 1 << 27  # elements of which a copy is summed


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
    """The ulps that are allowed anyway, F of the policy, and the size of the noise, in roundoffs, for the scatter."""

    ulps: float
    noise: float


def slack(longest_reduction: float, dtype: torch.dtype) -> Slack:
    """What is allowed beyond twice eager's error to an output of `dtype`."""
    if torch.finfo(dtype).bits <= 16:
        return Slack(ulps=1.0, noise=1.0)
    chain = min(math.sqrt(max(0.0, longest_reduction - 1)), 64.0)
    return Slack(ulps=4 + chain / 2, noise=1 + 5 * chain / 8)


def roundoff(dtype: torch.dtype) -> float:
    """Half the spacing of numbers at one."""
    return torch.finfo(dtype).eps / 2


def kernelbench_tolerance(dtype: torch.dtype) -> float:
    """KernelBench's own absolute and relative tolerance for a dtype."""
    return 1e-2 if dtype in (torch.float16, torch.bfloat16) else 1e-4


def errors(
    candidate: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor, slack: Slack, noise: torch.Tensor | None = None
) -> Errors:
    """Compare flat tensors of one dtype (`exact` in float64) by steps 1 and 2, with `noise` also 3.

    `noise`: how far that moves each element, in the dtype of `width_of`.

    Works through them in chunks: every element is looked at, however many there are.
    """
    kind = torch.finfo(eager.dtype)
    relative = slack.ulps * kind.eps
    tolerance = kernelbench_tolerance(eager.dtype)
    similar = WorstErrors(eager, exact)
    outside: list[torch.Tensor] = []
    count, norm, eager_norm, size = 0, 0.0, 0.0, 0.0
    worst, excess, where, allowed_there, eager_worst, nonfinite, close = 0.0, -1.0, 0, 0.0, 0.0, -1, True
    chunk, width = chunk_of(eager), width_of(eager)
    for start in range(0, eager.numel(), chunk):
        piece = slice(start, start + chunk)
        c, e, r = candidate[piece], eager[piece], exact[piece]
        wrong, eager_wrong = (torch.sub(each, r, out=r.new_empty(r.shape, dtype=width)) for each in (c, e))
        norms = _norms(wrong, eager_wrong, r)
        if not all(map(math.isfinite, norms)):
            free = (
                ~same_kind(e, r.to(e.dtype)) if noise is None else ~same_kind(e, r.to(e.dtype)) | noise[piece].isinf()
            )
            misplaced, c, e, r = _nonfinite(c.double(), e.double(), r, relative, free, kind)
            nonfinite = start + misplaced if nonfinite < 0 <= misplaced else nonfinite
            wrong, eager_wrong = torch.sub(c, r), torch.sub(e, r)
            norms = _norms(wrong, eager_wrong, r)
        most, eager_most = norms[0], norms[1]
        if most + eager_most > tolerance:  # else they are close whatever they are
            close = close and bool(((c.double() - e).abs_() <= tolerance + tolerance * e.abs().double()).all())
        eager_worst = max(eager_worst, eager_most)
        norm, eager_norm, size = map(math.hypot, (norm, eager_norm, size), norms[2:])
        half = _half_allowed(eager_wrong, r, relative, kind.tiny)
        if noise is not None:
            half.add_(noise[piece], alpha=LUCK / 2)
        beyond, places = wrong / half, None
        furthest = _greatest(beyond)
        if furthest > 2:
            places = (beyond.abs_() > 2).nonzero().flatten()
            wrong, half, r = wrong[places], half[places], r[places]
            beyond = (wrong / similar.of_sample(r).add_(half)).abs_()
            left = (beyond > 2).nonzero().flatten()
            if len(left):
                beyond[left] = (wrong[left] / similar.of_all(r[left]).add_(half[left])).abs_()
                more = left[beyond[left] > 2]
                if count < _KEPT:
                    outside.append(places[more] + start)
                count += len(more)
            furthest = float(beyond.max())
        if furthest > excess:
            at = int(beyond.abs_().argmax())
            excess, where = furthest, start + (at if places is None else int(places[at]))
            worst = float(wrong[at].abs())
            allowed_there = 2 * worst / furthest if furthest else 2 * float(half[at])
    kept = torch.cat(outside) if outside else torch.empty(0, dtype=torch.int64, device=eager.device)
    close = close and nonfinite < 0
    return Errors(kept, count, worst, allowed_there, where, norm, eager_norm, size, eager_worst, nonfinite, close)


def width_of(eager: torch.Tensor) -> torch.dtype:
    """The dtype that errors are kept in, which are found in float64: to read less, where reading is what takes time."""
    return torch.float64 if eager.device.type == HOST or eager.dtype == torch.float64 else torch.float32


def _norms(wrong: torch.Tensor, eager_wrong: torch.Tensor, exact: torch.Tensor) -> list[float]:
    """The greatest of both errors and the Euclidean norms of all three: not finite where an element is not."""
    ends = [end.double() for errors in (wrong, eager_wrong) for end in torch.aminmax(errors)]
    low, high, eager_low, eager_high, *squares = torch.stack(
        [*ends, *map(_square, (wrong, eager_wrong, exact))]
    ).tolist()
    return [max(-low, high), max(-eager_low, eager_high), *map(math.sqrt, squares)]


def _half_allowed(eager_wrong: torch.Tensor, exact: torch.Tensor, relative: float, tiny: float) -> torch.Tensor:
    """Half of what is allowed at first, in place of eager's errors."""
    size = exact.abs() if exact.dtype == eager_wrong.dtype else exact.to(eager_wrong.dtype).abs_()
    return eager_wrong.abs_().add_(size, alpha=relative / 2).add_(tiny / 2)


def _square(values: torch.Tensor) -> torch.Tensor:
    """The sum of squares in float64."""
    if values.dtype == torch.float64:
        return values.dot(values)
    return torch.linalg.vector_norm(values, dtype=torch.float64).square_()


def _greatest(values: torch.Tensor) -> float:
    """The greatest magnitude."""
    low, high = torch.aminmax(values)
    return max(-float(low), float(high))


def _nonfinite(
    c: torch.Tensor, e: torch.Tensor, r: torch.Tensor, relative: float, free: torch.Tensor, kind: torch.finfo
) -> tuple[int, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The first place where a NaN or infinity is not as it must be (or -1), and the tensors with zeros where any is.

    `free`: where nothing is asked.
    """
    finite = torch.isfinite(c) & torch.isfinite(e) & torch.isfinite(r)
    alike = same_kind(c, e) & ~torch.isfinite(e)
    rescued = torch.isfinite(c + r) & ~torch.isfinite(e) & ((c - r).abs() <= 2 * relative * r.abs())
    reach = (1 + relative) * r.abs() + 2 * (e - r).abs()
    reached = torch.isfinite(e + r) & (c == torch.inf * r.sign()) & (reach >= kind.max * (1 + kind.eps / 4))
    misplaced = (~(finite | free | alike | rescued | reached)).nonzero()
    first = int(misplaced[0]) if misplaced.numel() else -1
    return first, torch.where(finite, c, 0.0), torch.where(finite, e, 0.0), torch.where(finite, r, 0.0)


def same_kind(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Where two tensors are both finite, both NaN, or the same infinity."""
    both = torch.isfinite(one) & torch.isfinite(other)
    return both | (one == other) | (torch.isnan(one) & torch.isnan(other))


def ratio(found: Errors, dtype: torch.dtype) -> float | None:
    """How many times as far from float64 as eager, or as the right answer rounded once when that is further.

    None where even those are exact.
    """
    usual = max(found.eager_norm, roundoff(dtype) * found.size)
    return found.norm / usual if usual else None


def norm_allowed(found: Errors, slack: Slack, dtype: torch.dtype, noise: torch.Tensor | None = None) -> float:
    """The bound of step 4 on ||c - r||."""
    pieces = noise.split(_SUMMED) if noise is not None else ()
    squares = sum((float(_square(piece.nan_to_num(0.0, posinf=0.0))) for piece in pieces), 0.0)
    scatter = LUCK * math.sqrt(squares)
    rounding = slack.ulps / 2 * torch.finfo(dtype).eps * found.size
    return 2 * found.eager_norm + rounding + scatter + torch.finfo(dtype).tiny

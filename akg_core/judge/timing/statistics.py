"""Medians, and how sure one may be of them. Plain Python: the orchestrator imports no numerical library."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from statistics import median

RESAMPLES = 600
_DISTURBED = 2.0  # times the shortest sample, at the median

Rounds = Sequence[Sequence[float]]  # the samples of each round


def interval(rounds: Rounds) -> tuple[float, float, float]:
    """The median of all samples with its 95 % bootstrap interval, rounds being what is resampled.

    Samples of one round share what the machine was doing then, so that they are not independent; rounds nearly are.
    """
    return _bootstrap(len(rounds), lambda picked: median(_joined(rounds, picked)))


def ratio(over: Rounds, of: Rounds) -> tuple[float, float, float]:
    """The ratio of two medians with its interval; both were sampled in the same rounds, resampled together."""
    count = min(len(over), len(of))
    return _bootstrap(count, lambda picked: median(_joined(over, picked)) / median(_joined(of, picked)))


def undisturbed(over: Rounds, of: Rounds, low: float, high: float) -> tuple[float, float]:
    """An interval of a ratio that holds that of the shortest samples, too, where these are far below either's median.

    A process of several threads waits for the last of them at every barrier: where another has its processor, each
    sample is as long as a turn of the system's scheduler, and all are alike.
    """
    one, other = (_joined(rounds, range(len(rounds))) for rounds in (over, of))
    if any(median(samples) > _DISTURBED * min(samples) for samples in (one, other)):
        shortest = min(one) / min(other)
        return min(low, shortest), max(high, shortest)
    return low, high


def _bootstrap(count: int, statistic: Callable[[Sequence[int]], float]) -> tuple[float, float, float]:
    """The statistic, and the 2.5th and 97.5th percentile of it over resampled rounds (Efron, 1979)."""
    draw = random.Random(0)
    every = range(count)
    found = sorted(statistic(draw.choices(every, k=count)) for _ in range(RESAMPLES))
    edge = round(0.025 * RESAMPLES)
    return statistic(every), found[edge], found[-1 - edge]


def _joined(rounds: Rounds, picked: Sequence[int]) -> list[float]:
    return [sample for index in picked for sample in rounds[index]]

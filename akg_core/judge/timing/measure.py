"""How fast a kernel is: samples of it and of the baselines, taken in turns, each participant in a process of its own.

A round asks every participant for a few samples, in changing order, so that what the machine does meanwhile hits all
alike. Medians get bootstrap intervals over rounds, of which there are no more once these are narrow; a speed-up whose
interval holds 1 is inconclusive, and an interval is the wider the longer processes had to wait for a processor, or
where most samples took several times as long as the shortest. Who takes the time is another process: see
`akg_core.judge.timing.outside` for the host, and `on_device`. A kernel is believed only when its time is physically
possible, and what it answered meanwhile is right.
"""

from __future__ import annotations

import contextlib
import fcntl
import platform
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from akg_core.judge.records import Measurement, Preparation, Speedup, Timing
from akg_core.judge.reference.prepare import Prepared
from akg_core.judge.timing import floor, on_device, outside, statistics
from akg_core.judge.timing.device_clock import Unfair
from akg_core.judge.timing.entrants import KERNEL, Baselines, Entrant
from akg_core.judge.timing.floor import Machine
from akg_core.judge.timing.participant import Unusable
from akg_core.judge.timing.rounds import Sampled
from akg_core.records import Artifact, Target, TimingPlan
from akg_core.storage import cache_folder
from akg_core.worker.limits import is_harness_changed, is_library_run
from akg_core.worker.usage import cores

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

_LEAST_SHARE = 0.01  # of a time that is known up to some ms only


def measure(
    pool: Pool,
    prepared: Prepared,
    plugin: str,
    artifact: Artifact,
    target: Target,
    baselines: Baselines | None = None,
    *,
    seconds: float = 2.0,
) -> Timing:
    """Time a kernel against the baselines for about `seconds` at most.

    The kernel should have been verified: this judges its speed, and its answers only after the samples.
    """
    with Entrant(pool, prepared, plugin, artifact, target) as entrant:
        return clock(pool, prepared, entrant, target, baselines, seconds=seconds)


def clock(
    pool: Pool,
    prepared: Prepared,
    entrant: Entrant,
    target: Target,
    baselines: Baselines | None = None,
    *,
    seconds: float = 2.0,
) -> Timing:
    """Like `measure`, of a kernel that was started before."""
    began = time.monotonic()
    preparation, machine = prepared.ready(), floor.machine(pool, prepared.where)
    rivals, missing = baselines.ready() if baselines else ([], {})
    settings = _settings(prepared, entrant.plan, target) | {"processor": machine.processor}
    with exclusively(target.backend):
        try:
            if prepared.lends:
                found = on_device.sample(pool, prepared, entrant, rivals, machine, seconds)
            else:
                found = outside.sample(prepared, entrant, rivals, machine, seconds)
        except Unusable as error:
            took = time.monotonic() - began
            rule = "It changes the harness." if is_harness_changed(str(error)) else ""
            rule = "It runs machine code of a library." if is_library_run(str(error)) else rule
            rule = str(error) if isinstance(error, Unfair) else rule
            if rule:
                return Timing(status="cheating", reason=rule, settings=settings, seconds=took)
            return Timing(status="failed", reason=str(error), settings=settings, seconds=took)
    timing = _timing(found, entrant.ready().timer)
    if timing.status == "ok":
        timing = _possible(timing, pool, prepared, machine, preparation)
    return timing.model_copy(
        update={
            "unavailable": missing | found.missing,
            "settings": settings | {"rounds": len(found.rounds.get(KERNEL, ()))},
            "seconds": time.monotonic() - began,
        }
    )


@contextlib.contextmanager
def exclusively(device: str) -> Iterator[None]:
    """Hold a device for timing: other akg-core processes of this user wait until it is free."""
    path = cache_folder() / f"{device.replace('/', '_')}.lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _possible(timing: Timing, pool: Pool, prepared: Prepared, machine: Machine, preparation: Preparation) -> Timing:
    """A timing with the physical floor, refused below it."""
    median = timing.median(KERNEL) or 0.0
    least = floor.floor(machine, preparation)
    if least and median < least.margin * least.seconds:  # perhaps the machine was busy when it was measured
        least = floor.floor(floor.machine(pool, prepared.where, again=True), preparation)
    if least and median < least.margin * least.seconds:
        reason = (
            f"{median:.3g} s is less than {least.margin:g} times the {least.seconds:.3g} s that this machine needs."
        )
        return timing.model_copy(update={"status": "impossible", "reason": reason, "floor": least})
    return timing.model_copy(update={"floor": least})


def _timing(found: Sampled, timer: str) -> Timing:
    measurements, speedups = [], []
    for name, samples in found.rounds.items():
        median, low, high = statistics.interval(samples)
        every = tuple(sample for one in samples for sample in one)
        taken = found.timers.get(name, timer)
        measurements.append(Measurement(name=name, median=median, low=low, high=high, samples=every, timer=taken))
        if name != KERNEL:
            ratio, low, high = statistics.ratio(samples, found.rounds[KERNEL])
            low *= 1 - found.waited.get(name, 0.0)  # without what either may have waited for others
            high /= 1 - found.waited.get(KERNEL, 0.0)
            low, high = statistics.undisturbed(samples, found.rounds[KERNEL], low, high)
            if KERNEL in found.unqueued:
                high /= _least_share(found)
            speedups.append(Speedup(over=name, ratio=ratio, low=low, high=high, result=_result(low, high)))
    return Timing(
        status=found.status,
        reason=found.reason,
        measurements=tuple(measurements),
        speedups=tuple(speedups),
        waited=max(found.waited.values(), default=0.0),
        resolution=found.resolution,
        unqueued=found.unqueued,
    )


def _least_share(found: Sampled) -> float:
    """The part of a kernel's time that it takes at the least, where what is beside its call is not known closely."""
    median, _, _ = statistics.interval(found.rounds[KERNEL])
    return max(1 - found.resolution / median, _LEAST_SHARE)


def _result(low: float, high: float) -> Literal["faster", "slower", "inconclusive"]:
    return "faster" if low > 1 else "slower" if high < 1 else "inconclusive"


def _settings(prepared: Prepared, plan: TimingPlan, target: Target) -> dict[str, Any]:
    from importlib.metadata import version

    return {
        "processor": floor.processor(),
        "cores": cores(),
        "threads": cores(),
        "target": str(target),
        "torch": version("torch"),
        "python": platform.python_version(),
        "case": prepared.first.name,
        "seed": prepared.first.seed,
    }

"""What a turn takes beside the calls in it, known by a kernel that does nothing, or next to nothing on a device.

Its turns come the way that every kernel's do, and from a process that is confined as a kernel's is: what it asks of the
system takes longer there.
"""

from __future__ import annotations

import functools
import statistics
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from akg_core.errors import WorkerFailed
from akg_core.judge.timing.device_clock import Clock
from akg_core.machine import last_level_cache
from akg_core.records import HOST, Case, ProfileReport, TimingPlan
from akg_core.worker.limits import Limits
from akg_core.worker.placement import device_at

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool
    from akg_core.worker.session import Session

_JOB = "akg_core.judge.timing.idle:turn_job"
_CLOCK_JOBS = "akg_core.judge.reference.turns_on_device:"
_TURNS, _OPEN_TURNS, _PATIENCE_SECONDS = 32, 12, 60.0
_ANSWER_BYTES = 256
_STEPS = 17  # of an answer that is written so many times: a device turns to a process only where there is work


class Idle:
    """A kernel that writes a tiny answer in so many steps, in a session; `where` is as `device_at` takes it."""

    name, believed = "idle", False

    def __init__(self, session: Session, where: dict[str, Any], steps: int) -> None:
        self.session, self._where = session, where | {"steps": steps}

    def called(self, plan: TimingPlan, seed: int = 0) -> ProfileReport:
        """What its process reports."""
        asked = self._where | {"plan": plan.model_dump(mode="json")}
        return ProfileReport(**self.session.call(_JOB, asked).unwrap())


def on_device(pool: Pool, where: dict[str, Any]) -> dict[str, float]:
    """Seconds that a turn takes beside calls that are queued, by how much these vary, and beside other calls."""
    limits = Limits(confined=True, paused=True)
    with pool.session(Limits(lends=True), _CLOCK_JOBS + "idle_job") as keeper, pool.session(limits, _JOB) as session:

        def ask(job: str, payload: dict[str, Any]) -> dict[str, Any]:
            return keeper.call(_CLOCK_JOBS + job, payload).unwrap()

        opened = ask("idle_job", where)
        clock, found = Clock(pool, ask, opened, sweep=opened["cache"] * 2), dict[str, float]()
        for count in (_TURNS, _OPEN_TURNS):
            one, several = (
                [clock.turn(Idle(session, where, steps), TimingPlan(), (0, 0)).seconds for _ in range(count + 1)][1:]
                for steps in (1, _STEPS)
            )
            each = (statistics.median(several) - statistics.median(one)) / (_STEPS - 1)
            low, spread = _least(one)
            if clock.is_open:
                found["open_seconds"] = max(0.0, min(one) - each)  # what varies by so much is nobody's gain
            else:
                found |= {"turn_seconds": max(0.0, low - each), "turn_spread": spread}
            clock.is_open = True
    return found


def on_host(pool: Pool) -> tuple[float, float]:
    """Seconds that letting a process of the host go, and stopping it, takes of a turn, and by how much these vary."""
    plan = TimingPlan(warmup=1, samples=_TURNS, cold=True)
    order = {
        "calls": 1,
        "turns": _TURNS,
        "warmup": 1,
        "sweep": 2 * last_level_cache(),
        "given": [],
        "step": 0,
        "keep": False,
        "sized": (),
    }
    asked = {"plan": plan.model_dump(mode="json")}
    with pool.session(Limits(confined=True, timed=True), _JOB) as session, tempfile.TemporaryFile() as data:
        data.write(bytes(1))
        data.flush()
        result, told = session.call_timed(_JOB, asked, order, (data.fileno(), data.fileno()), _PATIENCE_SECONDS)
        result.unwrap()
        if "error" in told:
            raise WorkerFailed(f"No kernel can be timed here: {told['error']}.")
    return _least(told["samples"])


def _least(turns: list[float]) -> tuple[float, float]:
    """What turns take at the least but for a quarter of the times, and half of what lies between quartiles."""
    low, _, high = statistics.quantiles(turns, n=4)
    return low, (high - low) / 2


def turn_job(payload: dict[str, Any]) -> dict[str, Any]:
    """Worker job: {plan, plugin?, target?, steps?} → ProfileReport of a kernel that does nothing, or so many steps."""
    from akg_core.judge.candidate.harness import profile_case
    from akg_core.worker.tensors import save

    inputs = Path("nothing")
    save(inputs, [])
    case = Case(name="nothing", inputs=inputs, outputs=inputs)
    load_module = functools.partial(_module, payload.get("steps", 0))
    report = profile_case(load_module, case, TimingPlan(**payload["plan"]), device_at(payload))
    return report.model_dump(mode="json")


@functools.cache
def _module(steps: int) -> SimpleNamespace:
    import torch
    from torch import nn

    class ModelNew(nn.Module):
        answer: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("answer", torch.ones(_ANSWER_BYTES // 4), persistent=False)

        def forward(self) -> torch.Tensor:
            """Memory for an answer, as a kernel takes it; the host's is not there before it is written."""
            answer = self.answer if self.answer.device.type == HOST else torch.empty_like(self.answer)
            for step in range(steps):
                answer.fill_(step)
            return answer

    return SimpleNamespace(ModelNew=ModelNew)

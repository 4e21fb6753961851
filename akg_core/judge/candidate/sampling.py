"""What taking samples takes beside what they count: asking, clocks, waiting for the device, a look at each answer.

Known by samples of a kernel that does nothing, which come the way that every kernel's samples do, and from a process
that is confined as a kernel's is: what it asks of the system takes longer there.
"""

from __future__ import annotations

import functools
import statistics
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from akg_core.errors import WorkerFailed
from akg_core.machine import last_level_cache
from akg_core.records import HOST, Case, ProfileReport, TimingPlan
from akg_core.worker.limits import Limits
from akg_core.worker.placement import device_at

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

_JOB = "akg_core.judge.candidate.sampling:sampling_job"
_CALLS, _FEW, _MOST = 9, 64, 8192
_SECONDS = 0.1  # of a call whose samples are many
_TURNS, _PATIENCE_SECONDS = 32, 60.0
_LEAST_BYTES, _MOST_BYTES = 256, 256 << 20


class Idle:
    """A kernel that does nothing, in a process of its own. Use it as a context; `where` is as `device_at` takes it.

    Its answer, which is never written, has `answer_bytes`, as far as these matter: it is looked at on every page.
    """

    def __init__(self, pool: Pool, where: dict[str, Any], answer_bytes: int = 0) -> None:
        self._session = pool.session(Limits(confined=True), _JOB)
        self._where = where | {"answer_bytes": min(max(answer_bytes, _LEAST_BYTES), _MOST_BYTES)}
        self.beside(1)  # its first samples wait for imports

    def __enter__(self) -> Idle:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def beside(self, samples: int) -> float:
        """Seconds that so many samples took in one call, without those that they counted."""
        plan = TimingPlan(warmup=1, samples=samples).model_dump(mode="json")
        began = time.perf_counter()
        report = ProfileReport(**self._session.call(_JOB, {**self._where, "plan": plan}).unwrap())
        return time.perf_counter() - began - sum(report.samples)


def seconds_beside(pool: Pool, where: dict[str, Any]) -> float:
    """Seconds beside each of many samples, at the least."""
    with Idle(pool, where) as idle:
        asking = min(idle.beside(1) for _ in range(_CALLS))
        few = min(idle.beside(_FEW) for _ in range(_CALLS)) - asking
        many = max(_FEW, min(_MOST, round(_FEW * _SECONDS / max(few, 1e-9))))
        return max(0.0, min(idle.beside(many) for _ in range(_CALLS)) - asking) / many


def turn_seconds(pool: Pool) -> tuple[float, float]:
    """What letting a process of the host go, and stopping it, takes of a turn from outside, and how much that varies.

    Both in seconds: what it takes at the least but for a quarter of the times, and half of what lies between quartiles.
    """
    plan = TimingPlan(warmup=1, samples=_TURNS, cold=True)
    order = {
        "calls": 1,
        "turns": _TURNS,
        "warmup": 1,
        "sweep": 2 * last_level_cache(),
        "given": [],
        "step": 0,
        "keep": False,
    }
    asked = {"answer_bytes": _LEAST_BYTES, "plan": plan.model_dump(mode="json")}
    with pool.session(Limits(confined=True, timed=True), _JOB) as session, tempfile.TemporaryFile() as data:
        data.write(bytes(1))
        data.flush()
        result, told = session.call_timed(_JOB, asked, order, (data.fileno(), data.fileno()), _PATIENCE_SECONDS)
        result.unwrap()
        if "error" in told:
            raise WorkerFailed(f"No kernel can be timed here: {told['error']}.")
    low, _, high = statistics.quantiles(told["samples"], n=4)
    return low, (high - low) / 2


def sampling_job(payload: dict[str, Any]) -> dict[str, Any]:
    """Worker job: {plan, answer_bytes, plugin?, target?} → ProfileReport of a kernel that does nothing."""
    from akg_core.judge.candidate.harness import profile_case
    from akg_core.worker.tensors import save

    inputs = Path("nothing")
    save(inputs, [])
    case = Case(name="nothing", inputs=inputs, outputs=inputs)
    load_module = functools.partial(_module, payload["answer_bytes"])
    report = profile_case(load_module, case, TimingPlan(**payload["plan"]), device_at(payload))
    return report.model_dump(mode="json")


@functools.cache
def _module(answer_bytes: int) -> SimpleNamespace:
    import torch
    from torch import nn

    class ModelNew(nn.Module):
        answer: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("answer", torch.ones(answer_bytes // 4), persistent=False)

        def forward(self) -> torch.Tensor:
            """Memory for an answer, as a kernel takes it; the host's is not there before it is written."""
            return self.answer if self.answer.device.type == HOST else torch.empty_like(self.answer)

    return SimpleNamespace(ModelNew=ModelNew)

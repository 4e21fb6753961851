"""One task on its way through a benchmark, in three steps that a runner may put side by side or one after another."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from akg_core.agents.engine import TALLY, Agenda, make
from akg_core.agents.records import Tally
from akg_core.bench.cast import Cast
from akg_core.bench.results import REFUSED, Row, digest, measured
from akg_core.bench.suite import Problem
from akg_core.errors import (
    AkgError,
    OutOfMemory,
    TaskError,
    UnsupportedOperator,
    UsageError,
    debugging,
    says_no_memory,
    told,
)
from akg_core.judge.records import Timing, Verdict
from akg_core.judge.reference.memory_estimate import bytes_on_device, likely_cases
from akg_core.judge.timing.measure import clock
from akg_core.pipeline.choosing import ATTEMPTS
from akg_core.pipeline.pipeline import Pipeline
from akg_core.pipeline.results import advice_on
from akg_core.records import Task
from akg_core.runs import RunFolder
from akg_core.search.tune import REFUSALS, Search
from akg_core.stages.progress import Progress, Stage
from akg_core.stages.stages import Candidate, Request
from akg_core.stages.variants import Defaults, Variants
from akg_core.task.category import category
from akg_core.worker.limits import Limits
from akg_core.worker.pool import Pool

_BY_ITSELF = "Judged alone: beside others it ran out of memory."
_ON_FEWER = "Judged again in half of the memory: it ran out of it."


class Contest:
    """A task's pipeline, what is known of it, and its processes, the `cast`. Close it to end these."""

    def __init__(
        self,
        problem: Problem,
        request: Request,
        pool: Pool,
        folder: RunFolder,
        watch: Callable[[Stage], None] | None = None,
    ) -> None:
        self.problem = problem
        self.pipeline = Pipeline(request, pool, folder, Progress(watch))
        self.verdict: Verdict | None = None
        self.timing: Timing | None = None
        self._task: Task | None = None
        self._candidates: Iterable[Candidate] = ()
        self._judged: Candidate | None = None
        self._search: Search | None = None
        self._built: Candidate | None = None
        self._over = False  # judged, and nothing else is left to be built
        self._clocked: float | None = None
        self._weak: tuple[str, ...] = ()
        self._notes: tuple[str, ...] = ()
        self.error: AkgError | None = None
        self.tally: Tally | None = None
        self._opened = contextlib.ExitStack()
        self.cast = Cast(self.pipeline)

    @property
    def is_correct(self) -> bool:
        """Whether there is a verdict, and it is good."""
        return self.verdict is not None and self.verdict.correct

    @property
    def _goes_on(self) -> bool:
        return not self.error and not self._over

    @property
    def need(self) -> int:
        """Bytes of the device's memory that judging and timing it take, about; 0 when it was not built.

        Who is judged on more cases than was to be expected may run out of memory, and is judged again alone.
        """
        if self._task and self._goes_on:
            with self._failing():
                return bytes_on_device(self._task, self.room, likely_cases(self._task))
        return 0

    @property
    def room(self) -> int:
        """Bytes of the device's memory that contests may take together."""
        return self.pipeline.room

    @property
    def ran_out(self) -> bool:
        """Whether memory was too little somewhere on the way, be it for one case or one baseline only.

        Of no use where nothing is left to be judged.
        """
        verdict, timing = self.verdict, self.timing
        said = (verdict.reason, *verdict.notes) if verdict else ()
        said += (timing.reason, *timing.unavailable.values()) if timing else ()
        said += (str(self.error or ""),)
        return not self._over and (isinstance(self.error, OutOfMemory) or any(map(says_no_memory, said)))

    @property
    def has_other(self) -> bool:
        """Whether the kernel was refused and another variant, which is not built yet, may be right."""
        refused = any(found is not None and found.status in REFUSALS for found in (self.verdict, self.timing))
        return refused and self._goes_on and not self._search and len(self.pipeline.refused) < ATTEMPTS

    def close(self) -> None:
        """End the reference, the baselines and the kernel."""
        self.cast.close()
        self._opened.close()

    def generate(self, agenda: Agenda) -> None:
        """Have agents make a kernel, judge and time it: all that there is to do."""
        kept = self.pipeline.folder.path / TALLY
        kept.unlink(missing_ok=True)
        with self._failing():
            make(self.pipeline, agenda)
        self._task, self.verdict, self.timing = self.pipeline.task, self.pipeline.verdict, self.pipeline.timing
        if kept.exists():
            self.tally = Tally.model_validate_json(kept.read_text(encoding="utf-8"))

    def build(self, examine: bool = False, tune: float = 0.0) -> None:
        """Capture (and examine), design, emit and compile; what fails is kept for the row.

        With seconds to `tune`, what is built are the first candidates of a search.
        """
        with self._failing():
            self._task = self.pipeline.capture()
            self._weak = self._examined() if examine else ()
            variants = self.pipeline.design(self._task)
            self._candidates = Defaults(variants)
            if tune:
                self._ready_search(self._task, variants, tune)
            else:
                self._built = self.pipeline.build(self._task, self._candidates)

    def again(self, alone: bool) -> None:
        """Forget what was found, for the kernel to be judged with the memory for itself.

        `alone`: it had that already, and is to make do with half.
        """
        self._forget()
        self._notes = (_ON_FEWER if alone else _BY_ITSELF,)
        self.pipeline.share /= 2 if alone else 1
        refused = self.pipeline.refused
        self.pipeline.refused = tuple(each for each in refused if not says_no_memory(each[1].reason))
        if self._search:  # what it built is gone
            self._candidates = [replace(each, folder=None, artifact=None) for each in self._candidates]
            self._search = None
            self._make()

    def rebuild(self) -> Contest:
        """Forget what was found and build the candidate that is to be judged after those that were refused.

        Where there is none, or it cannot be built, what was found stays.
        """
        self._built = None
        self._make()
        self._over = self._built is None
        if not self._over:
            self._forget()
        return self

    def start(self, baselines: tuple[str, ...]) -> None:
        """Start all processes that judging and timing what was built take, none of which takes memory for inputs yet.

        What was started already is left as it is.
        """
        self.refer(patient=True)
        if self._built and self._built.artifact and self._goes_on:
            with self._failing():
                self.cast.load(self._built.artifact)
        if baselines:
            self.warm(baselines, patient=True)
            self._enter(patient=True)

    def rest(self) -> bool:
        """Give back the memory of what was timed; whether its processes do nothing any more and may be ended later."""
        return self.timing is not None and self.timing.status == "ok" and self.cast.rest() and not self.ran_out

    def retire(self) -> None:
        """Have the reference's process serve another task, once this one is judged and nothing is to be timed."""
        if self.verdict and not self.ran_out:
            self.cast.retire()

    def refer(self, patient: bool = False) -> None:
        """Start the reference on what was built, unless it was; `patient`: it takes no memory for inputs yet."""
        if self._task and self._goes_on:
            with self._failing():
                self.cast.refer(self._task, patient)

    def refer_and_wait(self) -> None:
        """Have the reference do all that it has to do before a kernel comes."""
        self.refer()
        if prepared := self.cast.prepared:
            with self._failing():
                prepared.ready()

    def tune(self, seconds: float) -> None:
        """Search for about `seconds`, with nothing else running; what was found is judged, the fastest first."""
        if (prepared := self.cast.prepared) and self._search and not self.error:
            with self._failing():
                found = self.pipeline.tune(prepared, self._search, seconds)
                self._candidates = found or self._candidates

    def warm(self, baselines: tuple[str, ...], patient: bool = False) -> None:
        """Start to warm up the baselines; `patient`: as far as that takes no memory for inputs."""
        if baselines and self._goes_on:
            with self._failing():
                self.cast.warm(baselines, patient)

    def begin(self) -> None:
        """Have all that were started patiently go on, with the kernel that was found correct."""
        self._enter()
        self.cast.begin()

    def judge(self, tries: int = ATTEMPTS) -> None:
        """Verify what was built, or what is built of another design when that is refused, so many times at most."""
        if (prepared := self.cast.prepared) and self._goes_on:
            with self._failing():
                pipeline = self.pipeline
                self._judged = self._built = pipeline.accept(
                    prepared, self._candidates, self._built, tries, self.cast.session
                )
                if self._search:
                    pipeline.settle(self._search)
            self.verdict = self.pipeline.verdict

    def clock(self, seconds: float) -> None:
        """Time a kernel that was found correct, with nothing else running."""
        if self.is_correct and not self.cast.entrant:
            self._enter()
        prepared, entrant = self.cast.prepared, self.cast.entrant
        if not (self.is_correct and prepared and entrant):
            return
        with self._failing():
            pipeline = self.pipeline
            began = time.monotonic()
            rivals = self.cast.baselines
            self.timing = clock(pipeline.pool, prepared, entrant, pipeline.target, rivals, seconds=seconds)
            pipeline.folder.write("timing.json", self.timing)
            if self._judged:
                pipeline.refuse(self._judged, self.timing)
            self._clocked = time.monotonic() - began

    def row(self) -> Row:
        """What is known now."""
        verdict, timing, task = self.verdict, self.timing, self._task
        reason = str(self.error or "") or (verdict.reason if verdict and not verdict.correct else "")
        status: str = "failed" if self.error or not verdict else verdict.status
        if self.error and self._is_refused(self.error):
            status = REFUSED
        if timing and timing.status != "ok":
            status, reason = timing.status, timing.reason
        refused = self.pipeline.refusals(self._judged) if self._judged else self.pipeline.told
        slow = advice_on(timing, self.pipeline.tuned)
        missing = [f"No time of {name}: {why}" for name, why in timing.unavailable.items()] if timing else ()
        seconds = {stage.name: round(stage.seconds, 3) for stage in self.pipeline.progress.stages}
        if self._clocked is not None:
            seconds["time"] = round(self._clocked, 3)
        return Row(
            name=self.problem.name,
            group=self.problem.group or (category(task) if task else "not captured"),
            status=status,
            reason=reason,
            captured=task is not None,
            refused=task.refused if task else (),
            digest=row_digest(self.problem, self.pipeline.request),
            sketch=self._judged.design.sketch.name if self._judged else "",
            tuned=self.pipeline.tuned,
            tally=self.tally,
            seconds=seconds,
            weak=self._weak,
            notes=(*(task.notes if task else ()), *self.pipeline.notes, *self._notes, *refused, *missing, *slow),
            **measured(verdict, timing),
        )

    def _is_refused(self, error: AkgError) -> bool:
        """Whether an error says that no kernel can be made, by the designer's rules or at all."""
        unfit = isinstance(error, TaskError) and self._task is None and not isinstance(error, OutOfMemory)
        return unfit or isinstance(error, UnsupportedOperator)

    def _forget(self) -> None:
        self.verdict = self.timing = self.error = None
        self.cast.close()
        self.cast = Cast(self.pipeline)

    def _enter(self, patient: bool = False) -> None:
        """Start the process for timing of the kernel that was built; `patient` as for the baselines."""
        if self._built and self._built.artifact and self._goes_on:
            with self._failing():
                self.cast.enter(self._built.artifact, patient)

    def _make(self) -> None:
        """Emit and compile the candidate that is to be judged next."""
        with self._failing():
            self._built = self.pipeline.build(self._task, self._candidates) if self._task else None

    def _ready_search(self, task: Task, variants: Variants, seconds: float) -> None:
        """Open a search, and build what it tries first unless earlier searches took as long."""
        self._search = self._opened.enter_context(contextlib.closing(self.pipeline.search(task, variants.all())))
        if self._search.spent < seconds:
            with self.pipeline.progress.stage("compile"):
                self._search.build()

    def _examined(self) -> tuple[str, ...]:
        """The findings of `task check` that make a verdict of "correct" say little."""
        request = self.pipeline.request
        payload = {"path": str(request.reference), "eval": request.evaluation, "scale": request.scale, "budget": 4.0}
        # Threads that wait for each other beside as many others cost far more than these few small calls.
        result = self.pipeline.pool.call("akg_core.task.examine:examine_job", payload, limits=Limits(threads=1))
        if result.status != "ok":
            return ()
        findings = result.unwrap()["findings"]
        return tuple(f"{f['code']} {f['message']}" for f in findings if f["severity"] == "error")

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """What goes wrong inside is in the row: a fault of ours, too, ends no run of other tasks. A full disk does."""
        try:
            yield
        except AkgError as error:
            self.error = self.error or error
        except Exception as error:
            fault = told(error)
            if isinstance(fault, UsageError) or debugging():
                raise
            self.error = self.error or fault


def row_digest(problem: Problem, request: Request) -> str:
    """What tells whether an earlier row is still this task's."""
    return digest(problem.path, request.evaluation, request.dynamic, request.seed, request.time_limit)

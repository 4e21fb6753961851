"""The reference's side of judging, seen from the orchestrator: started early, it works while the kernel is built."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akg_core.closing import Closing
from akg_core.errors import OutOfMemory, TaskError
from akg_core.judge.records import Draw, OutputComparison, Preparation
from akg_core.judge.reference.construction import made_by
from akg_core.record import Sentence
from akg_core.records import Case, Record, Target, Task
from akg_core.task.graph import held, pairs, replaced
from akg_core.worker.folders import remove
from akg_core.worker.limits import JobResult, Limits

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

CASES = "cases"  # the folder of the cases: who knows the name of one may read it, and nobody may list them
_ROOMS = "rooms"  # that of what candidates write, likewise
_REFERENCE = "reference.py"
SEEDS = 1 << 32  # that draws may begin with
_JOBS = "akg_core.judge.reference.process:"
_OPEN = _JOBS + "open_job"
_COMPARING = "akg_core.judge.reference.written:"


class Comparison(Record):
    """A case's outputs beside the reference's; see `akg_core.judge.reference.written.compare_job`."""

    outputs: tuple[OutputComparison, ...]
    unexpected: tuple[Sentence, ...]
    error: Sentence
    call: int = 0
    same: bool | None = None


class Fresh(Record):
    """Sets of inputs, one after the other in a file, `step` bytes each; `given` describes the tensors of one.

    `seed`: of the call on the first set, where forward draws random numbers.
    """

    file: Path
    step: int
    given: tuple[dict[str, Any], ...]
    count: int
    seed: int


def prepare(
    pool: Pool,
    task: Task,
    folder: Path,
    *,
    plugin: str = "",
    target: Target | None = None,
    lends: bool = False,
    room: int = 0,
    seed: int | None = None,
    patient: bool = False,
    simulated: bool = False,
) -> Prepared:
    """Start the reference process on a task and return at once. Cases are written below `folder`.

    The reference runs where the plugin's kernels for `target` do; without a plugin, on the host. `lends`: that is a
    device whose memory processes lend to each other, and of which judging may take `room` bytes (0: what is free).
    `seed` is where the draws begin; without one it is drawn, so that nobody knows them beforehand. `patient`: until
    `begin` the process only makes its device ready. `simulated`: kernels are, which cases have to be small for.
    """
    where = {"plugin": plugin, "target": target.model_dump(mode="json") if target else None}
    seed = secrets.randbelow(SEEDS) if seed is None else seed
    prepared = Prepared(pool, task, folder, where, lends, seed, {"room": room, "simulated": simulated})
    if not patient:
        prepared.begin()
    return prepared


class Prepared(Closing):
    """A task's cases and the process that knows their answers, a `session`. Close it, or use it as a context."""

    def __init__(
        self, pool: Pool, task: Task, folder: Path, where: dict[str, Any], lends: bool, seed: int, most: dict[str, Any]
    ) -> None:
        self.task, self.folder, self.where, self.lends, self.seed = task, folder.resolve(), where, lends, seed
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / _ROOMS).mkdir(mode=0o300, exist_ok=True)
        (self.folder / _REFERENCE).write_text(task.source, encoding="utf-8")
        limits = Limits(seconds=600, lends=lends)
        self.session = pool.spare.take(limits, _OPEN) if lends else pool.session(limits, _OPEN)
        self._is_over = False
        self._lock = threading.Lock()
        self._pool, self._most = pool, most
        self._started = pool.background(self.session.call, "akg_core.worker.placement:start_job", where)
        self._opened: Future[Draw] = Future()
        self._ready: Future[Preparation] | None = None

    def started(self) -> None:
        """Wait for the reference process to have made its device ready, or to have failed."""
        self._started.result()

    def begin(self) -> None:
        """Start to draw cases and to answer them, unless that was started."""
        self._ready = self._ready or self._pool.background(self._work, self._most)

    def close(self) -> None:
        """End the reference process, or leave it to another task when it rests for good."""
        if self.lends and self._is_over:
            self._pool.spare.give(self.session, _OPEN, "akg_core.judge.reference.turnover:forget_job")
        else:
            self.session.close()
        for name in (CASES, _ROOMS):
            with contextlib.suppress(OSError):
                (self.folder / name).chmod(0o700)  # so that whoever may remove it can

    @contextlib.contextmanager
    def room(self) -> Iterator[Path]:
        """A folder for what a candidate's process writes: no other finds it, and nothing of it is kept for a later."""
        folder = self.folder / _ROOMS / secrets.token_hex(8)
        folder.mkdir()
        try:
            yield folder
        finally:
            remove(folder)

    @property
    def opening(self) -> Case:
        """What a kernel's process is called with first: it loads the kernel, and is not told where any input lies."""
        reference = self.folder / _REFERENCE
        nowhere = Path("nowhere")
        return Case(
            name="opening",
            inputs=None,
            outputs=nowhere,
            reference=reference,
            training=self.task.training,
            replaced=replaced(self.task.interface),
            pairs=pairs(self.task.interface),
            records=self.task.interface.records,
            held=held(self.task.interface),
            made_by=made_by(self.task, self.seed),
        )

    @property
    def first(self) -> Draw:
        """The case with the file's own inputs and the constructor's state, the one that is timed. Waits for it only."""
        self.begin()
        return self._opened.result()

    def ready(self) -> Preparation:
        """All cases. Waits; raises TaskError when the reference does not run."""
        self.begin()
        assert self._ready is not None
        return self._ready.result()

    def compare(self, name: str, outputs: Path, *, noise: bool = True) -> Comparison:
        """Compare what a candidate wrote for the case `name` with the reference's answer; see `compare_job`."""
        return self._compare("compare_job", {"name": name, "outputs": str(outputs)}, noise)

    def compare_calls(self, calls: Sequence[tuple[str, Path]], *, noise: bool = True) -> Comparison:
        """Compare what a candidate wrote in several calls, each for a case; see `compare_calls_job`."""
        named = [{"name": name, "outputs": str(outputs)} for name, outputs in calls]
        return self._compare("compare_calls_job", {"calls": named}, noise)

    def _compare(self, job: str, payload: dict[str, Any], noise: bool) -> Comparison:
        payload |= {"longest_reduction": self.ready().longest_reduction, "noise": noise}
        return Comparison(**self.ask(_COMPARING + job, payload))

    @contextlib.contextmanager
    def fresh(self, count: int, *, hard: bool = False) -> Iterator[Fresh]:
        """New inputs for the first case, so many sets, in a file that is there until the context ends.

        `hard`: with rows of many kinds, where there is a case that has such.
        """
        asked = {"count": count, "seed": secrets.randbits(31), "hard": hard}
        made = self.ask("akg_core.judge.reference.timed_inputs:renew_job", asked)
        found = Fresh(**made, count=count, seed=secrets.randbits(62))
        try:
            yield found
        finally:
            found.file.unlink(missing_ok=True)

    def check(self, fresh: Fresh, number: int, outputs: Path, place: int) -> Comparison:
        """Compare an answer of a timed call, at its place in a file, with that to the set of inputs of this number."""
        payload = {
            "file": str(fresh.file),
            "step": fresh.step,
            "number": number,
            "seed": fresh.seed,
            "outputs": str(outputs),
            "place": place,
            "longest_reduction": self.ready().longest_reduction,
        }
        return Comparison(**self.ask("akg_core.judge.reference.timed_inputs:check_job", payload))

    def ask(self, job: str, payload: dict[str, Any]) -> dict[str, Any]:
        """What a job of the reference's process gives, while nobody else asks it."""
        with self._lock:
            return self._value(self.session.call(job, payload))

    def lay_out(self) -> None:
        """Have the cases lie there for another kernel, after one that was timed."""
        if self.lends:
            self.ready()
            self.ask(_JOBS + "lay_out_job", {})

    def rest(self, for_good: bool = False) -> None:
        """Have the reference hold no more of a device's memory than it must; `for_good`: nor the cases and answers."""
        with self._lock:
            result = self.session.call(_JOBS + "rest_job", {"for_good": for_good})
        self._is_over = for_good and result.status == "ok"

    def _work(self, most: dict[str, Any]) -> Preparation:
        opening = {
            **self.where,
            "task": self.task.model_dump(mode="json"),
            "folder": str(self.folder),
            "seed": self.seed,
            "room": most["room"],
        }
        try:
            self._value(self._started.result())
            with self._lock:
                draw = Draw(**self._value(self.session.call(_OPEN, opening))["draw"])
                self._opened.set_result(draw)
                prepared = self.session.call(_JOBS + "prepare_job", most)
            return Preparation(**self._value(prepared))
        except BaseException as error:
            if not self._opened.done():
                self._opened.set_exception(error)
            raise

    def _value(self, result: JobResult) -> dict[str, Any]:
        if result.status in ("ok", "error"):
            return result.unwrap()
        kind = OutOfMemory if result.status == "out of memory" else TaskError
        raise kind(f"{self.task.name}: the reference did not run. {result.reason}")

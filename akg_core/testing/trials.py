"""Cases of emission on a plugin, by its hooks alone: emitted, built, run like any other kernel, and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from akg_core.errors import AkgError, KernelFailed, Unsupported
from akg_core.judge.candidate.session import kernel_payload
from akg_core.records import HOST, Artifact, Case, KernelSource, Record, RunReport, Schedule, Sketch
from akg_core.runs import RunFolder
from akg_core.stages import stages
from akg_core.stages.stages import Design, Request, require_allowed
from akg_core.testing.subject import Subject
from akg_core.worker.limits import Limits
from akg_core.worker.usage import cores

MOST, FEW = 6, 2
"""How many cases of a family there are at most: where kernels run, and where they are simulated."""
SECONDS = 600.0  # in which a family is drawn, a case run, a family compared
_DRAW, _COMPARE = "akg_core.testing.emission.jobs:draw_job", "akg_core.testing.emission.jobs:compare_job"
_RUN = "akg_core.judge.candidate.jobs:run_job"
_SAID = 300  # characters of a compiler's log

R = TypeVar("R")


class Trial(Record):
    """A case as the plugin is given it; its inputs, state and reference lie in `folder`."""

    name: str
    sketch: Sketch
    schedule: Schedule
    dtypes: tuple[str, ...]
    folder: Path


@dataclass
class Tried:
    """What became of cases: those that are right, why others were refused, and what is wrong with others, by name."""

    right: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)


class Trials:
    """Tries families of cases on a plugin. Close it, or use it as a context: until then a process holds what is due."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._request = Request(Path("reference.py"), subject.plugin, subject.target)
        self._holder = subject.pool.session(Limits(seconds=SECONDS), _DRAW)

    def __enter__(self) -> Trials:
        return self

    def __exit__(self, *_: object) -> None:
        self._holder.close()

    def family(self, name: str) -> Tried:
        """Emit, build, run and compare the first cases of a family, side by side."""
        most = FEW if self.subject.available.simulated else MOST
        payload = {"family": name, "most": most, "folder": str(self.subject.fresh())}
        drawn = self._holder.call(_DRAW, payload, SECONDS).unwrap()["trials"]
        trials = {trial["name"]: Trial(**trial) for trial in drawn}
        tried = Tried()
        sources = _each(lambda name: self._emit(trials[name]), trials, tried)
        artifacts = self._build(trials, sources, tried)
        outputs = _each(lambda name: self._run(trials[name], artifacts[name]), artifacts, tried)
        answers = {"outputs": {name: str(path) for name, path in outputs.items()}}
        tried.wrong |= self._holder.call(_COMPARE, answers, SECONDS).unwrap()["wrong"]
        tried.right = [name for name in outputs if name not in tried.wrong]
        for found in (tried.refused, tried.wrong):  # in the order of the cases, not in which they came
            found |= {name: found.pop(name) for name in trials if name in found}
        return tried

    def _emit(self, trial: Trial) -> KernelSource:
        """What the plugin emits. Raises Unsupported for what it refuses, and for dtypes that it does not name."""
        subject = self.subject
        if lacking := [dtype for dtype in trial.dtypes if dtype not in subject.info.dtypes]:
            raise Unsupported(f"akg_plugin_info names no {', '.join(lacking)}.")
        design = Design(sketch=trial.sketch, space=(), default=trial.schedule)
        source, findings = stages.emit(subject.pool, self._request, design, trial.schedule)
        require_allowed(findings)
        return source

    def _build(self, trials: dict[str, Trial], sources: dict[str, KernelSource], tried: Tried) -> dict[str, Artifact]:
        """The kernels, built at once. What the chip has no room for counts as refused."""
        builds: list[tuple[KernelSource, Path]] = []
        for name, source in sources.items():
            folder = RunFolder(trials[name].folder)
            folder.write_source(source, _reference(trials[name]).read_text(encoding="utf-8"))
            builds.append((source, folder.kernel))
        artifacts: dict[str, Artifact] = {}
        compiled = stages.build_all(self.subject.pool, self._request, builds)
        for name, result in zip(sources, compiled, strict=True):
            if result.artifact:
                artifacts[name] = result.artifact
            elif result.shortages:
                tried.refused[name] = f"It does not fit: {', '.join(map(str, result.shortages))}."
            else:
                tried.wrong[name] = f"It does not compile: {result.log.strip()[:_SAID]}"
        return artifacts

    def _run(self, trial: Trial, artifact: Artifact) -> Path:
        """The file that the harness writes, in a confined process. Raises KernelFailed where it says what is wrong."""
        room = self.subject.fresh()
        payload = kernel_payload(self.subject.plugin, artifact, self.subject.target)
        opening = Case(name="opening", inputs=None, outputs=room / "none", reference=_reference(trial))
        case = Case(
            name=trial.name,
            inputs=trial.folder / "inputs",
            outputs=room / "outputs",
            state=trial.folder / "state",
            reference=_reference(trial),
            poison=1,
            placed="walled" if self.subject.available.device == HOST else "",
        )
        calls = [payload | {"cases": [each.model_dump(mode="json")]} for each in (opening, case)]
        limits = Limits(seconds=SECONDS, confined=True, writable=(room,))
        with self.subject.pool.holding(_RUN, *calls, limits=limits) as result:
            report = RunReport(**result.unwrap())
        said = [report.error, report.lost, *(report.cases[0].error or "" for _ in report.cases[:1])]
        said += [rule for each in report.cases for rule in (*each.forbidden_calls, *each.broken_rules)]
        if found := next(filter(None, said), ""):
            raise KernelFailed(f"It does not run: {found}")
        if not case.outputs.is_file():
            raise KernelFailed("akg_run writes no outputs.")
        return case.outputs


def _reference(trial: Trial) -> Path:
    return trial.folder / "reference.py"


def _each(step: Callable[[str], R], names: Iterable[str], tried: Tried) -> dict[str, R]:
    """What a step gives for each case, side by side; what it raises is why the case is refused, or wrong."""

    def attempt(name: str) -> tuple[R] | None:
        try:
            return (step(name),)
        except Unsupported as error:
            tried.refused[name] = f"{error.message} {error.cure}".strip()
        except AkgError as error:
            tried.wrong[name] = str(error)
        return None

    names = list(names)
    with ThreadPoolExecutor(max_workers=cores()) as workers:
        given = zip(names, list(workers.map(attempt, names)), strict=True)
    return {name: found[0] for name, found in given if found}

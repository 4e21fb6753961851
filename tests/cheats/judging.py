"""Judges candidates of this folder as the pipeline would: by their reference, and by what their header says."""

from __future__ import annotations

import math
import re
import shutil
import statistics
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from akg_core.judge.records import Timing
from akg_core.judge.reference.prepare import Prepared, prepare
from akg_core.judge.timing.measure import measure
from akg_core.judge.verify import verify
from akg_core.records import Artifact, Target, Task
from akg_core.worker.pool import Pool

FOLDER = Path(__file__).parent
SEED = 3  # of all cases, so that what is caught once is caught again
SECONDS = 30.0  # for all cases of one candidate
_NO_GAIN = {"cpu": 0.6}  # of the honest kernel's time: what takes less has gained by its cheat
_NO_GAIN_ON_A_DEVICE = 0.9
_TURNS = 5  # of a candidate and an honest kernel, where it seems to gain


@dataclass(frozen=True)
class Found:
    """What the judge said of a candidate: status and reason, or the rule that it broke."""

    status: str
    rule: str

    def __str__(self) -> str:
        rule = re.split(":| counted | it took ", self.rule)[0].rstrip(".")
        return f"{self.status}: {rule}" if self.status == "cheating" else self.status


@dataclass(frozen=True)
class Bench:
    """Where candidates are judged: workers, and for each task the cases of its reference.

    `honest`: by task, the fewest seconds of the honest kernel, once they are known.
    """

    pool: Pool
    prepared: dict[str, Prepared]
    plugin: str
    target: Target
    simulated: bool = False
    honest: dict[str, float] = field(default_factory=dict)

    def judge(self, path: Path, folder: Path) -> Found:
        """Verify a candidate, or time it, or both, as its header says; `folder` is where its artifact is to lie."""
        said = header(path)
        judged, task = said.get("Judged", "verified"), said.get("Task", "reference")
        artifact = lay_out(path, task, folder)
        if judged.startswith("verified"):
            verdict = verify(
                self.pool,
                self.prepared[task],
                self.plugin,
                artifact,
                self.target,
                seconds=SECONDS,
                simulated=self.simulated,
            )
            if judged == "verified" or not verdict.correct:
                return Found(verdict.status, verdict.rule or verdict.reason)
        timing = self._timed(task, artifact)
        if judged != "time" or timing.status != "ok":
            return Found(timing.status, timing.reason)
        enough = _NO_GAIN.get(self.target.backend, _NO_GAIN_ON_A_DEVICE)
        ours, theirs = timing.median("kernel") or 0.0, self.honest.get(task, math.inf)
        if ours < enough * theirs:  # known from when the machine was busier, perhaps: in turns, then
            file = FOLDER / ("honest_on_host.py" if self.target.backend == "cpu" else "honest.py")
            honest = lay_out(file, task, folder / "honest")
            pairs = [
                (self._timed(task, each).median("kernel") or 0.0 for each in (artifact, honest)) for _ in range(_TURNS)
            ]
            ours, theirs = map(statistics.median, zip(*pairs, strict=True))
            self.honest[task] = min(theirs, self.honest.get(task, math.inf))
        gained = f"{ours * 1e6:.3g} us instead of {theirs * 1e6:.3g} us"
        return Found("gains" if ours < enough * theirs else "gains nothing", gained)

    def _timed(self, task: str, artifact: Artifact) -> Timing:
        return measure(self.pool, self.prepared[task], self.plugin, artifact, self.target, seconds=0.1)


@contextmanager
def bench(
    pool: Pool, folder: Path, tasks: Iterable[str], plugin: str, target: Target, *, lends: bool, simulated: bool
) -> Iterator[Bench]:
    """A bench with the references of these tasks prepared below `folder`."""
    with ExitStack() as stack:
        prepared = {}
        for name in tasks:
            path = str(FOLDER / f"{name}.py")
            task = Task(**pool.call("akg_core.task.capture:capture_job", {"path": path}).unwrap())
            cases = prepare(pool, task, folder / name, plugin=plugin, target=target, lends=lends, seed=SEED)
            prepared[name] = stack.enter_context(cases)
        yield Bench(pool, prepared, plugin, target, simulated)


def lay_out(path: Path, task: str, folder: Path) -> Artifact:
    """A candidate as an artifact: its reference, the honest kernels that it names, and machine code if it has any."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, folder / "model_new.py")
    shutil.copyfile(FOLDER / f"{task}.py", folder / "reference.py")
    if "kernels" in path.read_text():
        shutil.copyfile(FOLDER / "kernels.py", folder / "kernels.py")
    if "honest_on_host" in path.read_text():
        shutil.copyfile(FOLDER / "honest_on_host.py", folder / "honest_on_host.py")
    if path.with_suffix(".cpp").exists():
        _compile(path.with_suffix(".cpp"), folder / "kernel.so")
    return Artifact(folder=folder)


def _compile(source: Path, library: Path) -> None:
    """Build a candidate's machine code; a library of numbers lies beside it, for who wants to be linked with one."""
    flags = ["-O2", "-std=c++20", "-fopenmp", "-shared", "-fPIC", "-Wl,--allow-shlib-undefined"]
    numbers = library.with_name("libnumbers.so")
    made = 'extern "C" void cblas_sgemm() {}\n'
    subprocess.run(
        ["g++", "-shared", "-fPIC", "-Wl,-soname,libnumbers.so", "-x", "c++", "-", "-o", numbers],
        input=made,
        text=True,
        check=True,
    )
    linked = [str(numbers)] if source.stem == "linked" else []
    subprocess.run(["g++", *flags, str(source), *linked, "-o", str(library)], check=True, cwd=library.parent)


def header(path: Path) -> dict[str, str]:
    """The fields at the end of a candidate's docstring."""
    fields = r"^(Seen|Verdict|Rule|Judged|Runs|Task): *(.*)$"
    return dict(re.findall(fields, path.read_text().split('"""')[1], re.MULTILINE))


def is_caught(found: Found, path: Path) -> bool:
    """Whether a candidate got one of the verdicts, and by the rule, that its header names."""
    said = header(path)
    return found.status in said["Verdict"].split("|") and said.get("Rule", "") in found.rule


def table(found: Iterable[tuple[str, Found]]) -> list[str]:
    """A line for each class: how many candidates, how many of them caught, and how."""
    by_class: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, one in found:
        by_class[kind][str(one)] += 1
    lines = []
    for kind, caught in sorted(by_class.items()):
        total, wrong = sum(caught.values()), sum(caught[status] for status in ("correct", "ok", "gains"))
        how = ", ".join(f"{what} ({count})" for what, count in caught.most_common())
        lines.append(f"| {kind.replace('_', ' ')} | {total} | {total - wrong} | {how} |")
    return lines

"""Judges every kernel of the benchmark with many seeds in a row: an honest one must pass each time.

    python -m benchmarks.honest --seeds 20 --scale 0.25

Each task is built once, and its kernel judged with a seed after another, each with draws, states and sizes of its own.
With `--load 8`, so many processes are busy beside it, which must change no verdict; with `--both` each seed is judged
once without them and once with them, and the verdicts, case by case, must be the same.
Prints a table in Markdown by group, then every refusal and difference. The exit code is 1 when there is one.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from akg_core.bench.suite import Problem, files
from akg_core.errors import AkgError
from akg_core.judge.records import Verdict
from akg_core.judge.reference.prepare import prepare
from akg_core.judge.verify import verify
from akg_core.stages.warm import warm_for
from akg_core.worker.pool import Pool
from benchmarks.building import PLUGIN, ROOT, TARGET, Built, build

_APART = 1000  # from one seed to the next, so that no draw of the one is the other's


@dataclass
class Kernel:
    """A task's kernel in `folder`, its verdicts by seed, and why there is none or no other.

    `beside`: its verdicts by seed beside busy processes, where it was judged without them, too.
    """

    problem: Problem
    folder: Path
    built: Built | None = None
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    beside: dict[int, Verdict] = field(default_factory=dict)
    error: str = ""

    @property
    def different(self) -> dict[int, str]:
        """What was judged otherwise beside busy processes."""
        pairs = {seed: (_gist(self.verdicts[seed]), _gist(verdict)) for seed, verdict in self.beside.items()}
        return {seed: f"{one}, beside others {other}" for seed, (one, other) in pairs.items() if one != other}

    @property
    def refused(self) -> dict[int, str]:
        return {seed: f"{v.status}, {v.reason}" for seed, v in self.verdicts.items() if not v.correct}

    def build(self, pool: Pool, scale: float) -> None:
        """Build the designer's first variant."""
        try:
            self.built = build(pool, self.problem.path, self.folder / "kernel", scale)
        except AkgError as error:
            self.error = str(error)

    def judge(self, pool: Pool, seed: int, beside: bool = False) -> None:
        """Judge with a seed; what the first seed refuses is followed by the next variant, as in every run.

        `beside`: once more, beside busy processes.
        """
        if self.built is None or self.error:
            return
        built, drawn_from = self.built, seed * _APART
        try:
            with (
                tempfile.TemporaryDirectory(dir=self.folder) as cases,
                prepare(pool, built.task, Path(cases), plugin=PLUGIN, target=TARGET, seed=drawn_from) as prepared,
            ):
                if not self.verdicts:
                    built.first = built.pipeline.accept(prepared, built.candidates, built.first)
                    verdict = built.pipeline.verdict
                else:
                    verdict = verify(pool, prepared, PLUGIN, built.artifact, TARGET)
        except AkgError as error:
            self.error = str(error)
        else:
            (self.beside if beside else self.verdicts)[seed] = verdict


_SPIN = "import os, sys\nwhile str(os.getppid()) == sys.argv[1]: pass"  # until its parent ends, however that does


def _gist(verdict: Verdict) -> str:
    """What must not depend on how busy a machine is: the status, and each case with whether it is right."""
    return f"{verdict.status}: {'; '.join(f'{case.name}: {case.ok}' for case in verdict.cases)}"


def main() -> int:
    """Judge, print, and say whether nothing was refused."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.honest", description="Judge honest kernels many times.")
    parser.add_argument("what", nargs="*", type=Path, default=[ROOT / "benchmarks" / "tasks"], help="files or folders")
    parser.add_argument("--seeds", type=int, default=20, help="how often each kernel is judged")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the sizes in the references")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="after which no further seed is begun")
    parser.add_argument("--load", type=int, default=0, help="processes that are busy beside it")
    parser.add_argument("--both", action="store_true", help="judge each seed without load, and again with it")
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    with (
        _busy(0 if given.both else given.load),
        tempfile.TemporaryDirectory() as folder,
        Pool(warm=warm_for(PLUGIN)) as pool,
    ):
        kernels = [Kernel(problem, Path(folder, str(number))) for number, problem in enumerate(files(given.what))]
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            list(threads.map(lambda kernel: kernel.build(pool, given.scale), kernels))
            for seed in range(given.first, given.first + given.seeds):
                if time.monotonic() > until:
                    break
                list(threads.map(lambda kernel, seed=seed: kernel.judge(pool, seed), kernels))
                with _busy(given.load if given.both else 0):
                    again = kernels if given.both else []
                    list(threads.map(lambda kernel, seed=seed: kernel.judge(pool, seed, beside=True), again))
                refused = sum(len(kernel.refused) for kernel in kernels)
                print(f"seed {seed}: {refused} refused until now", file=sys.stderr, flush=True)
    _print(kernels)
    return 1 if any(kernel.error or kernel.refused or kernel.different for kernel in kernels) else 0


@contextlib.contextmanager
def _busy(count: int) -> Iterator[None]:
    """So many processes that do nothing but keep a processor busy."""
    spinning = [subprocess.Popen([sys.executable, "-c", _SPIN, str(os.getpid())]) for _ in range(count)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def _print(kernels: Sequence[Kernel]) -> None:
    groups = defaultdict(list)
    for kernel in kernels:
        groups[kernel.problem.group].append(kernel)
    print("| group | kernels | each judged | verdicts | refused |\n| --- | --- | --- | --- | --- |")
    for name, group in [*sorted(groups.items()), ("all", kernels)]:
        counts = [len(kernel.verdicts) for kernel in group]
        refused = sum(len(kernel.refused) for kernel in group)
        print(f"| {name} | {len(group)} | {min(counts)} times | {sum(counts)} | {refused} |")
    tries = sum(len(kernel.beside) for kernel in kernels)
    if tries:
        same = tries - sum(len(kernel.different) for kernel in kernels)
        print(f"Beside busy processes the verdict was the same in {same} of {tries} tries.")
    for kernel in kernels:
        found = [*kernel.refused.items(), *kernel.different.items()]
        reasons = [f"seed {seed}: {reason}" for seed, reason in found]
        for reason in [*reasons, kernel.error] if kernel.error else reasons:
            print(f"{kernel.problem.group}/{kernel.problem.name}, {reason}")


if __name__ == "__main__":
    sys.exit(main())

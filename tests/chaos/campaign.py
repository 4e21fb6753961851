"""Runs a benchmark of candidates that misbehave, kills it again and again, and has it go on where it stopped."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import akg_core
from akg_core.bench.results import Results, Row
from akg_core.worker import isolation, usage
from tests.chaos import plugin
from tests.chaos.candidates import Candidate, write

ROOT = Path(__file__).parents[2]
_COMMAND = "from akg_core.cli import main; main()"
_TOLD = re.compile(r" *\d+/\d+ +\S+ +(\S+) ")
_SETTLING_SECONDS = 20.0  # in which everything that a killed run had started must be gone
_DELAY_SECONDS = 2.0  # a run is killed at most so long after the row at which it is to be


@dataclass
class Findings:
    """What a campaign shows. `told`: how often each candidate's row was told; `rows`: what was kept in the end.

    `memory`: of each run, the orchestrator's own resident MiB at each row. The lists of what is left hold
    what was still there after each run, whether killed or ended.
    """

    told: Counter[str] = field(default_factory=Counter)
    rows: dict[str, Row] = field(default_factory=dict)
    protections: Counter[tuple[str, ...]] = field(default_factory=Counter)
    memory: list[list[float]] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    locks: list[str] = field(default_factory=list)
    kills: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Part:
    """Candidates that one benchmark runs, and after how many rows in all it is killed."""

    name: str
    candidates: list[Candidate]
    options: tuple[str, ...]
    kills: tuple[int, ...]


def split(candidates: list[Candidate], kills: int, seed: int) -> list[Part]:
    """Most candidates are judged only; some at the end are timed too, so that the device's lock is held at times."""
    luck = random.Random(seed + 1)
    timed = min(24, len(candidates) // 6)
    judged = len(candidates) - timed
    late = kills // 5  # of the kills, while there is timing
    marks = sorted(luck.sample(range(1, judged), kills - late)), sorted(luck.sample(range(1, timed), late))
    return [
        Part("judged", candidates[:judged], ("--baseline", ""), tuple(marks[0])),
        Part("timed", candidates[judged:], ("--baseline", "eager", "--seconds", "0.05"), tuple(marks[1])),
    ]


class Campaign:
    """The parts' runs in `folder`, each one process of `akg-core bench` after another until all is done.

    This process must have no children of its own: it becomes the parent of all that the runs leave behind.
    """

    def __init__(self, folder: Path, seed: int, together: int, time_limit: float) -> None:
        self.folder, self.options = folder, ("--together", str(together), "--time-limit", f"{time_limit:g}")
        self.found = Findings()
        self._luck = random.Random(seed + 2)
        self._temporary = folder / "tmp"
        self._temporary.mkdir()
        _install(folder / "site")
        isolation.adopt_orphans()

    def run(self, part: Part) -> None:
        """Run a part to its end, with its kills."""
        began = time.monotonic()
        write(part.candidates, self.folder / part.name)
        out = self.folder / f"{part.name}.json"
        for mark in (*part.kills, 0):
            self._launch(part, out, mark)
            self._look_around()
        results = Results(**json.loads(out.read_text()))
        self.found.rows |= {row.name: row for row in results.rows if results.finished}
        for verdict in self.folder.glob(f"runs/{part.name}/*/verdict.json"):
            self.found.protections[tuple(json.loads(verdict.read_text())["protections"])] += 1
        self.found.seconds += time.monotonic() - began

    def _launch(self, part: Part, out: Path, mark: int) -> None:
        """One process: told rows are counted, and when there are `mark` of the part it is killed; 0: never."""
        names = {candidate.name for candidate in part.candidates}
        command = [sys.executable, "-c", _COMMAND, "bench", str(self.folder / part.name), "--plugin", plugin.NAME]
        command += [*part.options, *self.options, "--folder", str(self.folder / "runs"), "--out", str(out)]
        environment = os.environ | {
            "AKG_DEBUG": "1",
            "PYTHONPATH": os.pathsep.join([str(self.folder / "site"), str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "TMPDIR": str(self._temporary),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "cache" / "inductor"),
        }
        self.found.memory.append([])
        with subprocess.Popen(
            command, env=environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout
            said: list[str] = []
            for line in process.stdout:
                told = _TOLD.match(line)
                said = [*said[-30:], line]
                if told is None or told[1] not in names:
                    continue
                self.found.told[told[1]] += 1
                self.found.memory[-1].append(usage.memory([process.pid], 1 << 62) / (1 << 20))
                if mark and sum(self.found.told[name] for name in names) >= mark:
                    time.sleep(self._luck.uniform(0, _DELAY_SECONDS))
                    process.kill()
                    mark = 0
                    self.found.kills += 1
        if process.returncode not in (0, 1, -signal.SIGKILL) or not out.exists():
            raise RuntimeError(f"the benchmark ended with {process.returncode}:\n{''.join(said)}")

    def _look_around(self) -> None:
        """Note what a run has left behind, once it had time to go."""
        until = time.monotonic() + _SETTLING_SECONDS
        while self._left() and time.monotonic() < until:
            time.sleep(0.1)
        processes, files = self._processes(), self._files()
        self.found.processes += processes
        self.found.files += files
        for lock in self.folder.glob("cache/akg-core/*.lock"):
            with lock.open() as file, contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                continue
            self.found.locks.append(lock.name)

    def _left(self) -> bool:
        return bool(self._processes() or self._files())

    def _processes(self) -> list[str]:
        """The processes that are left, those that have ended not among them."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        return [f"process {process} {_name(process)}" for process in usage.descendants(os.getpid())]

    def _files(self) -> list[str]:
        partial = [*(self.folder / "runs").rglob(".*"), *self.folder.glob(".*")]
        return [str(path.relative_to(self.folder)) for path in (*self._temporary.iterdir(), *partial)]


def _name(process: int) -> str:
    """What a process is called and waits for, as far as it is still there."""
    with contextlib.suppress(OSError):
        return " ".join(Path(f"/proc/{process}/{file}").read_text().strip() for file in ("comm", "wchan"))
    return ""


def _install(folder: Path) -> None:
    """Leave the plugin of the candidates in `folder` as pip would."""
    info = folder / "akg_plugin_chaos-1.dist-info"
    info.mkdir(parents=True)
    requires = f"Requires-Dist: akg-core=={akg_core.__version__}\n"
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: akg-plugin-chaos\nVersion: 1\n{requires}")
    (info / "entry_points.txt").write_text(f"[akg]\n{plugin.NAME} = {plugin.__name__}\n")

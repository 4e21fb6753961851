"""Runs many tasks through the whole pipeline on one machine, in one go, and compares with eager and torch.compile.

    python -m benchmarks.run --plugin cpp_cpu                       # every task of benchmarks/tasks
    python -m benchmarks.run --plugin cpp_cpu --scale 0.2 --verify-only FILE…   # only judge, at reduced sizes

Tasks are prepared a few at a time, side by side: captured, designed, built, judged, and torch.compile warmed up. Then
they are timed one after the other with nothing else running.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from akg_core.cli.options import select_plugin, select_target
from akg_core.errors import AkgError
from akg_core.judge.baseline import MODES
from akg_core.judge.records import Timing, Verdict
from akg_core.judge.timing import Baselines, measure
from akg_core.pipeline import WARM, Pipeline, versions
from akg_core.progress import Progress
from akg_core.records import Artifact
from akg_core.runs import RunFolder
from akg_core.stages import Request
from akg_core.worker.pool import Pool
from benchmarks.table import Row, show

TASKS = Path(__file__).parent / "tasks"
RESULTS = Path(__file__).parent / "results"
SIDE_BY_SIDE = 4


@dataclass
class Contest:
    """One task on its way: what is known of it, and what must be closed when it has been timed."""

    path: Path
    pipeline: Pipeline
    verdict: Verdict | None = None
    timing: Timing | None = None
    error: str = ""
    artifact: Artifact | None = None
    baselines: Baselines | None = None
    opened: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def prepare(self, verify_only: bool) -> None:
        """Everything up to the clock."""
        pipeline = self.pipeline
        try:
            task = pipeline.capture()
            prepared = self.opened.enter_context(pipeline.reference(task))
            if not verify_only:
                self.baselines = self.opened.enter_context(pipeline.baselines(prepared))
            design = pipeline.design(task)[0]
            self.artifact = pipeline.compile(design, pipeline.emit(task, design, design.default))
            self.verdict = pipeline.verify(prepared, self.artifact)
            if self.baselines:
                self.baselines.ready()
            self.prepared = prepared
        except AkgError as error:
            self.error = str(error)

    def clock(self, seconds: float) -> None:
        """Time a kernel that was found correct against the baselines."""
        if self.error or not (self.verdict and self.verdict.correct and self.artifact):
            return
        try:
            request = self.pipeline.request
            self.timing = measure(
                self.pipeline.pool,
                self.prepared,
                request.plugin,
                self.artifact,
                self.pipeline.target,
                self.baselines,
                seconds=seconds,
            )
        except AkgError as error:
            self.error = str(error)

    def row(self) -> Row:
        stages = {stage.name: stage.seconds for stage in self.pipeline.progress.stages}
        return Row(
            family=self.path.parent.name,
            task=self.path.stem,
            status=self.verdict.status if self.verdict else "failed",
            reason=self.error or (self.verdict.reason if self.verdict and not self.verdict.correct else ""),
            verdict=self.verdict,
            timing=self.timing,
            build_seconds=stages.get("compile"),
            notes=self.pipeline.task.notes if self.pipeline.task else (),
        )


def contests(paths: list[Path], request: Request, pool: Pool, folder: Path, verify_only: bool) -> Iterator[Contest]:
    """Contests ready for the clock, closed when the next one is asked for."""
    for start in range(0, len(paths), SIDE_BY_SIDE):
        batch = []
        for path in paths[start : start + SIDE_BY_SIDE]:
            own = Request(**{**request.__dict__, "reference": path.resolve()})
            place = RunFolder(folder / path.parent.name / path.stem)
            batch.append(Contest(path, Pipeline(own, pool, place, Progress())))
        with ThreadPoolExecutor(SIDE_BY_SIDE) as executor:
            list(executor.map(lambda contest: contest.prepare(verify_only), batch))
        for contest in batch:
            try:
                yield contest
            finally:
                contest.opened.close()


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 0 when every task was judged correct, 1 otherwise, 2 when it could not start."""
    options = _options().parse_args(arguments)
    console = Console()
    try:
        plugin = select_plugin(options.plugin)
        target = select_target(options.target, plugin)
    except AkgError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    paths = options.files or sorted(TASKS.glob("*/*.py"))
    request = Request(reference=paths[0], plugin=plugin.name, target=target, scale=options.scale)
    began, rows = time.monotonic(), []
    with Pool(warm=WARM) as pool:
        for contest in contests(paths, request, pool, options.folder, options.verify_only):
            if not options.verify_only:
                contest.clock(options.seconds)
            rows.append(contest.row())
            console.print(rows[-1].line(), highlight=False, soft_wrap=True)
    took = time.monotonic() - began
    show(console, rows, took)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "plugin": plugin.name,
            "target": str(target),
            "versions": versions(),
            "baselines": list(MODES),
            "scale": options.scale,
            "seconds": round(took, 1),
            "machine": next((row.timing.settings for row in rows if row.timing), {}),
            "tasks": [row.data() for row in rows],
        }
        options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        console.print(f"written to {options.out}")
    return 0 if all(row.status == "correct" for row in rows) else 1


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="task files (default: all of benchmarks/tasks)")
    parser.add_argument("--plugin", default="", help="the plugin to measure")
    parser.add_argument("--target", default="", help="the chip; else the plugin's first")
    parser.add_argument("--scale", type=float, default=1.0, help="shrink the files' integer constants")
    parser.add_argument("--seconds", type=float, default=1.5, help="time for the samples of one task")
    parser.add_argument("--verify-only", action="store_true", help="judge, and time nothing")
    parser.add_argument("--folder", type=Path, default=Path("runs/bench"), help="where the runs are kept")
    parser.add_argument("--out", type=Path, help="a JSON file for the results")
    return parser


if __name__ == "__main__":
    sys.exit(main())

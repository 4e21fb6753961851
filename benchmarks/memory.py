"""How much memory kernels take on the chip as core predicts it, beside what the compiler plans, at own sizes.

    python -m benchmarks.memory --plugin triton_ascend --memory ub --out FILE kernelbench --root KernelBench --level 1
    python -m benchmarks.memory --plugin triton_ascend --memory ub --dynamic --out FILE benchmarks/tasks

Of each task the first schedule of the first design is compiled, and nothing is run. The prediction is the tiles that
live at once in a program (`akg_core.lower.resources`), by which the schedule was chosen. What the compiler
planned is in the details of a kernel that fits, and in its message of one that does not.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from akg_core.bench.suite import Problem, files, kernelbench
from akg_core.cli.job import Job
from akg_core.errors import AkgError
from akg_core.lower.resources.fitting import Holding
from akg_core.lower.specialise import instances
from akg_core.pipeline.results import versions
from akg_core.record import Record
from akg_core.records import CompileResult, Traits
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind
from akg_core.stages import stages
from akg_core.stages.pools import pool_for
from akg_core.stages.stages import Design, Request
from akg_core.storage import write_whole
from akg_core.worker.pool import Pool


class Kernel(Record):
    """Bytes that programs of a kernel take: as predicted, and as the compiler plans them (None: it does not say)."""

    name: str
    predicted: int
    planned: int | None


class Row(Record):
    """A task: whether its first schedule was compiled, what of the chip it lacked, or why else there is no kernel."""

    name: str
    compiled: bool = False
    lacks: tuple[str, ...] = ()
    reason: str = ""
    kernels: tuple[Kernel, ...] = ()


class Document(Record):
    """All rows. `memory`: which of the chip's; `room`: bytes that predictions were kept within."""

    suite: str
    plugin: str
    target: str
    dynamic: bool
    memory: str
    room: int
    versions: dict[str, str]
    rows: tuple[Row, ...]

    @property
    def ratios(self) -> list[float]:
        """Bytes that were planned over those predicted, of every kernel where both are known, in order."""
        kernels = [kernel for row in self.rows for kernel in row.kernels]
        return sorted(kernel.planned / kernel.predicted for kernel in kernels if kernel.planned and kernel.predicted)


def main() -> None:
    """Compile the first schedule of every task, write the document, and print what it says."""
    given = _arguments()
    suite = f"kernelbench-level{given.level}" if given.tasks == ["kernelbench"] else "files"
    problems = (
        files(map(Path, given.tasks)) if suite == "files" else kernelbench(given.root, given.level, given.problems)
    )
    request = Job(reference=problems[0].path, plugin=given.plugin, target=given.target, dynamic=given.dynamic).request()
    with pool_for(request.plugin) as pool, tempfile.TemporaryDirectory() as folder:
        found = stages.require_usable(stages.probe(pool, request), request.plugin)

        def measured(problem: Problem) -> Row:
            asked = Request(problem.path.resolve(), request.plugin, request.target, dynamic=request.dynamic)
            try:
                return _row(problem.name, pool, asked, found.traits, Path(folder) / problem.name, given.memory)
            except AkgError as error:
                return Row(name=problem.name, reason=str(error))

        with ThreadPoolExecutor(given.together) as threads:
            rows = tuple(_told(threads.map(measured, problems), len(problems)))
    document = Document(
        suite=suite,
        plugin=request.plugin,
        target=str(request.target),
        dynamic=request.dynamic,
        memory=given.memory,
        room=found.traits.program_bytes,
        versions=versions(request.plugin, found),
        rows=rows,
    )
    write_whole(given.out, document)
    print(summary(document))


def summary(document: Document) -> str:
    """What a document says, in a line or two."""
    rows, ratios = document.rows, document.ratios
    made = sum(row.compiled for row in rows)
    lacking = sum(bool(row.lacks) for row in rows)
    lines = [f"{len(rows)} tasks: {made} fit at the first try, {lacking} do not, {len(rows) - made - lacking} fail"]
    if ratios:
        low, high = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
        lines.append(
            f"planned over predicted bytes of {document.memory} in {len(ratios)} kernels: "
            f"{statistics.median(ratios):.2f} at the median, {low:.2f} to {high:.2f} in the middle eight tenths, "
            f"{ratios[-1]:.2f} at most"
        )
    return "\n".join(lines)


def _row(name: str, pool: Pool, request: Request, traits: Traits, folder: Path, memory: str) -> Row:
    task = stages.capture(pool, request)
    design = stages.design(pool, request, task, traits).designs[0]
    source, findings = stages.emit(pool, request, design, design.default)
    stages.require_allowed(findings)
    compiled, _ = stages.build(pool, request, source, folder)
    lacks = tuple(map(str, compiled.shortages))
    reason = "" if compiled.ok or lacks else compiled.log[-600:]
    kernels = tuple(_kernels(design, compiled, memory, traits.copies))
    return Row(name=name, compiled=compiled.ok, lacks=lacks, reason=reason, kernels=kernels)


def _kernels(design: Design, compiled: CompileResult, memory: str, copies: int) -> Iterator[Kernel]:
    """The kernels of a design as predicted and planned: of those that one of the sketch became, the largest."""
    tree = require(parse(design.sketch.text, design.sketch.name), design.sketch.name)
    launched = [(call.kernel.name, instance.symbol) for call, instance in instances(bind(tree, design.default))]
    for name, predicted in Holding(tree, design.sketch.symbols, copies).by_kernel(design.default).items():
        symbols = {symbol for kernel, symbol in launched if kernel == name}
        planned = [compiled.details.get(f"{symbol}.{memory}_bytes") for symbol in symbols]
        planned += [lacks.needs for lacks in compiled.shortages if lacks.kernel == name]
        yield Kernel(name=name, predicted=predicted, planned=max((int(n) for n in planned if n), default=None))


def _told(rows: Iterable[Row], of: int) -> Iterator[Row]:
    """The rows, each printed as it comes."""
    for number, row in enumerate(rows, 1):
        found = "fits" if row.compiled else "; ".join(row.lacks) or row.reason.strip().rpartition("\n")[2]
        print(f"{number:3}/{of} {row.name:40.40} {found}", flush=True)
        yield row


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description="Memory predicted and planned.")
    parser.add_argument("tasks", nargs="+", help="`kernelbench`, or reference files and folders of them")
    parser.add_argument("--plugin", default="", help="the plugin")
    parser.add_argument("--target", default="", help="the chip")
    parser.add_argument("--memory", default="ub", help="which of the chip's memory, as details of kernels call it")
    parser.add_argument("--dynamic", action="store_true", help="kernels for all sizes")
    parser.add_argument("--root", type=Path, default=Path("KernelBench"), help="a checkout of KernelBench")
    parser.add_argument("--level", type=int, default=1, help="KernelBench's level")
    parser.add_argument("--problems", default="", help="numbers, 1-20,54; else all")
    parser.add_argument("--together", type=int, default=2, help="tasks side by side")
    parser.add_argument("--out", type=Path, required=True, help="a JSON file")
    return parser.parse_args()


if __name__ == "__main__":
    main()

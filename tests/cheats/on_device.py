"""Judges every candidate of `triton/` and of `faults/` on the GPU of this machine, and prints what became of each.

`python -m tests.cheats.on_device [CLASS ...]` ends with 1 when one was not caught, or an honest kernel was not judged
correct. With classes, names of folders in `triton/` or "faults", only these are judged.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from akg_core.errors import AkgError
from akg_core.records import Target
from akg_core.stages.warm import warm_for
from akg_core.worker.pool import Pool
from tests.cheats.judging import FOLDER, Bench, Found, bench, header, is_caught, table

TOGETHER = 5  # candidates that are verified beside each other, while others break the device; then some are timed
HONEST = {"reference": "honest", "large": "honest_large", "product": "honest_product", "picked": "honest_picked"}


def main(classes: list[str]) -> int:
    """Judge all, or some classes, and print the table."""
    target = Target(backend="cuda")
    with tempfile.TemporaryDirectory() as text, Pool(warm=warm_for("triton_cuda")) as pool, ExitStack() as stack:
        folder = Path(text)
        tasks = bench(pool, folder / "tasks", HONEST, "triton_cuda", target, lends=True, simulated=False)
        judge = Judge(stack.enter_context(tasks), folder)
        honest = [FOLDER / f"{name}.py" for name in HONEST.values()]
        wrong = [judge(path)[1] for path in honest]
        verifying, breaking = (stack.enter_context(ThreadPoolExecutor(n)) for n in (TOGETHER, 1))
        paths, breakers = (
            [path for path in sorted(FOLDER.glob(pattern)) if not classes or path.parent.name in classes]
            for pattern in ("triton/*/*.py", "faults/*.py")
        )
        timed = {path for path in paths if "Judged" in header(path)}
        jobs = {path: verifying.submit(judge, path) for path in paths if path not in timed}
        faults = [breaking.submit(judge, path) for one in breakers for path in (one, honest[0])]
        wrong += [job.result()[1] for job in (*jobs.values(), *faults)]
        found = {path: jobs[path].result() if path in jobs else judge(path) for path in paths}
        wrong += [found[path][1] for path in timed]
        for line in table((path.parent.name, found[path][0]) for path in paths):
            print(line)
    print(f"{sum(wrong)} were judged wrongly." if any(wrong) else "All were judged as they should be.")
    return 1 if any(wrong) else 0


class Judge:
    """Judges one candidate after the other, prints a line for each, and says whether it was judged wrongly."""

    def __init__(self, judges: Bench, folder: Path) -> None:
        self._judges, self._folder, self._count = judges, folder, itertools.count()

    def __call__(self, path: Path) -> tuple[Found, bool]:
        began = time.monotonic()
        try:
            found = self._judges.judge(path, self._folder / f"candidate-{next(self._count)}")
        except AkgError as error:
            found = Found("raised", str(error))
        wrong = not is_caught(found, path)
        took = f"{time.monotonic() - began:.1f} s"
        place = f"{path.parent.name}/{path.stem}"
        print(f"{'WRONG ' if wrong else ''}{place} ({took}): {found.status}: {found.rule}", flush=True)
        return found, wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Holds the clock of a GPU, which is outside of a kernel's process, against events within one.

`python -m benchmarks.clock` prints what a turn takes beside its call and by how much that varies, and for honest
kernels of many lengths the time that the judge gives beside what events tell of the same kernel, with empty caches. It
needs a GPU and the plugin `triton_cuda`.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from akg_core.judge.reference.prepare import prepare
from akg_core.judge.timing import floor
from akg_core.judge.timing.entrants import Baselines
from akg_core.judge.timing.measure import measure
from akg_core.judge.verify import verify
from akg_core.records import Artifact, Target, Task
from akg_core.stages.warm import warm_for
from akg_core.worker.pool import Pool

PLUGIN, TARGET = "triton_cuda", Target(backend="cuda")
SIZES = ((64, 256), (1024, 1024), (2048, 4096), (8192, 4096), (65536, 4096), (131072, 8192))
_CHEATS = Path(__file__).parents[1] / "tests" / "cheats"
_SOURCE = (_CHEATS / "reference.py").read_text()
_COUNT = 21  # samples by events


def main() -> int:
    """Print the table."""
    where = {"plugin": PLUGIN, "target": TARGET.model_dump(mode="json")}
    with tempfile.TemporaryDirectory() as text, Pool(warm=warm_for(PLUGIN)) as pool:
        began = time.monotonic()
        machine = floor.machine(pool, where, again=True)
        print(f"{machine.processor}; measured in {time.monotonic() - began:.1f} s")
        for kind in ("turn", "open"):
            seconds, spread = getattr(machine, f"{kind}_seconds"), getattr(machine, f"{kind}_spread")
            print(f"a {kind} takes {seconds * 1e6:.1f} us beside its call, give or take {spread * 1e6:.2f} us")
        print("        size     by events      outside        95 % interval          eager  rounds   took")
        for rows, columns in SIZES:
            print(_row(pool, Path(text) / f"{rows}x{columns}", rows, columns), flush=True)
    return 0


def _row(pool: Pool, folder: Path, rows: int, columns: int) -> str:
    """What is found of a softmax of this size."""
    source = _SOURCE.replace("torch.rand(13, 9)", f"torch.rand({rows}, {columns})").replace("[9]", f"[{columns}]")
    made = folder / "kernel"
    made.mkdir(parents=True)
    (made / "reference.py").write_text(source)
    shutil.copyfile(_CHEATS / "kernels.py", made / "kernels.py")
    shutil.copyfile(_CHEATS / "honest.py", made / "model_new.py")
    artifact = Artifact(folder=made, entry="model_new.py")
    task = Task(**pool.call("akg_core.task.capture:capture_job", {"path": str(made / "reference.py")}).unwrap())
    told = pool.call("benchmarks.clock:events_job", {"folder": str(made)}).unwrap()["seconds"]
    with (
        prepare(pool, task, folder / "cases", plugin=PLUGIN, target=TARGET, lends=True) as prepared,
        Baselines(pool, prepared, ("eager",)) as baselines,
    ):
        verdict = verify(pool, prepared, PLUGIN, artifact, TARGET)
        found = measure(pool, prepared, PLUGIN, artifact, TARGET, baselines)
    said = f"{rows:>6}x{columns:<5} {told * 1e6:10.2f} us "
    if not verdict.correct or found.status != "ok":
        return f"{said} {verdict.status} {verdict.reason} {found.status} {found.reason}"
    kernel, *others = found.measurements
    interval = f"{kernel.low * 1e6:.2f} - {kernel.high * 1e6:.2f}"
    eager = others[0].median * 1e6 if others else float("nan")
    rounds = f"{found.settings.get('rounds'):>5} {found.seconds:6.2f} s"
    note = f"  unqueued: {', '.join(found.unqueued)}" if found.unqueued else ""
    return f"{said}{kernel.median * 1e6:10.2f} us {interval:>20} {eager:12.2f} us {rounds}{note}"


def events_job(payload: dict[str, Any]) -> dict[str, Any]:
    """Worker job: {folder} → {seconds} that a kernel takes by events, each time on other memory with empty caches."""
    import torch
    from akg_cuda.device import CudaDevice

    sys.path.insert(0, payload["folder"])
    from importlib import import_module

    device, module, source = CudaDevice(), import_module("model_new"), import_module("reference")
    model = module.ModelNew(*source.get_init_inputs()).cuda()
    sets = [[value.cuda() for value in source.get_inputs()] for _ in range(2)]
    samples = []
    with torch.no_grad():
        for number in range(_COUNT + 3):
            device.sweep(2 * device.cache_bytes())
            samples.append(device.seconds(lambda given=sets[number % 2]: model(*given))[0])
    return {"seconds": statistics.median(samples[3:])}


if __name__ == "__main__":
    sys.exit(main())

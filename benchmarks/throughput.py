"""How many built candidates are judged a minute, beside judging each in a fresh Python process.

    python -m benchmarks.throughput --count 60

Both ways judge the same kernel again and again, as many at once as the machine has cores. The fresh process does what
judges without workers do: it imports torch, loads reference and candidate, calls both on five draws and compares at
KernelBench's tolerance.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from akg_core.judge.verify import verify
from akg_core.machine import processor
from akg_core.stages.warm import warm_for
from akg_core.worker.pool import Pool
from benchmarks.building import PLUGIN, ROOT, TARGET, build

_CORES = os.cpu_count() or 1
_FRESH = """
import importlib.util, sys, torch

def load(name):
    spec = importlib.util.spec_from_file_location(name, f"{sys.argv[1]}/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

reference, candidate = load("reference"), load("model_new")
models = []
for make in (reference.Model, candidate.ModelNew):
    torch.manual_seed(42)
    models.append(make(*reference.get_init_inputs()))
with torch.no_grad():
    for seed in range(5):
        torch.manual_seed(seed)
        inputs = reference.get_inputs()
        expected, found = (model(*inputs) for model in models)
        assert torch.allclose(expected, found, rtol=1e-4, atol=1e-4)
"""


def main() -> None:
    """Judge so many candidates in both ways, and print both rates."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description="Candidates judged a minute.")
    parser.add_argument("--count", type=int, default=60, help="candidates")
    parser.add_argument("--reference", type=Path, default=ROOT / "examples" / "softmax.py", help="what they compute")
    parser.add_argument("--scale", type=float, default=0.0625, help="multiplies the sizes in the reference")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Pool(warm=warm_for(PLUGIN)) as pool:
        built = build(pool, given.reference, Path(folder), given.scale)
        with built.pipeline.reference(built.task) as prepared:

            def judge() -> bool:
                return verify(pool, prepared, PLUGIN, built.artifact, TARGET).correct

            cases = len(verify(pool, prepared, PLUGIN, built.artifact, TARGET).cases)
            ours = _rate(judge, given.count)
        fresh = _rate(lambda: _fresh(built.artifact.folder), given.count)
    print(f"{given.count} candidates of {built.task.name}, {_CORES} at once, on {_CORES} cores of {processor()}")
    print(f"judged by workers, {cases} cases each: {ours:.0f} a minute")
    print(f"each by a fresh process that imports torch, 5 draws: {fresh:.0f} a minute")
    print(f"{ours / fresh:.1f} times as many")


def _rate(judge: Callable[[], bool], count: int) -> float:
    """Candidates a minute. Raises RuntimeError when one is not found correct."""
    began = time.monotonic()
    with ThreadPoolExecutor(_CORES) as threads:
        if not all(threads.map(lambda _: judge(), range(count))):
            raise RuntimeError("a correct candidate was refused")
    return 60 * count / (time.monotonic() - began)


def _fresh(folder: Path) -> bool:
    return subprocess.run([sys.executable, "-c", _FRESH, str(folder)]).returncode == 0


if __name__ == "__main__":
    main()

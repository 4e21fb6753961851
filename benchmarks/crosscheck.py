"""Asks KernelBench's own evaluator about kernels that `akg-core bench` made, and prints both verdicts.

    python -m benchmarks.crosscheck --kernelbench CHECKOUT --out FILE.json runs/bench/conv/*

Needs a GPU. Every kernel is exported to one file first, as `akg-core export` does. Inputs are drawn on the device,
which is the evaluator's own way but for the minutes that drawing billions of numbers takes on the host.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import importlib.util
import io
import json
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import torch

from akg_core.export import single_file
from akg_core.records import Artifact

_UNUSED = ("dotenv", "litellm", "openai", "requests", "tqdm")  # imported there for other things than judging


def evaluator(checkout: Path) -> ModuleType:
    """KernelBench's module `eval`, from a checkout of its repository."""
    sys.path.insert(0, str(checkout / "src"))
    missing = [name for name in _UNUSED if importlib.util.find_spec(name) is None]
    sys.modules.update({name: MagicMock() for name in missing})
    try:
        return importlib.import_module("kernelbench.eval")
    finally:
        for name in missing:
            del sys.modules[name]


def asked(judge: ModuleType, run: Path, trials: int, device: str) -> dict[str, Any]:
    """One kernel's row: our verdict, theirs over so many random inputs, what theirs says of an error, and seconds."""
    began = time.monotonic()
    row = {"name": run.name, "ours": json.loads((run / "verdict.json").read_text())["status"]}
    candidate = single_file(Artifact(folder=run / "kernel", entry="model_new.py"))
    with contextlib.redirect_stdout(io.StringIO()), torch.device(device):
        try:
            result = judge.eval_kernel_against_ref(
                (run / "reference.py").read_text(), candidate, num_correct_trials=trials, backend="triton"
            )
        except Exception as error:  # whatever the evaluator meets is its answer
            row["theirs"] = f"raised {type(error).__name__}: {error}"
        else:
            row |= _verdict(result)
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return row | {"seconds": round(time.monotonic() - began, 1)}


def _verdict(result: Any) -> dict[str, Any]:
    if result is None:
        return {"theirs": "gave no result"}
    said = {key: str(value)[:300] for key, value in result.metadata.items() if "error" in key}
    status = "correct" if result.correctness else "incorrect" if result.compiled else "not compiled"
    return {"theirs": status} | ({"said": said} if said else {})


def main(arguments: list[str] | None = None) -> int:
    """0 when both judges agree about every kernel, else 1."""
    parser = argparse.ArgumentParser(description="Compare our verdicts with those of KernelBench's evaluator.")
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs, with kernel/ and verdict.json")
    parser.add_argument("--kernelbench", type=Path, required=True, help="a checkout of KernelBench")
    parser.add_argument("--trials", type=int, default=2, help="random inputs that it compares on")
    parser.add_argument("--device", default="cuda:0", help="where inputs are drawn")
    parser.add_argument("--out", type=Path, help="a JSON file for the rows")
    given = parser.parse_args(arguments)
    judge = evaluator(given.kernelbench.resolve())
    rows: list[dict[str, Any]] = []
    for run in (run for run in given.runs if (run / "verdict.json").exists()):
        row = asked(judge, run, given.trials, given.device)
        rows.append(row)
        agree = "agree   " if row["ours"] == row["theirs"] else "DISAGREE"
        print(f"{agree} {row['name']:44.44} ours {row['ours']}, KernelBench's {row['theirs']}", flush=True)
        if given.out:
            given.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    agreed = sum(row["ours"] == row["theirs"] for row in rows)
    print(f"{agreed} of {len(rows)} verdicts agree")
    return 0 if rows and agreed == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())

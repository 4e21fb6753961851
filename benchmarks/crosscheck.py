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
from akg_core.judge.records import Verdict
from akg_core.records import Artifact
from akg_core.runs import arguments_of

CORRECT = "correct"
UNJUDGED = "refuses the reference itself"
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
    """One kernel's row: our verdict, theirs over so many random inputs, what theirs says of an error, and seconds.

    `close`: within KernelBench's tolerance of eager on the reference's own inputs, by our judge. A reference that
    theirs refuses as a kernel for itself is none that it can judge.
    """
    began = time.monotonic()
    reference = (run / "reference.py").read_text()
    verdict = Verdict.model_validate_json((run / "verdict.json").read_text())
    drawn = [case for case in verdict.cases if case.kind == "drawn"]
    row: dict[str, Any] = {
        "name": run.name,
        "ours": verdict.status,
        "close": all(output.kernelbench for case in drawn for output in case.outputs),
    }
    kernel = single_file(Artifact(folder=run / "kernel", entry="model_new.py"), arguments_of(run))
    row |= _answer(judge, reference, kernel, trials, device)
    itself = f"{reference}\n\nclass ModelNew(Model):\n    pass\n"
    if not agree(row) and _answer(judge, reference, itself, trials, device)["theirs"] != CORRECT:
        row["theirs"] = UNJUDGED
    return row | {"seconds": round(time.monotonic() - began, 1)}


def agree(row: dict[str, Any]) -> bool:
    """Whether theirs accepts what ours does, as far as that is also as close to eager as theirs wants it."""
    return bool((row["theirs"] == CORRECT) == (row["ours"] == CORRECT and row["close"]))


def _answer(judge: ModuleType, reference: str, kernel: str, trials: int, device: str) -> dict[str, Any]:
    """What the evaluator says of a kernel's text."""
    with contextlib.redirect_stdout(io.StringIO()), torch.device(device):
        try:
            result = judge.eval_kernel_against_ref(reference, kernel, num_correct_trials=trials, backend="triton")
        except Exception as error:  # whatever the evaluator meets is its answer
            return {"theirs": f"raised {type(error).__name__}: {error}"}
        finally:
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
    return _verdict(result)


def _verdict(result: Any) -> dict[str, Any]:
    if result is None:
        return {"theirs": "gave no result"}
    said = {key: str(value)[:300] for key, value in result.metadata.items() if "error" in key}
    status = CORRECT if result.correctness else "incorrect" if result.compiled else "not compiled"
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
        said = "unjudged" if row["theirs"] == UNJUDGED else "agree   " if agree(row) else "DISAGREE"
        far = "" if row["close"] else " and further from eager than KernelBench allows"
        print(f"{said} {row['name']:44.44} ours {row['ours']}{far}, KernelBench's {row['theirs']}", flush=True)
        if given.out:
            given.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    judged = [row for row in rows if row["theirs"] != UNJUDGED]
    agreed = sum(map(agree, judged))
    print(f"{agreed} of {len(judged)} verdicts agree; {len(rows) - len(judged)} references are refused themselves")
    return 0 if judged and agreed == len(judged) else 1


if __name__ == "__main__":
    sys.exit(main())

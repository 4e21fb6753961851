"""The worker's side of level `emission`: cases as a plugin is given them, and what came out. JSON in, JSON out.

What is due is computed in the process that drew the inputs, once outputs are there, and stays in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from akg_core.records import Schedule
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse
from akg_core.testing.emission.given import chosen, dtypes_of, reference_of, sketch_given
from akg_core.testing.emission.running import Case, Results, compare_all
from akg_core.worker.tensors import TensorFileError, receive, save

_drawn: dict[str, Case] = {}


def draw_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{family, most, folder} → {trials: [{name, sketch, schedule, dtypes, folder}]}.

    In the folder of each lie its inputs, the state of its module, and the reference whose parameters it has.
    """
    trials = []
    for case in chosen(payload["family"], payload["most"]):
        _drawn[case.name] = case
        folder = Path(payload["folder"]) / case.name
        folder.mkdir()
        save(folder / "inputs", list(case.inputs))
        save(folder / "state", dict(case.parameters))
        (folder / "reference.py").write_text(reference_of(case), encoding="utf-8")
        trials.append(
            {
                "name": case.name,
                "sketch": sketch_given(case).model_dump(mode="json"),
                "schedule": Schedule(values=dict(case.schedule)).model_dump(mode="json"),
                "dtypes": sorted(dtypes_of(case)),
                "folder": str(folder),
            }
        )
    return {"trials": trials}


def compare_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{outputs: file by case} → {wrong: sentence by case}, of cases that this process has drawn."""
    wrong: dict[str, str] = {}
    for name, path in payload["outputs"].items():
        case = _drawn[name]
        try:
            compare_all(_found(case, Path(path)), _due(case), case.tolerance)
        except (AssertionError, TensorFileError) as error:
            wrong[name] = " ".join(str(error).split())
    return {"wrong": wrong}


def _due(case: Case) -> Results:
    held = {name: tensor.clone() for name, tensor in case.parameters.items()}
    schedule = Schedule(values=dict(case.schedule))
    return interpret(parse(case.text, case.name), case.inputs, held, schedule).outputs, held


def _found(case: Case, path: Path) -> Results:
    """What the harness wrote: outputs, and the state where it has changed."""
    answer = receive(path)
    result = answer["result"]
    results = tuple(result) if isinstance(result, (list, tuple)) else (result,)
    assert all(isinstance(each, Tensor) for each in results), "forward returns something else than tensors"
    changed = {name: answer["changed"].get(f"state {name}", tensor) for name, tensor in case.parameters.items()}
    return results, changed

"""Runs sketches with their kernels emitted to Triton and interpreted, and compares with the sketch's own interpreter.

`python simulated.py FOLDER` reads the names of cases, one a line, and answers each with a line of JSON: what was wrong,
"" where nothing was. It is a process of its own because Triton decides at import whether it interprets.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import traceback
from pathlib import Path
from typing import Any

from akg_triton import simulate

simulate.prepare()

import torch  # noqa: E402
import triton  # noqa: E402
from akg_plugin_triton_cuda.emit import dialect  # noqa: E402
from akg_triton.emit import functions, module_text  # noqa: E402
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

from akg_core.plugin import Target  # noqa: E402
from akg_core.plugin.sketch import ast  # noqa: E402
from akg_core.sketch.interpret.expression import Evaluator, Frame  # noqa: E402
from akg_core.sketch.interpret.tiles import TORCH  # noqa: E402
from akg_core.testing.emission import cases  # noqa: E402
from akg_core.testing.emission.running import Case, Launched, Run, compare_all  # noqa: E402

SM_90 = Target(backend="cuda", arch="sm_90")


class Simulated(Run):
    """A case's run in which every launch is emitted, written to `folder` and interpreted by Triton."""

    def __init__(self, case: Case, folder: Path) -> None:
        super().__init__(case)
        self.folder = folder

    def execute(self, launched: Launched) -> None:
        found = functions(launched.instance, dialect(SM_90))
        module = load(self.folder, launched.instance.symbol, module_text(found, dialect(SM_90))[0])
        known = {name.rstrip("_"): value for name, value in launched.sizes.items()}
        values = launched.frame.values

        def number(expr: ast.Expr) -> int:
            frame = Frame({name: values[name] for name in launched.sizes})
            for node in ast.walk(expr):
                if isinstance(node, ast.Name) and node.id not in frame.values:
                    frame.values[node.id] = values[node.id.rstrip("_")]
            return Evaluator().whole_number(expr, frame)

        for each in found:
            count = 1
            for extent, step in each.programs:
                count *= -(-number(extent) // number(step))
            count = min(count, 3) if each.most else count
            blocks = {name: triton.next_power_of_2(max(number(size), 1)) for name, size in each.blocks}
            workspaces = [
                torch.zeros(number(workspace.count), dtype=TORCH[workspace.dtype]) for workspace in each.workspaces
            ]
            sizes = [known[name.rstrip("_")] for name in each.sizes]
            tensors = [_described(t, dict(each.described).get(n)) for n, t in launched.tensors.items()]
            getattr(module, each.name)[(count,)](*tensors, *workspaces, *sizes, **blocks)


def _described(tensor: torch.Tensor, block: tuple[int, int] | None) -> Any:
    """The tensor as a function takes it: through a descriptor when it loads blocks of it."""
    return tensor if block is None else TensorDescriptor.from_tensor(tensor.view(-1, tensor.shape[-1]), [*block])


def load(folder: Path, name: str, text: str) -> Any:
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(f"simulated_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(case: Case, folder: Path) -> None:
    """Raises when a result or a parameter differs from the interpreter's."""
    compare_all(Simulated(case, folder).go(), Run(case).go(), case.tolerance)


def wrong(case: Case, folder: Path) -> str:
    """What is wrong with the case, in one line."""
    try:
        check(case, folder)
    except Exception as error:
        trace = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(trace.filename).name}:{trace.lineno})"
    return ""


if __name__ == "__main__":
    known = {case.name: case for case in (*cases.small(), *cases.random(60))}
    for line in sys.stdin:
        print(json.dumps(wrong(known[line.strip()], Path(sys.argv[1]))), flush=True)

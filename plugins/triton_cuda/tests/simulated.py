"""Runs sketches with their kernels emitted to Triton and interpreted, and compares with the sketch's own interpreter.

`python simulated.py FOLDER SHARD SHARDS` runs its share of the cases and prints a line of JSON for each: name, and
what was wrong. It is a process of its own because Triton decides at import whether it interprets.
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
from akg_plugin_triton_cuda.probe import dialect  # noqa: E402
from akg_triton.emit import functions, module_text  # noqa: E402
from compiled import Case, Run, compare  # noqa: E402

from akg_core.records import Target  # noqa: E402
from akg_core.sketch import ast  # noqa: E402
from akg_core.sketch.interpret import _bind_sizes  # noqa: E402
from akg_core.sketch.interpret_expression import Evaluator, Frame  # noqa: E402
from akg_core.sketch.lower import specialise  # noqa: E402
from akg_core.sketch.tiles import TORCH  # noqa: E402

SM_90 = Target(backend="cuda", arch="sm_90")


class Simulated(Run):
    """A program's run in which every launch is emitted, written to `folder` and interpreted by Triton."""

    def __init__(self, case: Case, folder: Path) -> None:
        super().__init__(case)
        self.folder = folder

    def _launch(self, launch: ast.Launch) -> None:
        kernel = self.tree.kernel(launch.kernel)
        tensors = {p.name: self.tensors[name] for p, name in zip(kernel.tensors, launch.tensors, strict=True)}
        frame = Frame(self._constants(kernel, launch))
        _bind_sizes(kernel.tensors, tensors, frame, launch.place)
        constants = {c.name: frame.values[c.name].value.item() for c in kernel.constants}
        sizes = {name: int(frame.values[name].value) for name in kernel.dimensions}
        symbol = f"{self.case.name}_{len(self.instances)}"
        self.instances.append(specialise(kernel, constants, sizes if self.case.static else {}, symbol))
        found = functions(self.instances[-1], dialect(SM_90))
        module = load(self.folder, symbol, module_text(found)[0])
        known = {name.rstrip("_"): value for name, value in sizes.items()}

        def number(expr: ast.Expr) -> int:
            frame_ = Frame({n: frame.values[n] for n in sizes})
            for node in ast.walk(expr):
                if isinstance(node, ast.Name) and node.id not in frame_.values:
                    frame_.values[node.id] = frame.values[node.id.rstrip("_")]
            return Evaluator().whole_number(expr, frame_)

        for each in found:
            count = 1
            for extent, step in each.programs:
                count *= -(-number(extent) // number(step))
            count = min(count, 3) if each.most else count
            blocks = {name: triton.next_power_of_2(max(number(size), 1)) for name, size in each.blocks}
            rooms = [torch.zeros(number(room.count), dtype=TORCH[room.dtype]) for room in each.rooms]
            values = [known[name.rstrip("_")] for name in each.sizes]
            getattr(module, each.name)[(count,)](*tensors.values(), *rooms, *values, **blocks)


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
    wanted, wanted_held = Run(case).go()
    found, held = Simulated(case, folder).go()
    for number, (ours, due) in enumerate(zip(found, wanted, strict=True)):
        compare(f"output {number}", ours, due, case.tolerance)
    for key, due in wanted_held.items():
        compare(key, held[key], due, case.tolerance)


def results(cases: list[Case], folder: Path) -> dict[str, str]:
    said = {}
    for case in cases:
        try:
            check(case, folder)
            said[case.name] = ""
        except Exception as error:
            trace = traceback.extract_tb(error.__traceback__)[-1]
            said[case.name] = f"{type(error).__name__}: {error} ({Path(trace.filename).name}:{trace.lineno})"
    return said


def cases() -> list[Case]:
    import cases_along
    import cases_hints
    import cases_maps
    import cases_rest
    from compiled import retimed
    from random_sketch import sketch

    families = (cases_maps, cases_along, cases_rest, cases_hints)
    static = [*(case for family in families for case in family.cases()), *cases_rest.twelve()]
    return [*static, *map(retimed, static), *(sketch(seed) for seed in range(60))]


if __name__ == "__main__":
    folder, shard, shards, *names = sys.argv[1:]
    chosen = [case for case in cases() if not names or case.name in names][int(shard) :: int(shards)]
    for name, wrong in results(chosen, Path(folder)).items():
        print(json.dumps({"name": name, "wrong": wrong}))

"""Runs sketches with their kernels emitted to TileLang and their TIR interpreted, beside the sketch's interpreter.

`python simulated.py FOLDER` reads the names of cases, one a line, and answers each with a line of JSON: what was wrong,
"" where nothing was. It is a process of its own, in the environment of the toolchain.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import traceback
from pathlib import Path

import staged
import torch
from akg_plugin_tilelang.emit import module_text
from akg_plugin_tilelang.emit.kernel import functions
from akg_plugin_tilelang.simulate import simulated

from akg_core.plugin.sketch import DTYPES, ast
from akg_core.plugin.tile import Workspace
from akg_core.sketch.interpret.expression import Evaluator, Frame
from akg_core.testing.emission import cases
from akg_core.testing.emission.running import Case, Launched, Run, compare_all

UNITS = 2  # programs of a persistent grid


class Simulated(Run):
    """A case's run in which every launch is emitted, written to `folder` and interpreted."""

    def __init__(self, case: Case, folder: Path) -> None:
        super().__init__(case)
        self.folder = folder

    def execute(self, launched: Launched) -> None:
        found = functions(launched.instance, UNITS)
        path = self.folder / f"{launched.instance.symbol}.py"
        path.write_text(module_text(found)[0])
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        known = {name.rstrip("_"): value for name, value in launched.sizes.items()}
        for each in found:
            function = getattr(module, each.name)
            if each.blocks:
                sizes = (self.number(size, launched) for _, size in each.blocks)
                function = function(*(1 << max(size - 1, 0).bit_length() for size in sizes))
            tensors = [*launched.tensors.values(), *(self.memory(w, launched) for w in each.workspaces)]
            simulated(function)(*tensors, *(known[name.rstrip("_")] for name in each.sizes))

    def memory(self, workspace: Workspace, launched: Launched) -> torch.Tensor:
        """What a launch allocates beside the sketch's tensors."""
        sizes = [self.number(size, launched) for size in workspace.dims]
        dtype = getattr(torch, DTYPES[workspace.dtype].torch)
        return torch.zeros(sizes, dtype=dtype) if workspace.zeroed else torch.full(sizes, -7, dtype=dtype)

    def number(self, expr: ast.Expr, launched: Launched) -> int:
        values = launched.frame.values
        frame = Frame({name: values[name] for name in launched.sizes})
        for node in ast.walk(expr):
            if isinstance(node, ast.Name) and node.id not in frame.values:
                frame.values[node.id] = values[node.id.rstrip("_")]
        return Evaluator().whole_number(expr, frame)


def wrong(case: Case, folder: Path) -> str:
    """What is wrong with the case, in one line."""
    try:
        compare_all(Simulated(case, folder).go(), Run(case).go(), case.tolerance)
    except Exception as error:
        trace = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(trace.filename).name}:{trace.lineno})"
    return ""


if __name__ == "__main__":
    known = {case.name: case for case in (*cases.small(), *staged.staged())}
    for line in sys.stdin:
        print(json.dumps(wrong(known[line.strip()], Path(sys.argv[1]))), flush=True)

"""A `ModelNew` whose kernels are interpreted: from a reference's text to what its users import, without any plugin."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor

from akg_core.design import design
from akg_core.lower.host.module import write_module
from akg_core.records import Schedule, Sketch, Task, Traits
from akg_core.sketch import ast
from akg_core.sketch.interpret import _ProgramRun
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of
from akg_core.sketch.schedule import bind
from akg_core.task.capture import capture
from akg_core.task.source.load import ReferenceModule, load_source

_names = itertools.count()


def interpreted(source: str, folder: Path, **options: Any) -> tuple[ReferenceModule, Task, ModuleType]:
    """A loaded reference, its task as it comes out of JSON, and the module of its first sketch."""
    reference = load_source(source, "ref")
    task = Task.model_validate_json(capture(reference, **options).model_dump_json())
    return reference, task, module_of(design(task, Traits())[0], source, folder)


def module_of(sketch: Sketch, source: str, folder: Path) -> ModuleType:
    """model_new.py of a sketch, imported."""
    tree = bind(parse(sketch.text), Schedule())
    text = write_module(sketch, tree, lambda call: f"LAUNCH({call.index}, {', '.join(call.tensors)})", "")
    (folder / "model_new.py").write_text(text)
    (folder / "reference.py").write_text(source)
    spec = importlib.util.spec_from_file_location(f"interpreted_{next(_names)}", folder / "model_new.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = program_of(tree)
    launches = [node for node in program.body if isinstance(node, ast.Launch)]

    def launch(index: int, *tensors: Tensor) -> None:
        run = _ProgramRun(tree, program)
        run.tensors = dict(zip(launches[index].tensors, tensors, strict=True))
        run._launch(launches[index])

    vars(module)["LAUNCH"] = launch
    return module

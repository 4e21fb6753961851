"""Lowers a checked sketch to Triton: a function for each parallel region of each way in which a kernel is launched."""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.plugin import KernelSource, Schedule, Sketch, Target
from akg_core.plugin.lower import Call, Line, annotated, instances, write_module
from akg_core.plugin.sketch import bind, parse, require
from akg_triton.described import DESCRIPTION, describe
from akg_triton.dialect import Dialect
from akg_triton.emit.function import Function
from akg_triton.emit.kernel import functions
from akg_triton.emit.scalars import floats_of, with_floats
from akg_triton.launch import Launched, device_of, prelude, statement
from akg_triton.library import library

SOURCE = "kernel.py"
HEAD = '''"""Triton kernels made from a sketch; the comments at the right name its lines."""

import triton
import triton.language as tl
'''


def emit(sketch: Sketch, schedule: Schedule, target: Target, plugin: str, dialect: Dialect) -> KernelSource:
    """`kernel.py` with the functions and `model_new.py` that launches them. Raises SketchError for a bad sketch."""
    tree = bind(require(parse(sketch.text, sketch.name), sketch.name), schedule)
    floats = floats_of(sketch.interface, dialect)
    launched = {call.index: with_floats(instance, floats) for call, instance in instances(tree)}
    made = {instance.symbol: functions(instance, dialect) for instance in dict.fromkeys(launched.values())}
    text, origin = module_text([f for found in made.values() for f in found], dialect)
    records: list[Launched] = []

    def launch(call: Call) -> str:
        instance = launched[call.index]
        lines = []
        for each in made[instance.symbol]:
            record, line = statement(each, instance, call)
            records.append(record)
            lines.append(line)
        return "\n".join(lines)

    found = [each for functions in made.values() for each in functions]
    module = write_module(sketch, tree, launch, prelude(found, dialect), device_of(found, dialect.device), floats)
    described = describe([record.described() for record in dict.fromkeys(records)], module)
    return KernelSource(
        plugin=plugin,
        target=target,
        files={SOURCE: text, "model_new.py": module, DESCRIPTION: described},
        line_map={f"{SOURCE}:{line}": place for line, place in origin.items()},
    )


def module_text(found: Sequence[Function], dialect: Dialect) -> tuple[str, dict[int, int]]:
    """The text of kernel.py and its map from line to line of the sketch."""
    needed = frozenset[str]().union(*(each.needs for each in found))
    imported, helpers = library(needed, dialect.helpers, dialect.functions)
    head = [*HEAD.splitlines(), *([imported] if imported else []), "", *helpers.splitlines()]
    lines = [Line(text) for text in head]
    for each in found:
        lines += [Line(""), Line(""), *each.lines]
    return annotated(lines, "#")

"""Lowers a checked sketch to Triton: a function for each parallel region of each way in which a kernel is launched."""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.plugin import KernelSource, Schedule, Sketch, Target
from akg_core.plugin.lower import (
    Call,
    Line,
    annotated,
    float_dtype,
    instances,
    read_elsewhere,
    with_bits,
    with_floats,
    write_module,
)
from akg_core.plugin.sketch import bind, parse, require
from akg_triton.dialect import Dialect
from akg_triton.emit.function import Function
from akg_triton.emit.kernel import functions
from akg_triton.launch import Launched, device_of, prelude, statement
from akg_triton.library import library
from akg_triton.manifest import DESCRIPTION, describe

SOURCE = "kernel.py"
HEAD = '''"""Triton kernels made from a sketch; the comments at the right name its lines."""

import triton
import triton.language as tl
'''


def emit(sketch: Sketch, schedule: Schedule, target: Target, plugin: str, dialect: Dialect) -> KernelSource:
    """`kernel.py` with the functions and `model_new.py` that launches them. Raises SketchError for a bad sketch."""
    tree = bind(require(parse(sketch.text, sketch.name), sketch.name), schedule)
    floats = float_dtype(sketch.interface, dialect.lacks)
    launched = {
        call.index: with_bits(with_floats(instance, floats), dialect.lacks) for call, instance in instances(tree)
    }
    read = read_elsewhere(tree)
    made = {
        instance.symbol: functions(instance, dialect, read.get(instance.kernel.name, frozenset()))
        for instance in dict.fromkeys(launched.values())
    }
    found = [function for each in made.values() for function in each]
    text, origin = module_text(found, dialect)
    records: list[Launched] = []

    def launch(call: Call) -> str:
        instance = launched[call.index]
        for sizes in (sketch.symbols, *(() if dialect.spills else sketch.cases)):  # each may ask for other lanes
            stated = [statement(each, instance, call, sizes) for each in made[instance.symbol]]
            records.extend(record for record, _ in stated)
        return "\n".join(line for _, line in stated)

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

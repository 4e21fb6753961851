"""Lowers a checked sketch to C++20: one function for each different way in which the program launches a kernel."""

from __future__ import annotations

from collections.abc import Iterable

from akg_core.plugin import KernelSource, Schedule, Sketch, Target
from akg_core.plugin.lower import Call, Instance, Line, annotated, instances, write_module
from akg_core.plugin.sketch import bind, parse, require, show_expression
from akg_plugin_cpp_cpu.emit.kernel import function
from akg_plugin_cpp_cpu.launch import prelude, statement

SOURCE = "kernel.cpp"
HEAD = """// Generated from a sketch; the comments at the right name its lines.
#include <algorithm>

#include "akg/nest.hpp"

namespace akg {
"""


def emit(sketch: Sketch, schedule: Schedule, target: Target) -> KernelSource:
    """`kernel.cpp` with the functions and `model_new.py` that launches them. Raises SketchError for a bad sketch."""
    tree = bind(require(parse(sketch.text, sketch.name), sketch.name), schedule)
    launched = {call.index: instance for call, instance in instances(tree)}
    unique = tuple(dict.fromkeys(launched.values()))
    text, origin = translation_unit(unique)

    def launch(call: Call) -> str:
        instance = launched[call.index]
        numbers = [show_expression(call.constants[name]) for name in instance.open]
        return statement(f"akg_{instance.symbol}", call.tensors, [*call.sizes.values(), *numbers])

    symbols = [f"akg_{instance.symbol}" for instance in unique]
    module = write_module(sketch, tree, launch, prelude(symbols))
    return KernelSource(
        plugin="cpp_cpu",
        target=target,
        files={SOURCE: text, "model_new.py": module},
        line_map={f"{SOURCE}:{line}": place for line, place in origin.items()},
    )


def translation_unit(found: Iterable[Instance]) -> tuple[str, dict[int, int]]:
    """The text of kernel.cpp and its map from line to line of the sketch."""
    lines = [Line(text) for text in HEAD.splitlines()]
    for instance in found:
        lines.append(Line(""))
        lines += function(instance)
    lines += [Line(""), Line("}  // namespace akg")]
    return annotated(lines, "//")

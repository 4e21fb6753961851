"""Lowers a checked sketch to C++20: one function for each different way in which the program launches a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from akg_core.plugin import KernelSource, Schedule, Sketch, Target
from akg_core.plugin.lower import Call, Instance, Line, annotated, instances, write_module
from akg_core.plugin.sketch import bind, parse, require, show_expression
from akg_plugin_cpp_cpu.emit.kernel import function
from akg_plugin_cpp_cpu.launch import prelude, statement

_LINES = 1000
HEAD = """// Generated from a sketch; the comments at the right name its lines.
#include <algorithm>

#include "akg/nest.hpp"

namespace akg {
"""


def emit(sketch: Sketch, schedule: Schedule, target: Target) -> KernelSource:
    """`kernel.cpp` with the functions and `model_new.py` that launches them. Raises SketchError for a bad sketch.

    Many functions are in several files, which are compiled side by side: kernel.cpp, kernel_2.cpp, …
    """
    tree = bind(require(parse(sketch.text, sketch.name), sketch.name), schedule)
    launched = {call.index: instance for call, instance in instances(tree)}
    unique = tuple(dict.fromkeys(launched.values()))

    def launch(call: Call) -> str:
        instance = launched[call.index]
        numbers = [show_expression(call.constants[name]) for name in instance.open]
        return statement(f"akg_{instance.symbol}", call.tensors, [*call.sizes.values(), *numbers])

    files, line_map = dict[str, str](), dict[str, int]()
    for number, (text, origin) in enumerate(translation_units(unique), 1):
        name = f"kernel_{number}.cpp" if number > 1 else "kernel.cpp"
        files[name] = text
        line_map |= {f"{name}:{line}": place for line, place in origin.items()}
    symbols = [f"akg_{instance.symbol}" for instance in unique]
    files["model_new.py"] = write_module(sketch, tree, launch, prelude(symbols))
    return KernelSource(plugin="cpp_cpu", target=target, files=files, line_map=line_map)


def translation_units(found: Iterable[Instance]) -> Iterator[tuple[str, dict[int, int]]]:
    """The text of each file, of about `_LINES` lines at most, and its map from line to line of the sketch."""
    head = [Line(text) for text in HEAD.splitlines()]
    lines = head
    for instance in found:
        if len(lines) > _LINES:
            yield _unit(lines)
            lines = head
        lines = [*lines, Line(""), *function(instance)]
    yield _unit(lines)


def _unit(lines: list[Line]) -> tuple[str, dict[int, int]]:
    return annotated([*lines, Line(""), Line("}  // namespace akg")], "//")

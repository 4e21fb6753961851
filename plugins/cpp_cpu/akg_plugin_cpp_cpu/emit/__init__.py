"""Lowers a checked sketch to C++20: one function for each different way in which the program launches a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from akg_core.plugin import KernelSource, Schedule, Sketch, Target
from akg_core.plugin.lower import Call, Instance, Line, TurnsLauncher, annotated, instances, write_module
from akg_core.plugin.sketch import bind, parse, require, show_expression
from akg_plugin_cpp_cpu.emit.kernel import Function, function
from akg_plugin_cpp_cpu.launch import all_turns, launch, prelude, statement

_LINES = 1000
HEAD = """// Generated from a sketch; the comments at the right name its lines.
#include <algorithm>

#include "akg/nest.hpp"

namespace akg {
"""
TURNS = """
extern "C" void all_turns(i64 count, i64 number, const Launch* launches, i64 together) {
    turns(count, number, launches, together != 0);
}
"""


def emit(sketch: Sketch, schedule: Schedule, target: Target) -> KernelSource:
    """`kernel.cpp` with the functions and `model_new.py` that launches them. Raises SketchError for a bad sketch.

    Many functions are in several files, which are compiled side by side: kernel.cpp, kernel_2.cpp, …
    """
    tree = bind(require(parse(sketch.text, sketch.name), sketch.name), schedule)
    launched = {call.index: instance for call, instance in instances(tree)}
    unique = tuple(dict.fromkeys(launched.values()))
    in_turns: dict[Instance, Function] = {}

    def given(call: Call) -> tuple[str, tuple[str, ...], list[str]]:
        instance = launched[call.index]
        numbers = [show_expression(call.constants[name]) for name in instance.open]
        return f"akg_{instance.symbol}", call.tensors, [*call.sizes.values(), *numbers]

    def turns(text: str, calls: Sequence[Call]) -> str:
        of_turn = [launched[call.index] for call in calls]
        in_turns.update({each: function(each, in_turns=True) for each in of_turn if each not in in_turns})
        made = [in_turns[each] for each in of_turn]
        return all_turns(text, all(each.shares for each in made) and any(each.is_heavy for each in made))

    launcher = TurnsLauncher(lambda call: launch(*given(call)), turns)
    symbols = [f"akg_{instance.symbol}" for instance in unique]
    module = write_module(sketch, tree, lambda call: statement(*given(call)), prelude(symbols), launcher=launcher)
    files, line_map = dict[str, str](), dict[str, int]()
    functions = ((in_turns.get(each) or function(each)).lines for each in unique)
    own = TURNS.splitlines() if in_turns else []
    for number, (text, origin) in enumerate(translation_units(functions, own), 1):
        name = f"kernel_{number}.cpp" if number > 1 else "kernel.cpp"
        files[name] = text
        line_map |= {f"{name}:{line}": place for line, place in origin.items()}
    files["model_new.py"] = module
    return KernelSource(plugin="cpp_cpu", target=target, files=files, line_map=line_map)


def translation_units(
    functions: Iterable[Sequence[Line]], own: Iterable[str] = ()
) -> Iterator[tuple[str, dict[int, int]]]:
    """The text of each file, of about `_LINES` lines at most, and its map from line to line of the sketch.

    `functions`: the lines of each. `own`: lines that the first file has beside them.
    """
    head = [Line(text) for text in HEAD.splitlines()]
    lines = [*head, *map(Line, own)]
    for function_lines in functions:
        if len(lines) > _LINES:
            yield _unit(lines)
            lines = head
        lines = [*lines, Line(""), *function_lines]
    yield _unit(lines)


def _unit(lines: list[Line]) -> tuple[str, dict[int, int]]:
    return annotated([*lines, Line(""), Line("}  // namespace akg")], "//")

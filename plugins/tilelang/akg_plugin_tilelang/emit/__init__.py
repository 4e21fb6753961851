"""Lowers a checked sketch to TileLang: a function for each region of each way in which a kernel is launched."""

from __future__ import annotations

from collections.abc import Sequence

from akg_cuda.chips import capability_of, units_of
from akg_cuda.together import TOGETHER

from akg_core.plugin import KernelSource, Schedule, Sketch, Target
from akg_core.plugin.lower import Call, Line, annotated, instances, write_module
from akg_core.plugin.sketch import bind, parse, require
from akg_plugin_tilelang.emit.functions import support
from akg_plugin_tilelang.emit.kernel import Function, functions
from akg_plugin_tilelang.launch import DEVICE, PRELUDE, statement

SOURCE = "kernel.py"
HEAD = '''"""TileLang kernels made from a sketch; the comments at the right name its lines."""

import tilelang.language as T
'''


def emit(sketch: Sketch, schedule: Schedule, target: Target) -> KernelSource:
    """`kernel.py` with the functions and `model_new.py` that launches them. Raises SketchError for a bad sketch."""
    tree = bind(require(parse(sketch.text, sketch.name), sketch.name), schedule)
    launched = {call.index: instance for call, instance in instances(tree)}
    units = units_of(capability_of(target))
    made = {instance.symbol: functions(instance, units) for instance in dict.fromkeys(launched.values())}
    found = [each for group in made.values() for each in group]
    text, origin = module_text(found)

    def launch(call: Call) -> str:
        instance = launched[call.index]
        return "\n".join(statement(each, instance, call) for each in made[instance.symbol])

    together = f"\n{TOGETHER}\n" if any(each.members for each in found) else ""
    launchers = "\n".join(f"_launch_{each.name} = _Launcher(_kernel.{each.name}, {each.written})" for each in found)
    prelude = f"{PRELUDE}{together}{launchers}\n"
    return KernelSource(
        plugin="tilelang",
        target=target,
        files={
            SOURCE: text,
            "model_new.py": write_module(sketch, tree, launch, prelude, DEVICE),
        },
        line_map={f"{SOURCE}:{line}": place for line, place in origin.items()},
    )


def module_text(found: Sequence[Function]) -> tuple[str, dict[int, int]]:
    """The text of kernel.py and its map from line to line of the sketch."""
    needed = frozenset[str]().union(*(each.needs for each in found))
    lines = [Line(text) for text in (HEAD + support(needed)).splitlines()]
    for each in found:
        lines += [Line(""), Line(""), *each.lines]
    return annotated(lines, "#")

"""A plugin of a chip with little room: cpp_cpu, whose compiler refuses tiles above a size, or all of some sketches.

How strict it is lies in a file, whose path is the variable TIGHT. "tiles": the largest tile that fits. "never": the end
of the names of sketches that fit with no tiles at all. "fault": that of sketches that do not compile. "spills": the
largest tile of which nothing is spilled.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from akg_plugin_cpp_cpu import plugin as cpp_cpu
from akg_plugin_cpp_cpu.plugin import akg_run  # noqa: F401

from akg_core.hookspecs import hookimpl
from akg_core.records import Availability, CompileResult, KernelSource, PluginInfo, Schedule, Shortage, Sketch, Target
from tests.conformance import toy

NAME = "tight"
_BUILT = "built.json"  # among the sources: of which sketch, under which schedule
_MANY = 1 << 40


@hookimpl
def akg_plugin_info() -> PluginInfo:
    return cpp_cpu.akg_plugin_info().model_copy(update={"name": NAME})


@hookimpl
def akg_probe(target: Target) -> Availability:
    """Nothing is timed, which would take longer than all the rest."""
    return cpp_cpu.akg_probe(target).model_copy(update={"simulated": True, "reason": "Nobody asks for times."})


@hookimpl
def akg_emit(sketch: Sketch, schedule: Schedule, target: Target) -> KernelSource:
    source = cpp_cpu.akg_emit(sketch, schedule, target)
    built = {"name": sketch.name, "tiles": schedule.values}
    return source.model_copy(update={"files": {**source.files, _BUILT: json.dumps(built)}})


@hookimpl
def akg_compile(source: KernelSource, target: Target, workdir: Path) -> CompileResult:
    built = json.loads(source.files[_BUILT])
    strict = json.loads(Path(os.environ["TIGHT"]).read_text())
    if "fault" in strict and built["name"].endswith(strict["fault"]):
        return CompileResult(ok=False, seconds=0.0, log="kernel.cpp:1:1: error: nobody can compile this")
    never = "never" in strict and built["name"].endswith(strict["never"])
    room = 0 if never else strict.get("tiles", _MANY)
    largest: dict[str, int] = {}
    for key, tile in built["tiles"].items():
        kernel = key.partition(".")[0]
        largest[kernel] = max(largest.get(kernel, 0), tile)
    short = [Shortage(kernel=k, of="positions", needs=tile, has=room) for k, tile in largest.items() if tile > room]
    if short:
        return CompileResult(ok=False, seconds=0.0, log="too large", shortages=tuple(short))
    compiled = cpp_cpu.akg_compile(source, target, workdir)
    spilled = {kernel: _MANY * tile for kernel, tile in largest.items() if tile > strict.get("spills", _MANY)}
    return compiled.model_copy(update={"spilled": spilled})


def install(folder: Path) -> None:
    """Leave the plugin in `folder` as pip would."""
    toy.write(folder, toy.distribution(NAME, __name__))

"""The one package of akg-core that plugins import; everything else in akg-core may change without a word.

akg_core.plugin               the marker of hooks, the records that cross, devices, errors, and what builds need
akg_core.plugin.sketch        the sketch language: its tree, dtypes and operations; parse, check, bind, show
akg_core.plugin.lower         what emitters print: instances, the tile IR, loop nests, model_new.py, lines of source
akg_core.plugin.tile          passes of the tile IR, for languages of tiles
akg_core.plugin.resources     what a schedule needs on a chip, by the chip's numbers
akg_core.plugin.helper        a process beside the warm parents that answers builds from what it has made once
akg_core.plugin.check_source  what a kernel's Python files must not do, found by reading
akg_core.plugin.harness       running and timing a kernel that is a Python module (imports torch: in workers only)

Tests of plugins import `akg_core.testing` besides. This module imports nothing heavy: every command loads it.
"""

from akg_core import hookspecs, machine
from akg_core.device import HOST, Device, DeviceClock, Lane
from akg_core.errors import AkgError, SketchError, ToolchainError, Unsupported
from akg_core.hookspecs import deferred, hookimpl
from akg_core.pages import read_pages
from akg_core.records import (
    Advice,
    Argument,
    Artifact,
    Availability,
    Case,
    CaseReport,
    Choice,
    CompileResult,
    DocPage,
    Environment,
    Finding,
    Interface,
    KernelSource,
    Parameter,
    PluginInfo,
    ProfileReport,
    RunReport,
    Scalar,
    Schedule,
    Shortage,
    Sketch,
    Target,
    TimingPlan,
    Traits,
)
from akg_core.storage import cache_folder, prune, write_whole
from akg_core.toolchain import advice_on, explained, kernels_of, version_of, with_sketch_lines, write_source
from akg_core.worker.usage import cores, processors

__all__ = [
    "HOST",
    "Advice",
    "AkgError",
    "Argument",
    "Artifact",
    "Availability",
    "Case",
    "CaseReport",
    "Choice",
    "CompileResult",
    "Device",
    "DeviceClock",
    "DocPage",
    "Environment",
    "Finding",
    "Interface",
    "KernelSource",
    "Lane",
    "Parameter",
    "PluginInfo",
    "ProfileReport",
    "RunReport",
    "Scalar",
    "Schedule",
    "Shortage",
    "Sketch",
    "SketchError",
    "Target",
    "TimingPlan",
    "ToolchainError",
    "Traits",
    "Unsupported",
    "advice_on",
    "cache_folder",
    "cores",
    "deferred",
    "explained",
    "hookimpl",
    "hookspecs",
    "kernels_of",
    "machine",
    "processors",
    "prune",
    "read_pages",
    "version_of",
    "with_sketch_lines",
    "write_source",
    "write_whole",
]

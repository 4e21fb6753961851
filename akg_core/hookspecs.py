"""The plugin contract: every hook, in one file.

A plugin is a module registered under the entry-point group `akg` whose functions carry the marker
`hookimpl` and these names, or are `deferred` to another module. Hooks are plain functions over the records of
`akg_core.records`, addressed to the one selected plugin, never broadcast. A hook that is absent says "unsupported".
Where a plugin names an environment for its toolchain, `akg_probe`, `akg_compile`, `akg_compile_all`, `akg_run` and
`akg_profile` are called there, `akg_check_source` and `akg_explain` in either place, all others beside core.

    from akg_core.plugin import PluginInfo, hookimpl

    @hookimpl
    def akg_plugin_info() -> PluginInfo:
        return PluginInfo(name="toy", dsl="toy", backends=("cpu",), dtypes=("f32",), source_suffix=".toy")
"""

from __future__ import annotations

import functools
import inspect
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pluggy

if TYPE_CHECKING:
    from akg_core.device import Device
    from akg_core.records import (
        Advice,
        Artifact,
        Availability,
        Case,
        CompileResult,
        DocPage,
        Finding,
        KernelSource,
        PluginInfo,
        ProfileReport,
        RunReport,
        Schedule,
        Sketch,
        Target,
        TimingPlan,
    )

GROUP = "akg"

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)
Hook = TypeVar("Hook", bound=Callable[..., Any])


def deferred(hook: Hook, place: str) -> Hook:
    """A hook by the function at `place`, "package.module:function", which is imported when the hook is called.

    The function takes, by their names, those of the hook's arguments that it needs.
    """

    @hookimpl
    @functools.wraps(hook)
    def call(*given: Any, **named: Any) -> Any:
        function = pkgutil.resolve_name(place)
        arguments = inspect.signature(hook).bind(*given, **named).arguments
        return function(*(arguments[name] for name in inspect.signature(function).parameters))

    return cast(Hook, call)


@hookspec(firstresult=True)
def akg_plugin_info() -> PluginInfo:
    """Say who you are. Instant; imports nothing heavy. Since 0.1."""


@hookspec(firstresult=True)
def akg_probe(target: Target) -> Availability:
    """Say whether compiler and device are here, and if not why and what to install. Never raises. Since 0.1."""


@hookspec(firstresult=True)
def akg_docs() -> tuple[DocPage, ...]:
    """Give the pages that a code generator must read before writing this DSL. Since 0.1."""


@hookspec(firstresult=True)
def akg_refine_sketch(sketch: Sketch, target: Target) -> tuple[Sketch, ...]:
    """Give this chip's own views of a sketch: other Tune choices, hints, variants. Since 0.1."""


@hookspec(firstresult=True)
def akg_emit(sketch: Sketch, schedule: Schedule, target: Target) -> KernelSource:
    """Lower a checked sketch under a schedule to source, without any model. Since 0.1."""


@hookspec(firstresult=True)
def akg_check_source(source: KernelSource, target: Target) -> tuple[Finding, ...]:
    """Name what this DSL forbids, by reading: no kernel, a fallback to the library, … Since 0.1."""


@hookspec(firstresult=True)
def akg_compile(source: KernelSource, target: Target, workdir: Path) -> CompileResult:
    """Build the source in `workdir`. A compile error is a result, not an exception. Since 0.1."""


@hookspec(firstresult=True)
def akg_compile_all(
    sources: tuple[KernelSource, ...], target: Target, workdirs: tuple[Path, ...]
) -> tuple[CompileResult, ...]:
    """Build each source in its folder, all at once; without it each is built by itself, side by side. Since 0.1."""


@hookspec(firstresult=True)
def akg_device(target: Target) -> Device:
    """Give the device that kernels for `target` run on here, for harness and judge; without it, the host. Since 0.1."""


@hookspec(firstresult=True)
def akg_run(artifact: Artifact, target: Target, cases: tuple[Case, ...]) -> RunReport:
    """Run the cases and write their outputs. Called in a worker process, never in the user's. Since 0.1."""


@hookspec(firstresult=True)
def akg_profile(artifact: Artifact, target: Target, case: Case, plan: TimingPlan) -> ProfileReport:
    """Time one case and give the raw samples. Called again and again, in turns with a baseline. Since 0.1."""


@hookspec(firstresult=True)
def akg_explain(log: str, target: Target) -> tuple[Advice, ...]:
    """Translate a compiler's or the runtime's error into what to change. Since 0.1."""

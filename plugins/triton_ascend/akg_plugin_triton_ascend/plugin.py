"""The hooks of the plugin, each one a line: what they do is in the module of the same name."""

from __future__ import annotations

from pathlib import Path

from akg_core.plugin import (
    Advice,
    Artifact,
    Availability,
    Case,
    CompileResult,
    Device,
    DocPage,
    Environment,
    Finding,
    KernelSource,
    PluginInfo,
    ProfileReport,
    RunReport,
    Schedule,
    Sketch,
    Target,
    TimingPlan,
    hookimpl,
    read_pages,
)


@hookimpl
def akg_plugin_info() -> PluginInfo:
    return PluginInfo(
        name="triton_ascend",
        dsl="triton",
        backends=("ascend",),
        dtypes=("f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"),
        source_suffix=".py",
        summary="Triton for Ascend NPUs; without one, compiled ahead and simulated",
        modules=("triton", "torch_npu"),
        environment=Environment(
            requirements=("triton-ascend==3.2.0", "ascendnpu-ir==1.2.0", "pybind11>=2.13", "attrs", "numpy>=1.26,<2"),
            toolchain="triton-ascend",
            pythons=("3.11", "3.10"),
        ),
    )


@hookimpl
def akg_probe(target: Target) -> Availability:
    from akg_plugin_triton_ascend.probe import probe

    return probe(target)


@hookimpl
def akg_docs() -> tuple[DocPage, ...]:
    return read_pages(Path(__file__).parent)


@hookimpl
def akg_refine_sketch(sketch: Sketch, target: Target) -> tuple[Sketch, ...]:
    from akg_plugin_triton_ascend.refine import refine

    return refine(sketch)


@hookimpl
def akg_emit(sketch: Sketch, schedule: Schedule, target: Target) -> KernelSource:
    from akg_plugin_triton_ascend.emit import emit

    return emit(sketch, schedule, target)


@hookimpl
def akg_check_source(source: KernelSource, target: Target) -> tuple[Finding, ...]:
    from akg_triton.check_source import check_source

    return check_source(source)


@hookimpl
def akg_compile(source: KernelSource, target: Target, workdir: Path) -> CompileResult:
    from akg_plugin_triton_ascend.compile import compile_kernel

    return compile_kernel(source, target, workdir)


@hookimpl
def akg_device(target: Target) -> Device:
    from akg_plugin_triton_ascend.harness import device_of

    return device_of(target)


@hookimpl
def akg_run(artifact: Artifact, target: Target, cases: tuple[Case, ...]) -> RunReport:
    from akg_plugin_triton_ascend.harness import run

    return run(artifact, target, cases)


@hookimpl
def akg_profile(artifact: Artifact, target: Target, case: Case, plan: TimingPlan) -> ProfileReport:
    from akg_plugin_triton_ascend.harness import profile

    return profile(artifact, target, case, plan)


@hookimpl
def akg_explain(log: str, target: Target) -> tuple[Advice, ...]:
    from akg_plugin_triton_ascend.explain import explain

    return explain(log)

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
        name="tilelang",
        dsl="tilelang",
        backends=("cuda",),
        dtypes=("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"),
        source_suffix=".py",
        summary="TileLang for NVIDIA GPUs; without one, compiled to cubins and simulated",
        environment=Environment(
            requirements=(
                "tilelang==0.1.15",
                "apache-tvm-ffi==0.1.12",
                "z3-solver==4.15.4.0",
                "cuda-toolkit[cccl,cudart,nvcc]>=13",  # of one version, as torch's own parts of it are
            ),
            toolchain="tilelang",
        ),
        warm=("akg_plugin_tilelang.warm",),
        modules=("tilelang", "tvm"),
    )


@hookimpl
def akg_probe(target: Target) -> Availability:
    from akg_plugin_tilelang.probe import probe

    return probe(target)


@hookimpl
def akg_docs() -> tuple[DocPage, ...]:
    return read_pages(Path(__file__).parent)


@hookimpl
def akg_refine_sketch(sketch: Sketch, target: Target) -> tuple[Sketch, ...]:
    return (sketch,)


@hookimpl
def akg_emit(sketch: Sketch, schedule: Schedule, target: Target) -> KernelSource:
    from akg_plugin_tilelang.emit import emit

    return emit(sketch, schedule, target)


@hookimpl
def akg_check_source(source: KernelSource, target: Target) -> tuple[Finding, ...]:
    from akg_plugin_tilelang.check_source import check_source

    return check_source(source)


@hookimpl
def akg_compile(source: KernelSource, target: Target, workdir: Path) -> CompileResult:
    from akg_plugin_tilelang.compile import compile_kernel

    return compile_kernel(source, target, workdir)


@hookimpl
def akg_device(target: Target) -> Device:
    from akg_plugin_tilelang.harness import device_of

    return device_of(target)


@hookimpl
def akg_run(artifact: Artifact, target: Target, cases: tuple[Case, ...]) -> RunReport:
    from akg_plugin_tilelang.harness import run

    return run(artifact, target, cases)


@hookimpl
def akg_profile(artifact: Artifact, target: Target, case: Case, plan: TimingPlan) -> ProfileReport:
    from akg_plugin_tilelang.harness import profile

    return profile(artifact, target, case, plan)


@hookimpl
def akg_explain(log: str, target: Target) -> tuple[Advice, ...]:
    from akg_plugin_tilelang.explain import explain

    return explain(log)

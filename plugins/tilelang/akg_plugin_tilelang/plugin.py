"""Who the plugin is, and where each of its hooks is: mostly in the module of the same name."""

from __future__ import annotations

from pathlib import Path

from akg_core.plugin import DocPage, Environment, PluginInfo, deferred, hookimpl, hookspecs, read_pages


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
                # of one version, as torch's own parts of it are; precompiled headers are three times as large from 13.4
                "cuda-toolkit[cccl,crt,cudart,nvcc,nvrtc,nvvm]>=13,<13.4",
            ),
            toolchain="tilelang",
        ),
        warm=("akg_plugin_tilelang.warm",),
        modules=("tilelang", "tvm"),
    )


@hookimpl
def akg_docs() -> tuple[DocPage, ...]:
    return read_pages(Path(__file__).parent)


akg_probe = deferred(hookspecs.akg_probe, "akg_plugin_tilelang.probe:probe")
akg_emit = deferred(hookspecs.akg_emit, "akg_plugin_tilelang.emit:emit")
akg_check_source = deferred(hookspecs.akg_check_source, "akg_plugin_tilelang.check_source:check_source")
akg_compile = deferred(hookspecs.akg_compile, "akg_plugin_tilelang.compile:compile_kernel")
akg_device = deferred(hookspecs.akg_device, "akg_plugin_tilelang.harness:device_of")
akg_run = deferred(hookspecs.akg_run, "akg_plugin_tilelang.harness:run")
akg_profile = deferred(hookspecs.akg_profile, "akg_plugin_tilelang.harness:profile")
akg_explain = deferred(hookspecs.akg_explain, "akg_plugin_tilelang.explain:explain")

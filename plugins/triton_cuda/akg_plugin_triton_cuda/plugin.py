"""Who the plugin is, and where each of its hooks is: mostly in the module of the same name."""

from __future__ import annotations

from pathlib import Path

from akg_core.plugin import DocPage, PluginInfo, deferred, hookimpl, hookspecs, read_pages


@hookimpl
def akg_plugin_info() -> PluginInfo:
    return PluginInfo(
        name="triton_cuda",
        dsl="triton",
        backends=("cuda",),
        dtypes=("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"),
        source_suffix=".py",
        summary="Triton for NVIDIA GPUs; without one, compiled ahead and simulated",
        warm=("akg_plugin_triton_cuda.warm",),
        modules=("triton",),
    )


@hookimpl
def akg_docs() -> tuple[DocPage, ...]:
    return read_pages(Path(__file__).parent)


akg_probe = deferred(hookspecs.akg_probe, "akg_plugin_triton_cuda.probe:probe")
akg_refine_sketch = deferred(hookspecs.akg_refine_sketch, "akg_plugin_triton_cuda.refine:refine")
akg_emit = deferred(hookspecs.akg_emit, "akg_plugin_triton_cuda.emit:emit")
akg_check_source = deferred(hookspecs.akg_check_source, "akg_triton.check_source:check_source")
akg_compile = deferred(hookspecs.akg_compile, "akg_plugin_triton_cuda.compile:compile_kernel")
akg_compile_all = deferred(hookspecs.akg_compile_all, "akg_plugin_triton_cuda.compile:compile_all")
akg_device = deferred(hookspecs.akg_device, "akg_plugin_triton_cuda.harness:device_of")
akg_run = deferred(hookspecs.akg_run, "akg_plugin_triton_cuda.harness:run")
akg_profile = deferred(hookspecs.akg_profile, "akg_plugin_triton_cuda.harness:profile")
akg_explain = deferred(hookspecs.akg_explain, "akg_plugin_triton_cuda.explain:explain")

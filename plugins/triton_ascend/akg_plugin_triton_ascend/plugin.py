"""Who the plugin is, and where each of its hooks is: mostly in the module of the same name."""

from __future__ import annotations

from pathlib import Path

from akg_core.plugin import DocPage, Environment, PluginInfo, deferred, hookimpl, hookspecs, read_pages


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
def akg_docs() -> tuple[DocPage, ...]:
    return read_pages(Path(__file__).parent)


akg_probe = deferred(hookspecs.akg_probe, "akg_plugin_triton_ascend.probe:probe")
akg_refine_sketch = deferred(hookspecs.akg_refine_sketch, "akg_plugin_triton_ascend.refine:refine")
akg_emit = deferred(hookspecs.akg_emit, "akg_plugin_triton_ascend.emit:emit")
akg_check_source = deferred(hookspecs.akg_check_source, "akg_triton.check_source:check_source")
akg_compile = deferred(hookspecs.akg_compile, "akg_plugin_triton_ascend.compile:compile_kernel")
akg_device = deferred(hookspecs.akg_device, "akg_plugin_triton_ascend.harness:device_of")
akg_run = deferred(hookspecs.akg_run, "akg_plugin_triton_ascend.harness:run")
akg_profile = deferred(hookspecs.akg_profile, "akg_plugin_triton_ascend.harness:profile")
akg_explain = deferred(hookspecs.akg_explain, "akg_plugin_triton_ascend.explain:explain")

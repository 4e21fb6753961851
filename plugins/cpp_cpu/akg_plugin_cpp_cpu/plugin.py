"""Who the plugin is, and where each of its hooks is: mostly in the module of the same name."""

from __future__ import annotations

from pathlib import Path

from akg_core.plugin import DocPage, PluginInfo, deferred, hookimpl, hookspecs, read_pages


@hookimpl
def akg_plugin_info() -> PluginInfo:
    return PluginInfo(
        name="cpp_cpu",
        dsl="cpp",
        backends=("cpu",),
        dtypes=("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"),
        source_suffix=".cpp",
        summary="C++20 with SIMD and OpenMP, for CPUs",
        warm=("akg_plugin_cpp_cpu.plugin", "akg_plugin_cpp_cpu.harness"),
    )


@hookimpl
def akg_docs() -> tuple[DocPage, ...]:
    return read_pages(Path(__file__).parent)


akg_probe = deferred(hookspecs.akg_probe, "akg_plugin_cpp_cpu.probe:probe")
akg_emit = deferred(hookspecs.akg_emit, "akg_plugin_cpp_cpu.emit:emit")
akg_check_source = deferred(hookspecs.akg_check_source, "akg_plugin_cpp_cpu.check_source:check_source")
akg_compile = deferred(hookspecs.akg_compile, "akg_plugin_cpp_cpu.compile:compile_kernel")
akg_run = deferred(hookspecs.akg_run, "akg_plugin_cpp_cpu.harness:run")
akg_profile = deferred(hookspecs.akg_profile, "akg_plugin_cpp_cpu.harness:profile")
akg_explain = deferred(hookspecs.akg_explain, "akg_plugin_cpp_cpu.explain:explain")

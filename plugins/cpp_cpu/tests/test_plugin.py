"""The plugin as core sees it: registered, with pages, and instant until it is asked to work."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from akg_plugin_cpp_cpu import harness
from akg_plugin_cpp_cpu.harness import machine_code
from akg_plugin_cpp_cpu.prepare import PACKAGE

from akg_core.plugin import Artifact, Target
from akg_core.registry import hooks


def test_it_is_installed_and_says_who_it_is() -> None:
    info = hooks("cpp_cpu").akg_plugin_info()
    assert info.name == "cpp_cpu" and info.backends == ("cpu",)


def test_importing_it_loads_nothing_heavy() -> None:
    code = "import sys, akg_plugin_cpp_cpu.plugin as p; p.akg_plugin_info(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_pages() -> None:
    pages = hooks("cpp_cpu").akg_docs()
    assert [page.kind for page in pages] == ["language", "api", "hardware", "examples", "pitfalls", "designer"]
    assert all(len(page.text) > 700 for page in pages)


def test_pages_name_only_what_the_headers_have() -> None:
    headers = "".join(path.read_text() for path in (PACKAGE / "include" / "akg").glob("*.hpp"))
    for page in hooks("cpp_cpu").akg_docs():
        if page.kind == "api":
            called = set(re.findall(r"`(\w+)(?:<[^`(]*>)?\(", page.text))
            missing = {name for name in called if not re.search(rf"\b{name}\b", headers)} - {"body", "alignas"}
            assert not missing


def test_probe_by_the_hook() -> None:
    assert hooks("cpp_cpu").akg_probe(target=Target(backend="cpu")).can_run


def test_machine_code_lies_in_packages_of_a_kernel_too(tmp_path: Path) -> None:
    (tmp_path / "ops").mkdir()
    libraries = {tmp_path / "kernel.so", tmp_path / "ops" / "sums.so"}
    for library in libraries:
        library.touch()
    assert {*machine_code(Artifact(folder=tmp_path)).kernels} == libraries


def test_libraries_of_another_kernel_below_are_not_this_ones(tmp_path: Path) -> None:
    ours = [tmp_path / "kernel.so", tmp_path / "more" / "helper.so"]
    others = [tmp_path / "runs" / "one" / "kernel.so", tmp_path / "runs" / "one" / "deeper" / "helper.so"]
    binding = tmp_path / harness.binding_name()
    for path in (*ours, *others, binding, tmp_path / "runs" / "one" / binding.name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    code = harness.machine_code(Artifact(folder=tmp_path))
    assert (code.kernels, code.bindings) == (tuple(ours), (binding,))

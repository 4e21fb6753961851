"""The probe: what is here, and one sentence with a cure for each thing that may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from akg_plugin_cpp_cpu import levels, probe

from akg_core.plugin import Target

LEVELS = dict(levels.LEVELS)
x86 = pytest.mark.skipif(not levels.known(), reason="compilers here do not build for x86-64")

CPU = Target(backend="cpu")


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    probe.toolchain.cache_clear()
    yield
    probe.toolchain.cache_clear()


def test_this_machine() -> None:
    available = probe.probe(CPU)
    assert available.can_compile and available.can_run
    assert available.traits.lanes in (4, 8, 16) and available.traits.units >= 1
    assert "g++" in available.details["compiler"] or "c++" in available.details["compiler"]


def test_what_the_compiler_says_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    available = probe.probe(CPU)
    probe.toolchain.cache_clear()
    monkeypatch.delattr(probe.subprocess, "run")
    assert probe.probe(CPU) == available


def test_another_backend() -> None:
    available = probe.probe(Target(backend="cuda"))
    assert not available.can_run and "cuda" in available.reason


@x86
@pytest.mark.parametrize(("level", "lanes"), [("x86-64", 4), ("x86-64-v2", 4), ("x86-64-v3", 8), ("x86-64-v4", 16)])
def test_a_level_of_x86(monkeypatch: pytest.MonkeyPatch, level: str, lanes: int) -> None:
    monkeypatch.setattr(levels, "features", lambda: frozenset(f for each in LEVELS.values() for f in each))
    available = probe.probe(Target(backend="cpu", arch=level))
    assert available.can_compile and available.can_run
    assert available.traits.lanes == lanes and f"-march={level} " in available.details["flags"]


@x86
def test_a_level_that_this_processor_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    had = frozenset(f for level, each in LEVELS.items() if level != "x86-64-v4" for f in each)
    monkeypatch.setattr(levels, "features", lambda: had - {"fma"})
    available = probe.probe(Target(backend="cpu", arch="x86-64-v4"))
    assert available.can_compile and not available.can_run and available.cure
    assert "cpu:x86-64-v4" in available.reason and "lacks fma, avx512f, avx512bw" in available.reason
    assert probe.probe(Target(backend="cpu", arch="x86-64-v2")).can_run


@x86
def test_a_level_that_the_compiler_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(levels.LEVELS, "x86-64-v9", ())
    available = probe.probe(Target(backend="cpu", arch="x86-64-v9"))
    assert not available.can_compile and "knows no processor x86-64-v9" in available.reason and available.cure


@pytest.mark.parametrize(("machine", "named"), [("x86_64", "cpu:x86-64-v3"), ("aarch64", "cpu")])
def test_no_such_processor(monkeypatch: pytest.MonkeyPatch, machine: str, named: str) -> None:
    monkeypatch.setattr(levels.platform, "machine", lambda: machine)
    arch = "zen" if machine == "x86_64" else "x86-64-v3"
    available = probe.probe(Target(backend="cpu", arch=arch))
    assert not available.can_compile and f"not for cpu:{arch}" in available.reason
    assert named in available.cure and ("x86" in available.cure) == (machine == "x86_64")


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    available = probe.probe(CPU)
    assert not available.can_compile and "compiler" in available.reason and "apt install g++" in available.cure


def test_cxx_names_something_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "no-such-compiler" in probe.probe(CPU).reason


def test_cxx_is_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "false")
    available = probe.probe(CPU)
    assert not available.can_compile and available.cure


def test_cxx_is_too_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "g++-4"
    old.write_text("#!/bin/sh\necho '#define __GNUC__ 4'\necho '#define __VERSION__ \"4.8\"'\n")
    old.chmod(0o755)
    monkeypatch.setenv("CXX", str(old))
    assert "10 or newer" in probe.probe(CPU).reason


def test_no_build_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    known = probe.shutil.which
    monkeypatch.setattr(
        probe.shutil, "which", lambda name, path=None: None if "ninja" in name else known(name, path=path)
    )
    available = probe.probe(CPU)
    assert "ninja" in available.reason and "pip install ninja" in available.cure

"""Messages of the compiler and the runtime become advice."""

from __future__ import annotations

from pathlib import Path

import pytest
from akg_plugin_cpp_cpu.compile import located
from akg_plugin_cpp_cpu.explain import explain


def test_places_are_relative_and_mapped() -> None:
    log = (
        "FAILED: x\n/tmp/x/kernel.cpp:12:5: error: expected ';'\n   12 |     a = 1\n/tmp/x/kernel.cpp:99: note: here\n"
    )
    due = "kernel.cpp:12:5 (sketch line 3): error: expected ';'\n   12 |     a = 1\nkernel.cpp:99: note: here\n"
    assert located(log, Path("/tmp/x"), {"kernel.cpp:12": 3}) == due


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("'vexp' was not declared in this scope", "Declare vexp"),
        ("‘Vec’ has not been declared", "Declare Vec"),
        ("call of overloaded 'pow(double, int)' is ambiguous", "Give pow arguments of one type"),
        ("no match for 'operator%' (operand types are 'akg::Vec<float>' and 'int')", "convert one"),
        ("no matching function for call to 'load(float*, akg::Vec<int>)'", "No form of load"),
        ("could not convert 'm' from 'akg::Mask' to 'akg::Vec<float>'", "select(mask, a, b)"),
        ("expected ';' before 'x'", "missing `;`"),
        ("static assertion failed: cast integers to f32 first", "cast integers to f32 first."),
        ("torch/extension.h: No such file or directory", "do not include torch/extension.h"),
        ("redefinition of 'auto t'", "choose another"),
        ("assignment of read-only variable 'n'", "drop the const"),
        ("something never seen", "Correct the generated line."),
    ],
)
def test_compiler(message: str, advice: str) -> None:
    (found,) = explain(f"kernel.cpp:12:5 (sketch line 3): error: {message}\n")
    assert advice in found.advice and (found.source_line, found.sketch_line) == (12, 3)


def test_each_place_once() -> None:
    line = "kernel.cpp:1:1: error: 'a' was not declared in this scope\n"
    assert len(explain(line + line + line.replace(":1:", ":2:", 1))) == 2


def test_linker() -> None:
    (found,) = explain("ImportError: kernel.so: undefined symbol: cblas_sgemm\n")
    assert "cblas_sgemm" in found.problem


@pytest.mark.parametrize(
    ("log", "advice"),
    [
        ("the process died of SIGSEGV", "outside of its tensors"),
        ("killed by signal 4", "another processor"),
        ("it timed out after 60 s", "loop"),
        ("AttributeError: the library has no function akg_softmax", "akg_softmax"),
        ("SIGFPE", "floor_div"),
    ],
)
def test_runtime(log: str, advice: str) -> None:
    assert advice in explain(log)[0].advice


def test_silence() -> None:
    assert explain("-- Configuring done\n") == ()

"""NVRTC is used where all of it is, with headers that are precompiled once, unless nvcc is asked for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from akg_plugin_tilelang import nvrtc, probe
from tilelang_here import asked, needs_tilelang

PARTS = ("lib/libnvrtc.so.13", "include/cccl/nv", "include/crt/host_config.h", "bin/ptxas")


def toolkit(root: Path, builtins: str, headers: int, parts: tuple[str, ...] = PARTS) -> Path:
    """A folder that looks like CUDA's."""
    for part in (*parts, f"lib/libnvrtc-builtins.so.{builtins}", "include/cuda.h"):
        (root / part).parent.mkdir(parents=True, exist_ok=True)
        (root / part).write_text(f"#define CUDA_VERSION {headers}\n")
    return root


@pytest.mark.parametrize(
    ("builtins", "headers", "parts", "version"),
    [
        ("13.2", 13020, PARTS, "13.2"),
        ("13.0", 13000, PARTS, None),  # addresses shared memory by 64 bits
        ("13.2", 13000, PARTS, None),  # headers of another version
        ("13.2", 13020, PARTS[:3], None),
        ("13.2", 13020, PARTS[1:], None),
    ],
)
def test_it_is_found_where_all_of_it_is(
    tmp_path: Path, builtins: str, headers: int, parts: tuple[str, ...], version: str | None
) -> None:
    found = nvrtc.find([tmp_path / "none", toolkit(tmp_path / "cuda", builtins, headers, parts)])
    assert (found and found.version) == version


def test_nvcc_can_be_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_HOME", str(toolkit(tmp_path, "13.2", 13020)))
    found = probe.nvrtc.__wrapped__()
    assert found and found.library == tmp_path / "lib/libnvrtc.so.13"
    monkeypatch.setenv("AKG_TILELANG_NVCC", "1")
    assert probe.nvrtc.__wrapped__() is None


@needs_tilelang
def test_headers_are_precompiled_for_processes_that_are_forked(tmp_path: Path) -> None:
    text = 'extern "C" __global__ void k(float* x) {\n  x[0] = tl::fast_max(x[1], x[2]);\n}\n'
    with asked("headers.py", tmp_path) as ask:
        made, refused = ask(json.dumps(text)), ask(json.dumps(text.replace("fast_max", "nothing")))
    for said in (made, refused):
        assert "using precompiled header file" in said
    assert int(made.split()[0]) and re.search(r"Used \d+ registers", made) and "0 bytes spill stores" in made
    assert refused.startswith("0 bytes: ") and f'{tmp_path}/kernel.cu(2): error: namespace "tl" has no' in refused


def test_variables_that_nothing_uses_are_left_out() -> None:
    kept = ".global .align 4 .u32 seed = 7;\n.global .align 1 .b8 text[3] = {104, 105, 0};\n// seed, text\n"
    assert nvrtc._used(".global .align 1 .u8 value = 1;\n.global .align 8 .b8 table[16];\n" + kept) == kept


def test_headers_that_cannot_be_precompiled_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nvrtc, "_run", lambda *_: ("", "error"))
    monkeypatch.setattr(nvrtc, "_precompiled", {})
    nvrtc.precompile(nvrtc.Nvrtc(tmp_path, tmp_path, tmp_path, "13.2"), "sm_90a")
    assert not nvrtc._precompiled

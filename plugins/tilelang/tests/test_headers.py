"""TileLang's kernels are compiled by NVRTC with headers that are precompiled once, unless nvcc is asked for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from akg_plugin_tilelang import probe
from akg_plugin_tilelang.headers import headers
from tilelang_here import asked, needs_tilelang

TEXT = 'extern "C" __global__ void k(float* x) {\n  x[0] = tl::fast_max(x[1], x[2]);\n}\n'


def test_nvcc_can_be_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for part in ("lib/libnvrtc.so.13", "lib/libnvrtc-builtins.so.13.2", "include/cccl", "include/crt", "bin/ptxas"):
        (tmp_path / part).mkdir(parents=True)
    (tmp_path / "include/cuda.h").write_text("#define CUDA_VERSION 13020\n")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    found = probe.nvrtc.__wrapped__()
    assert found and found.nvrtc.library == tmp_path / "lib/libnvrtc.so.13"
    monkeypatch.setenv("AKG_TILELANG_NVCC", "1")
    assert probe.nvrtc.__wrapped__() is None


@needs_tilelang
@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
def test_headers_are_precompiled_for_the_chip_that_is_meant(tmp_path: Path, arch: str) -> None:
    with asked("headers.py", tmp_path) as ask:
        made, refused = (ask(json.dumps([text, arch])) for text in (TEXT, TEXT.replace("fast_max", "nothing")))
    for said in (made, refused):
        assert ("using precompiled header file" in said) == (arch == "sm_90a")
    assert int(made.split()[0]) and re.search(r"Used \d+ registers", made) and "0 bytes spill stores" in made
    assert refused.startswith("0 bytes: ") and f'{tmp_path}/kernel.cu(2): error: namespace "tl" has no' in refused


@needs_tilelang
def test_those_of_matrix_units_are_precompiled_for_kernels_that_have_them(tmp_path: Path) -> None:
    with asked("headers.py", tmp_path) as ask:
        answers = [ask(json.dumps([text, "sm_90a"])) for text in (TEXT, headers().further + TEXT, TEXT)]
    used = [re.findall(r'using precompiled header file "(.*?)"', answer) for answer in answers]
    assert [len(each) for each in used] == [1, 1, 1] and used[0] == used[2] != used[1]
    assert all(int(answer.split()[0]) for answer in answers)

"""Targets become chips, by what they name or by what is here; what is no chip is refused in a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from akg_cuda import chips
from akg_cuda.chips import CHIPS, Gpu, capability_of, gpu_of, refusal

from akg_core.plugin import Target
from akg_core.plugin.resources import shortage

SOURCES = sorted((Path(__file__).parents[1] / "akg_cuda").rglob("*.py"))
H200 = Gpu("NVIDIA H200", 90, "143771 MiB", "570.0")
V100 = Gpu("Tesla V100", 70, "[N/A]", "570.0")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch):
    """here(gpus) pretends that these are the GPUs of this machine."""
    return lambda *gpus: monkeypatch.setattr(chips, "gpus", lambda: gpus)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_language_is_named(path: Path) -> None:
    assert not re.search(r"triton|tilelang|cutlass|cute\b", path.read_text(), re.IGNORECASE)


def test_a_target_is_the_chip_that_it_names_else_the_one_here(here) -> None:
    here()
    assert [capability_of(Target.parse(text)) for text in ("cuda:sm_80", "cuda:sm90a", "cuda")] == [80, 90, 90]
    here(V100, H200)
    assert capability_of(Target(backend="cuda")) == 70 and capability_of(Target.parse("cuda:sm_90")) == 90
    assert gpu_of(90) is H200 and gpu_of(80) is None
    assert (H200.memory_bytes, V100.memory_bytes) == (143771 << 20, 0)


def test_what_is_no_chip_is_refused(here) -> None:
    here()
    assert refusal(Target.parse("cuda:sm_90")) is None
    for text, said in (("npu", "not for npu"), ("cuda:sm_12", "cuda:sm_12 is not a GPU"), ("cuda:x", "not a GPU")):
        reason, cure = refusal(Target.parse(text)) or ("", "")
        assert said in reason and "cuda:sm_80 (A100)" in cure
    here(V100)
    assert "is a Tesla V100 (sm_70)" in (refusal(Target(backend="cuda")) or ("",))[0]


@pytest.mark.parametrize(
    ("registers", "shared_bytes", "warps", "lacks"),
    [
        (64, 1024, 4, ""),
        (64, 200 * 1024, 4, "k needs 204800 of 101376 bytes of shared memory"),
        (64, 0, 64, "k needs 2048 of 1024 threads"),
        (255, 0, 16, "k needs 130560 of 65536 registers"),
    ],
)
def test_what_a_kernel_needs_more_of(registers: int, shared_bytes: int, warps: int, lacks: str) -> None:
    found = shortage("k", registers, shared_bytes, warps, CHIPS[89].unit)
    assert str(found or "") == lacks

"""The plugin as core sees it: registered, with pages, honest about what is here, instant until it is asked to work."""

from __future__ import annotations

import subprocess
import sys

import pytest
from akg_cuda import chips
from akg_cuda.chips import Gpu
from akg_plugin_tilelang import probe
from akg_plugin_tilelang.check_source import check_source
from akg_plugin_tilelang.explain import explain

from akg_core.plugin import KernelSource, Target
from akg_core.registry import hooks

SM_90 = Target(backend="cuda", arch="sm_90")
H200 = Gpu("NVIDIA H200", 90, "143771 MiB", "570.0")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """machine(gpus, version, nvcc) pretends that these are here."""

    def pretend(gpus: tuple[Gpu, ...] = (), version: str = probe.VERSION, nvcc: str | None = "/nvcc") -> None:
        monkeypatch.setattr(chips, "gpus", lambda: gpus)
        monkeypatch.setattr(chips, "multiprocessors", lambda: 132)
        monkeypatch.setattr(probe, "version_of", lambda _: version)
        monkeypatch.setattr(probe, "nvcc", lambda: nvcc)

    return pretend


def test_it_says_who_it_is_and_what_it_needs() -> None:
    info = hooks("tilelang").akg_plugin_info()
    assert info.name == "tilelang" and info.backends == ("cuda",)
    assert f"tilelang=={probe.VERSION}" in info.environment.requirements


def test_importing_and_probing_loads_nothing_heavy() -> None:
    code = (
        "import sys, akg_plugin_tilelang.plugin as p; from akg_core.records import Target; p.akg_plugin_info();"
        "p.akg_probe(Target(backend='cuda')); print('torch' in sys.modules, 'tilelang' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout.strip() == "False False"


def test_pages() -> None:
    pages = hooks("tilelang").akg_docs()
    assert [page.kind for page in pages] == ["language", "api", "hardware", "examples", "pitfalls"]


def test_with_a_gpu_it_runs_there(machine) -> None:
    machine(gpus=(H200,))
    found = probe.probe(SM_90)
    assert found.can_run and not found.simulated and found.device == "cuda" and found.traits.units == 132


def test_without_a_gpu_it_simulates(machine) -> None:
    machine()
    found = probe.probe(SM_90)
    assert found.can_compile and found.can_run and found.simulated


@pytest.mark.parametrize(
    ("here", "target", "reason"),
    [
        ({"version": ""}, SM_90, "TileLang is not installed."),
        ({"version": "0.1.9"}, SM_90, "TileLang 0.1.9 is not 0.1.15, which it works with."),
        ({"nvcc": None}, SM_90, "There is no nvcc, which TileLang compiles by."),
        ({}, Target(backend="cpu"), "it makes kernels for cuda, not for cpu."),
    ],
)
def test_what_is_missing_is_said(machine, here, target: Target, reason: str) -> None:
    machine(**here)
    found = probe.probe(target)
    assert not found.can_compile and found.reason == reason and found.cure


def test_a_source_without_a_kernel_is_found() -> None:
    text = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x.exp()\n"
    source = KernelSource(plugin="tilelang", target=SM_90, files={"model_new.py": text})
    assert "TILELANG104" in {finding.code for finding in check_source(source)}


def test_messages_are_explained_at_their_place() -> None:
    log = "k does not compile:\nkernel.py:12 (sketch line 7): InternalError: Cannot convert type boolx8 to CUDA type"
    (advice,) = explain(log)
    assert "bool" in advice.advice and (advice.source_line, advice.sketch_line) == (12, 7)
    (other,) = explain("something nobody knows")
    assert other.problem == "something nobody knows"

"""The plugin as core sees it: registered, with pages, honest about what is here, instant until it is asked to work."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from akg_cuda import chips
from akg_cuda.chips import Gpu
from akg_plugin_triton_cuda import probe as probing
from akg_plugin_triton_cuda.emit import dialect
from akg_plugin_triton_cuda.harness import device_of
from akg_plugin_triton_cuda.probe import probe, traits

from akg_core.plugin import Target, ToolchainError
from akg_core.registry import hooks

H200 = Gpu("NVIDIA H200", 90, "143771 MiB", "570.0")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """machine(gpus, triton) pretends that these are here."""

    def pretend(gpus: tuple[Gpu, ...] = (), triton: str = "3.7.1") -> None:
        monkeypatch.setattr(chips, "gpus", lambda: gpus)
        monkeypatch.setattr(probing, "triton_version", lambda: triton)

    return pretend


def test_it_is_installed_and_says_who_it_is() -> None:
    info = hooks("triton_cuda").akg_plugin_info()
    assert info.name == "triton_cuda" and info.backends == ("cuda",)


def test_importing_and_probing_loads_nothing_heavy() -> None:
    code = (
        "import sys, akg_plugin_triton_cuda.plugin as p; from akg_core.records import Target; p.akg_plugin_info();"
        "p.akg_probe(Target(backend='cuda')); print('torch' in sys.modules, 'triton' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout.strip() == "False False"


def test_pages() -> None:
    pages = hooks("triton_cuda").akg_docs()
    assert [page.kind for page in pages] == ["language", "api", "hardware", "examples", "pitfalls", "designer"]


def test_with_a_gpu_it_runs_there(machine) -> None:
    machine(gpus=(H200,))
    found = probe(Target(backend="cuda"))
    assert found.can_compile and found.can_run and not found.simulated and found.device == "cuda"
    assert found.memory_bytes == 143771 << 20
    assert found.details["gpu"] == "NVIDIA H200" and found.traits.units == 132


def test_without_one_it_simulates_and_says_so(machine) -> None:
    machine()
    found = probe(Target(backend="cuda", arch="sm_80"))
    assert found.can_compile and found.can_run and found.simulated and found.device == "cpu"
    assert "no NVIDIA GPU here" in found.reason and "sm_80" in found.reason
    assert found.traits == traits(80).model_copy(update={"convolution_format": ""}), "the host's are exact"


def test_another_gpu_than_the_target_simulates(machine) -> None:
    machine(gpus=(H200,))
    found = probe(Target(backend="cuda", arch="sm_80"))
    assert found.simulated and "NVIDIA H200 (sm_90)" in found.reason


@pytest.mark.parametrize(
    ("target", "triton", "says"),
    [
        (Target(backend="cuda", arch="sm_12"), "3.7.1", "cuda:sm_12 is not a GPU"),
        (Target(backend="cuda", arch="hopper"), "3.7.1", "cuda:hopper is not a GPU"),
        (Target(backend="npu"), "3.7.1", "not for npu"),
        (Target(backend="cuda"), "", "not installed"),
        (Target(backend="cuda"), "2.3.0", "older than 3.6"),
    ],
)
def test_what_cannot_work_is_one_sentence(machine, target: Target, triton: str, says: str) -> None:
    machine(triton=triton)
    found = probe(target)
    assert not found.can_compile and not found.can_run and says in found.reason and found.cure.endswith(".")


def test_an_interpreter_with_faults_is_not_used_and_the_fault_is_named(machine) -> None:
    machine(triton="3.6.0")
    found = probe(Target(backend="cuda"))
    assert found.can_compile and not found.can_run and "3.7" in found.cure
    assert "Triton 3.6.0 fails on loops whose bounds are loaded or passed." in found.reason


def test_a_gpu_that_is_too_old_is_named(machine) -> None:
    machine(gpus=(Gpu("Tesla V100", 70, "16384 MiB", "570.0"),))
    found = probe(Target(backend="cuda"))
    assert not found.can_compile and not found.can_run and "cuda:sm_80 (A100)" in found.cure
    assert found.reason == "The GPU here is a Tesla V100 (sm_70), which it makes no kernels for."


def test_a_gpu_that_torch_cannot_use_is_one_sentence(machine, monkeypatch) -> None:
    machine(gpus=(H200,))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", None)
    device_of.cache_clear()
    with pytest.raises(ToolchainError) as raised:
        device_of(Target(backend="cuda", arch="sm_90"))
    assert raised.value.message == (
        f"There is an NVIDIA H200 here (driver 570.0), and torch {torch.__version__}, which is built without CUDA, "
        "cannot use it."
    )


def test_shared_memory_follows_the_chip() -> None:
    assert (
        dialect(Target(backend="cuda", arch="sm_89")).shared_bytes
        < dialect(Target(backend="cuda", arch="sm_90")).shared_bytes
    )

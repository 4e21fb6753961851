"""What model_new.py does around a launch, and on which device a kernel is expected, without TileLang and a GPU."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from akg_cuda import chips, device
from akg_cuda.chips import Gpu
from akg_plugin_tilelang import harness
from akg_plugin_tilelang.launch import PRELUDE

from akg_core.plugin import Target

H200 = Gpu("NVIDIA H200", 90, "143771 MiB", "570.0")


def launcher(written: tuple[int, ...], kernel, function=None, **known):
    """A launcher of a function that has been compiled to `kernel`; `known`: what its module imports."""
    text = PRELUDE[PRELUDE.index("class _Launcher") : PRELUDE.index("_kernel = ")]
    names: dict[str, object] = {"torch": torch, **known}
    exec(text, names)
    made = names["_Launcher"](function, written)
    made.made[()] = kernel
    return made


def unaligned(count: int) -> torch.Tensor:
    return torch.arange(count + 1, dtype=torch.float32)[1:]


def test_kernels_see_tensors_that_begin_at_multiples_of_16_bytes_and_what_they_write_arrives() -> None:
    x, y, kept = unaligned(8), unaligned(8), torch.zeros(8)
    seen = []

    def double(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
        seen.extend((a, b, c))
        b.copy_(2 * a)
        c.copy_(a)

    launcher((1, 2), double)((x, y, kept))
    assert all(each.data_ptr() % 16 == 0 for each in seen) and seen[2] is kept
    assert torch.equal(y, 2 * x) and torch.equal(kept, x)


def test_a_function_is_compiled_as_it_asks() -> None:
    """In the launch of each number of lanes, too."""
    asked = []

    class TileLang:
        @staticmethod
        def compile(function: SimpleNamespace, target: str, pass_configs: dict[str, bool]):
            asked.append(pass_configs)
            return lambda *tensors: None

    plain, other = (
        SimpleNamespace(attrs={"pass_configs": {"tl.disable_warp_specialized": True}}),
        SimpleNamespace(attrs={}),
    )
    for function, lanes in ((plain, ()), (other, ()), (lambda lanes: plain, (4,))):
        launch = launcher((), None, function, tilelang=TileLang)
        launch.made.clear()
        launch((), lanes=lanes)
    assert asked == [{"tl.disable_warp_specialized": True}, {}, {"tl.disable_warp_specialized": True}]


def test_a_parameter_that_is_written_is_written_where_it_lies() -> None:
    parameter = torch.nn.Parameter(unaligned(8))
    launcher((0,), lambda a: a.detach().zero_())((parameter,))
    assert not parameter.any()


def test_the_reference_is_on_the_gpu_though_its_python_has_no_tilelang(monkeypatch: pytest.MonkeyPatch) -> None:
    there = object()
    monkeypatch.setattr(chips, "gpus", lambda: (H200,))
    monkeypatch.setattr(device, "device_of", lambda gpu: there)
    harness.device_of.cache_clear()
    try:
        assert harness.device_of(Target(backend="cuda", arch="sm_90")) is there
    finally:
        harness.device_of.cache_clear()

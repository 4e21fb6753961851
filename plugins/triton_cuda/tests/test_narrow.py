"""Products of 16-bit numbers for Hopper: matrix units, loads that fit into memory, no masks where none is due."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from akg_cuda.chips import CHIPS
from akg_plugin_triton_cuda.compile import compile_kernel
from akg_plugin_triton_cuda.emit import dialect
from akg_plugin_triton_cuda.probe import traits
from akg_plugin_triton_cuda.refine import refine
from akg_triton.emit import emit

from akg_core.design import design
from akg_core.plugin import Argument, Interface, KernelSource, Schedule, Sketch, Target, Unsupported
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source

SM_90 = Target(backend="cuda", arch="sm_90")
TASKS = Path(__file__).parents[3] / "benchmarks" / "half"
SMALLER = {
    "swiglu": {"2048": "512", "4096": "768", "11008": "1024"},
    "causal_attention": {"4, 32, 4096": "2, 3, 1024"},
    "int8_linear": {"4096": "1024"},
}


def designed(name: str, sizes: dict[str, str]) -> Sketch:
    """The first sketch for one of the tasks, with other sizes."""
    text = (TASKS / f"{name}.py").read_text()
    for old, new in sizes.items():
        assert old in text
        text = text.replace(old, new)
    return refine(design(capture(load_source(text, name)), traits(90))[0])[0]


def kernels(sketch: Sketch) -> KernelSource:
    return emit(sketch, Schedule(), SM_90, "triton_cuda", dialect(SM_90))


@pytest.mark.parametrize("name", SMALLER)
def test_products_run_on_matrix_units(name: str, tmp_path: Path) -> None:
    source = kernels(designed(name, SMALLER[name]))
    result = compile_kernel(source, SM_90, tmp_path)
    assert result.ok, result.log
    assert not [key for key, value in result.details.items() if key.endswith("spilled_bytes") and value]
    assert all(v <= CHIPS[90].shared_bytes for k, v in result.details.items() if k.endswith("shared_bytes"))
    made = {path.stem: path.read_text() for path in tmp_path.glob("compiled/*/*.ptx")}
    multiplying = re.findall(r"def (\w+)\((?:(?!\ndef ).)*?tl\.dot\(", source.files["kernel.py"], re.S)
    assert multiplying and all("wgmma.mma_async" in made[kernel] for kernel in multiplying)


@pytest.mark.parametrize("length", [1024, 1000])
def test_only_tiles_that_a_mask_crosses_are_masked(length: int) -> None:
    text = kernels(designed("causal_attention", {"4, 32, 4096": f"2, 3, {length}"})).files["kernel.py"]
    first, second = text.split("in tl.range(")[1:]
    assert "<= 0" in second and "<= 0" not in first
    assert "n_in" not in first, "keys of whole tiles exist"
    assert "- 1 - pid_m" in text, "the longest rows go first"


LINEAR = """
import torch


class Model(torch.nn.Module):
    def forward(self, x, w):
        return x @ w.T


def get_inputs():
    return [torch.zeros({}, 4096, dtype=torch.bfloat16), torch.zeros(4096, 4096, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
"""
TILES = {4096: (128, 256), 1024: (128, 128), 512: (64, 128), 256: (64, 128), 128: (64, 64), 64: (64, 32), 16: (64, 16)}


@pytest.mark.parametrize("rows", TILES)
def test_tiles_leave_every_unit_one_that_fills_it(rows: int, tmp_path: Path) -> None:
    (sketch,) = refine(design(capture(load_source(LINEAR.format(rows), "linear")), traits(90))[0])
    source = kernels(sketch)
    text = source.files["kernel.py"]
    assert "_parts" not in text, "no contraction is split"
    assert re.search(r"acc = tl.full\(\[(\d+), (\d+)\]", text)[0] == "acc = tl.full([{}, {}]".format(*TILES[rows])
    result = compile_kernel(source, SM_90, tmp_path)
    assert result.ok, result.log
    assert not [key for key, value in result.details.items() if key.endswith("spilled_bytes") and value]


WIDE = """
@kernel
def attention(q: In["bf16", 1024, 128], k: In["bf16", 1024, 128], v: In["bf16", 1024, 128], y: Out["f32", 1024, 128]):
    for m in grid(1024, 64):
        e = whole(128)
        f = whole(128)
        queries = f32(load(q[m, e]))
        acc = zeros([m, f])
        for n in tiles(1024, 128, stages=3):
            scores = dot(queries, f32(load(k[n, e])), over=e, precision="split3")
            acc = dot(exp(scores), f32(load(v[n, f])), over=n, into=acc, precision="split3")
        store(y[m, f], acc)
"""
LARGE = """
@kernel
def product(a: In["f32", 1024, 1024], b: In["f32", 1024, 1024], y: Out["f32", 1024, 1024]):
    for m in grid(1024, 16):
        for n in grid(1024, 512):
            acc = zeros([m, n])
            for k in tiles(1024, 128):
                acc = dot(load(a[m, k]), load(b[k, n]), over=k, into=acc, precision="fast")
            store(y[m, n], acc)
"""


def sketched(text: str, dtype: str, width: int, names: str) -> Sketch:
    given = tuple(Argument(name=name, kind="tensor", dtype=dtype, shape=(1024, width)) for name in names)
    return Sketch(name="sketch", text=text, interface=Interface(arguments=given))


def test_computed_factors_count_in_shared_memory(tmp_path: Path) -> None:
    """Three parts of both factors are there beside the loads of each stage."""
    result = compile_kernel(kernels(sketched(WIDE, "bf16", 128, "qkv")), SM_90, tmp_path)
    assert result.ok, result.log
    assert CHIPS[90].shared_bytes // 2 < result.details["attention.shared_bytes"] <= CHIPS[90].shared_bytes


def test_a_factor_that_no_stage_has_room_for_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"262144 bytes of shared memory.*232448") as raised:
        kernels(sketched(LARGE, "f32", 1024, "ab"))
    assert "axis n smaller" in raised.value.cure

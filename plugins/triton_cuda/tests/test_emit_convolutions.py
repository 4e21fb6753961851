"""Products over packed tensors as Triton: loads that stay in order, operands in their places, residues side by side."""

from __future__ import annotations

from akg_plugin_triton_cuda.emit import dialect
from akg_triton.emit import emit

from akg_core.plugin import Schedule, Target
from akg_core.testing.emission.sketches import sketch_of

SM_90 = Target(backend="cuda", arch="sm_90")
TAPS = """
@kernel
def taps(w: In["f32", 128, 576], x: In["f32", 66, 66, 64], y: Out["f32", 128, 4096]):
    for m in grid(128, 128):
        for n in grid(4096, 128):
            acc = zeros([m, n])
            for k in tiles(576, {step}):
                acc = dot(load(w[m, k]), load(x[n // 64 + k // 192, n % 64 + k % 192 // 64, k % 64]), over=k, into=acc,
                          precision="fast")
            store(y[m, n], acc)
"""
ROWS = """
@kernel
def rows(w: In["f32", 128, 64], x: In["f32", 64, 4096], y: Out["f32", 128, 4096]):
    for m in grid(128, 128):
        for n in grid(4096, 128):
            acc = zeros([m, n])
            for k in tiles(64, 32):
                acc = dot(load(w[m, k]), load(x[k, n]), over=k, into=acc, precision="{precision}")
            store(y[m, n], acc)
"""
RESIDUES = """
@kernel
def residues(w: In["f32", 64, 64], x: In["f32", 4096, 64], y: Out["f32", {channels}, {size}]):
    for m in grid(64, 64):
        for n in grid(4096, 128):
            acc = zeros([m, n])
            for k in tiles(64, 32):
                acc = dot(load(w[m, k]), load(x[n, k]), over=k, into=acc)
            store(y[m % {channels}, m // {channels} + n * {count}], acc)
"""


def written(text: str) -> str:
    return emit(sketch_of(text), Schedule(values={}), SM_90, "triton_cuda", dialect(SM_90)).files["kernel.py"]


def test_a_tile_that_crosses_no_tap_has_one_tap_and_runs_along_channels() -> None:
    text = written(TAPS.format(step=32))
    assert "tl.multiple_of(k_begin % 64, 32) + tl.arange(0, 32)" in text
    assert "k_begin // 192" in text and "num_stages=3" in text and "k %" not in text


def test_a_tile_that_crosses_taps_has_digits_for_each_lane() -> None:
    text = written(TAPS.format(step=48))
    assert "multiple_of" not in text and "k % 64" in text


def test_the_operand_that_does_not_run_along_the_contraction_makes_the_rows() -> None:
    assert "tl.dot(x_tile, tl.trans(w_tile)" in written(ROWS.format(precision="fast"))
    assert "tl.dot(w_tile, x_tile" in written(ROWS.format(precision="split3"))


def test_residues_are_stored_side_by_side() -> None:
    text = written(RESIDUES.format(channels=32, count=2, size=8192))
    assert "tl.reshape(" in text and "n_apart[None, :]" in text


def test_residues_that_are_no_power_of_two_are_stored_as_they_are() -> None:
    assert "reshape" not in written(RESIDUES.format(channels=21, count=3, size=12288))

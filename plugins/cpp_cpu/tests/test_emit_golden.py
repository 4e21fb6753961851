"""The text that the emitter writes, held against golden files, and what emit() gives around it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from akg_plugin_cpp_cpu.emit import emit

from akg_core.plugin import KernelSource, Schedule, SketchError, Target
from akg_core.testing.emission.sketches import ADD, SCALE_THREE_TIMES, SCATTERED_ROWS, SOFTMAX, SOFTMAX_STORE, sketch_of

GOLDEN = Path(__file__).parent / "golden"
CPU = Target(backend="cpu")

COLUMNS = """
@kernel
def columns(x: In["f32", 1000, 300], y: Out["f32", 300]):
    for n in grid(300, 128):
        total = zeros([n])
        for m in tiles(1000, 64):
            total = total + reduce_sum(load(x[m, n]), m)
        store(y[n], total)
"""
LINEAR = """
@kernel
def linear(x: In["f32", "M", 256], w: In["f32", 128, 256], b: In["f32", 128], y: Out["f32", "M", 128],
           BM: Tune[64, 128] = 64):
    for m in grid(M, BM):
        n = whole(128)
        acc = zeros([m, n])
        for k in tiles(256, 128):
            acc = dot(load(x[m, k]), load(w[n, k]), over=k, into=acc)
        store(y[m, n], relu(acc + load(b[n])))
"""
TRANSPOSE = """
@kernel
def transpose(x: In["f32", 100, 300], y: Out["f32", 300, 100]):
    for m in grid(100, 64):
        for n in grid(300, 64):
            store(y[n, m], load(x[m, n]))
"""
POOL = """
@kernel
def pool(x: In["f32", 8, 57, 57], y: Out["f32", 8, 29, 29]):
    for c in grid(8, 1):
        for h in grid(29, 4):
            for w in grid(29, 32):
                best = full([c, h, w], -inf)
                for i in range(3):
                    for j in range(3):
                        best = maximum(best, load(x[c, 2 * h + i - 1, 2 * w + j - 1], other=-inf))
                store(y[c, h, w], best)
"""
SCAN = """
@kernel
def scan(x: In["f32", 16, "N"], y: Out["f32", 16, "N"]):
    for m in grid(16, 1):
        before = zeros([m], "f64")
        for n in tiles(N, 1024):
            s = scan_sum(f64(load(x[m, n])), n) + before
            store(y[m, n], s)
            before = last(s, n)
"""
RESIZE = """
@kernel
def resize(x: In["f32", 8, 100], y: Out["f32", 8, 256]):
    for m in grid(8, 1):
        n = whole(256)
        at = i64((f32(n) + 0.5) * 0.39)
        store(y[m, n], load(x[m, at]) + load(x[m, 99 - abs(99 - abs(n // 3 - 2))]))
"""
MIRROR = """
@kernel
def mirror(x: In["f32", 8, 1000], y: Out["f32", 8, 1006]):
    for m in grid(8, 1):
        n = whole(1006)
        store(y[m, n], load(x[m, 999 - abs(999 - abs(n - 3))]), stream=True)
"""
BAGS = """
@kernel
def bags(index: In["i64", 512, 40], table: In["f32", 100000, 64], y: Out["f32", 512, 64]):
    for m in grid(512, 1):
        n = whole(40)
        p = whole(64)
        store(y[m, p], reduce_sum(load(table[load(index[m, n]), p]), n))
"""
TEXTS = {
    "add": ADD,
    "softmax": SOFTMAX,
    "columns": COLUMNS,
    "linear": LINEAR,
    "transpose": TRANSPOSE,
    "pool": POOL,
    "scan": SCAN,
    "resize": RESIZE,
    "mirror": MIRROR,
    "scattered_rows": SCATTERED_ROWS,
    "bags": BAGS,
}


def emitted(text: str, schedule: dict[str, int | str] | None = None) -> KernelSource:
    return emit(sketch_of(text), Schedule(values=schedule or {}), CPU)


@pytest.mark.parametrize("name", TEXTS)
def test_golden(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(GOLDEN / f"{name}.cpp", emitted(TEXTS[name]).files["kernel.cpp"])


def test_lines_map_to_the_sketch() -> None:
    source = emitted(SOFTMAX)
    lines = source.files["kernel.cpp"].splitlines()
    (store,) = (number for number, line in enumerate(lines, 1) if "store(y" in line)
    assert source.line_map[f"kernel.cpp:{store}"] == SOFTMAX_STORE


def test_schedule_reaches_the_text() -> None:
    assert "* 4096;" in emitted(ADD, {"add.BN": 4096}).files["kernel.cpp"]
    with pytest.raises(SketchError, match="not a choice"):
        emitted(ADD, {"add.BN": 5})


def test_bad_sketch_is_refused_with_its_place() -> None:
    with pytest.raises(SketchError, match="SK201"):
        emitted(ADD.replace("load(z[n])", "q"))


def test_launches_with_the_same_numbers_share_a_function() -> None:
    source = emitted(SCALE_THREE_TIMES)
    functions = [line for line in source.files["kernel.cpp"].splitlines() if line.startswith('extern "C"')]
    assert [f.split("(")[0].split()[-1] for f in functions] == ["akg_scale", "akg_scale_2"]
    module = source.files["model_new.py"]
    assert module.count("_akg_scale([") == 2 and module.count("_akg_scale_2([") == 1


def test_many_functions_are_in_several_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("akg_plugin_cpp_cpu.emit._LINES", 10)
    source = emitted(SCALE_THREE_TIMES)
    assert [*source.files] == ["kernel.cpp", "kernel_2.cpp", "model_new.py"]
    assert "akg_scale(" in source.files["kernel.cpp"] and "akg_scale_2(" in source.files["kernel_2.cpp"]
    assert {place.partition(":")[0] for place in source.line_map} == {"kernel.cpp", "kernel_2.cpp"}


def test_names_that_cpp_takes_are_changed() -> None:
    text = ADD.replace("x:", "part:").replace("x[n]", "part[n]").replace('"N"', '"LANES"').replace("(N,", "(LANES,")
    found = emitted(text).files["kernel.cpp"]
    assert "const f32* __restrict const part_ =" in found and "const i64 LANES_ = sizes[0];" in found


def test_lines_that_rows_tear_are_not_streamed() -> None:
    conflicting, whole = (
        emitted(MIRROR.replace("1006", n).replace("1000", m)) for n, m in (("1006", "1000"), ("1024", "1018"))
    )
    assert "stream" not in conflicting.files["kernel.cpp"] and "stream_if(y_fresh, " in whole.files["kernel.cpp"]


def test_proved_indices_have_no_masks() -> None:
    proved = emitted(TEXTS["transpose"]).files["kernel.cpp"]
    assert "inside(" not in proved and "window(" not in proved and "load_inside" not in proved
    assert "load_inside(" in emitted(POOL).files["kernel.cpp"]

"""The text that the emitter writes, held against golden files, and what emit() gives around it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from akg_plugin_triton_cuda.emit import dialect
from akg_triton.emit import emit

from akg_core.plugin import KernelSource, Schedule, Sketch, SketchError, Target
from akg_core.testing.emission.sized import sized
from akg_core.testing.emission.sketches import ADD, SCALE_THREE_TIMES, SCATTERED_ROWS, SOFTMAX, SOFTMAX_STORE, sketch_of

GOLDEN = Path(__file__).parent / "golden"
SM_90 = Target(backend="cuda", arch="sm_90")
AMPERE = Target(backend="cuda", arch="sm_80")

SPLIT = """
@kernel
def product(a: In["f32", 512, 256], b: In["f32", 256, 384], y: Out["f32", 512, 384]):
    for m in grid(512, 128):
        for n in grid(384, 128):
            acc = zeros([m, n])
            for k in tiles(256, 32, stages=4, promote=1):
                ah, al = split_float(load(a[m, k]), "f16")
                bh, bl = split_float(load(b[k, n]), "f16")
                small = dot(al, bh, over=k) + dot(ah, bl, over=k)
                acc = dot(ah, bh, over=k, into=acc + small)
            store(y[m, n], acc)
"""
HALVES = """
@kernel
def halves(
    ah: In["f16", 3, 256, 512], al: In["f16", 3, 256, 512], bh: In["f16", 3, 384, 512], bl: In["f16", 3, 384, 512],
    y: Out["f32", 3, 250, 384],
):
    for b in grid(3, 1):
        for m in grid(256, 128):
            for n in grid(384, 128):
                acc, rest = zeros([b, m, n]), zeros([b, m, n])
                for k in tiles(512, 64):
                    h, g = load(ah[b, m, k], via="bulk"), load(bh[b, n, k], via="bulk")
                    part = dot(h, g, over=k, promote=1)
                    rest = dot(load(al[b, m, k], via="bulk"), g, over=k, into=rest)
                    rest = dot(h, load(bl[b, n, k], via="bulk"), over=k, into=rest)
                    acc = acc + part
                store(y[b, m, n], acc + rest * 0.5)
"""
LARGE = """
@kernel
def scale(x: In["f32", 70000, 65536], y: Out["f32", 70000, 65536]):
    for m in grid(70000, 1):
        for n in grid(65536, 4096):
            store(y[m, n], load(x[m, n]) * 2.0)
"""
POOL = """
@kernel
def pool(x: In["f32", 8, 57, 57], y: Out["f32", 8, 29, 29]):
    for r in grid(8 * 29, 4):
        c, h = split(r, (8, 29))
        for w in grid(29, 32):
            best = full([r, w], -inf)
            for i in range(3):
                for j in range(3):
                    best = maximum(best, load(x[c, h * 2 + i - 1, w * 2 + j - 1], other=-inf))
            store(y[c, h, w], best)
"""
COLUMNS = """
@kernel
def columns(x: In["f32", 1000, 300], y: Out["f32", 300], z: Out["f32", 300]):
    for n in grid(300, 128):
        total, lost, peak = zeros([n]), zeros([n]), full([n], -inf)
        for m in tiles(1000, 16):
            t = load(x[m, n])
            part = reduce_sum(t, m)
            new = total + part
            back = new - total
            lost = lost + (total - (new - back) + (part - back))
            total = new
            peak = maximum(peak, reduce_max(t, m))
        store(y[n], total + lost)
        store(z[n], peak)
"""
WINDOWS = """
@kernel
def windows(x: In["f32", 8, 16, 64], y: Out["f32", 8, 15, 62]):
    for c in grid(8, 1):
        for g in grid(15, 2):
            for w in grid(62, 64):
                for h in tiles(15, 1, start=begin(g), stop=end(g), unroll=2):
                    n = whole(2)
                    k = whole(3)
                    store(y[c, h, w], reduce_max(load(x[c, h + n, w + k]), (n, k)))
"""
COOPERATIVE = """
@kernel
def cooperative(x: In["f32", 64, 16384], y: Out["f32", 64, 16384]):
    for m in grid(64, 1):
        for n in grid(16384, 8192, cooperative=True):
            t = load(x[m, n])
            store(y[m, n], t / all_reduce_sum(reduce_sum(t, n), n))
"""
TEXTS = {
    "columns": COLUMNS,
    "add": ADD,
    "softmax": SOFTMAX,
    "split": SPLIT,
    "halves": HALVES,
    "large": LARGE,
    "pool": POOL,
}
TEXTS |= {"windows": WINDOWS, "cooperative": COOPERATIVE, "scattered_rows": SCATTERED_ROWS}
TWELVE = ("linear_gelu", "conv2d", "cumsum", "flash_attention", "argmax")


def emitted(sketch: Sketch | str, schedule: dict[str, int | str] | None = None) -> KernelSource:
    sketch = sketch_of(sketch) if isinstance(sketch, str) else sketch
    return emit(sketch, Schedule(values=schedule or {}), SM_90, "triton_cuda", dialect(SM_90))


@pytest.mark.parametrize("name", [*TEXTS, *TWELVE])
def test_golden(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(GOLDEN / f"{name}.txt", emitted(TEXTS.get(name) or sized(name)).files["kernel.py"])


def test_lines_map_to_the_sketch() -> None:
    source = emitted(SOFTMAX)
    lines = source.files["kernel.py"].splitlines()
    (store,) = (number for number, line in enumerate(lines, 1) if "tl.store(y" in line)
    assert source.line_map[f"kernel.py:{store}"] == SOFTMAX_STORE


def test_schedule_reaches_the_text() -> None:
    assert "tl.arange(0, 4096)" in emitted(ADD, {"add.BN": 4096}).files["kernel.py"]
    with pytest.raises(SketchError, match="not a choice"):
        emitted(ADD, {"add.BN": 5})


def test_bad_sketch_is_refused_with_its_place() -> None:
    with pytest.raises(SketchError, match="SK201"):
        emitted(ADD.replace("load(z[n])", "q"))


def test_launches_with_the_same_numbers_share_a_function() -> None:
    source = emitted(SCALE_THREE_TIMES)
    module = source.files["model_new.py"]
    assert source.files["kernel.py"].count("def scale") == 2
    assert module.count("_launch_scale(2, (") == 2 and module.count("_launch_scale_2(2, (") == 1
    assert [launch["kernel"] for launch in json.loads(source.files["launches.json"])] == ["scale", "scale_2"]


def test_what_is_not_linear_is_reduced_each_turn() -> None:
    assert "total_lanes" in emitted(COLUMNS).files["kernel.py"] and "peak_lanes" in emitted(COLUMNS).files["kernel.py"]
    for old, new in (
        ("total = new\n", "total = new * 0.5\n"),  # a weighted sum
        ("total = new\n", "total = new\n            store(z[n], total)\n"),  # read in the loop
        ("part = reduce_sum(t, m)", "part = reduce_sum(t * total, m)"),  # a recurrence
        ("reduce_sum(t, m)", "reduce_sum(t, m) * 2"),
    ):
        assert old in COLUMNS
        text = COLUMNS.replace(old, new)
        assert "total_lanes" not in emitted(text).files["kernel.py"], new
    assert (
        "peak_lanes" not in emitted(COLUMNS.replace("t = load(x[m, n])", "t = load(x[m, n]) - peak")).files["kernel.py"]
    )


def test_columns_whose_rows_come_in_stages_are_summed_by_their_threads() -> None:
    staged = emitted(COLUMNS.replace("tiles(1000, 16)", "tiles(1000, 16, stages=4)"))
    assert "total_lanes" not in staged.files["kernel.py"] and "num_stages=4" in staged.files["kernel.py"]
    assert "num_warps=1," in staged.files["model_new.py"], "registers hold what is summed, not what is under way"
    narrow = COLUMNS.replace("tiles(1000, 16)", "tiles(1000, 16, stages=4)").replace("grid(300, 128)", "grid(300, 32)")
    assert "total_lanes" in emitted(narrow).files["kernel.py"], "few columns leave threads without one"


def test_a_persistent_grid_takes_place_after_place() -> None:
    source = emitted(SPLIT.replace("grid(512, 128)", "grid(512, 32, persistent=True)"))
    assert "for pid in tl.range(tl.program_id(0), 48, tl.num_programs(0)):" in source.files["kernel.py"]
    assert "_launch_product(min(48, 132), (" in source.files["model_new.py"]


def test_the_order_of_axes_follows_memory_unless_the_sketch_says_so() -> None:
    text = """
@kernel
def transpose(x: In["f32", 256, 256], y: Out["f32", 256, 256]):
    for m in grid(256, 64):
        for n in grid(256, 64):
            store(y[n, m], load(x[m, n]))
"""
    assert "tl.load(x + (m * 256)[None, :] + n[:, None])" in emitted(text).files["kernel.py"]
    wished = text.replace("load(x[m, n])", "load(x[m, n], order=(m, n))")
    assert "tl.load(x + (m * 256)[:, None] + n[None, :])" in emitted(wished).files["kernel.py"]


def test_blocks_are_copied_by_descriptors_where_every_access_is_one() -> None:
    source = emitted(HALVES)
    made = "_BulkLauncher(_kernel.halves, {0: [128, 64], 2: [128, 64], 1: [128, 64], 3: [128, 64]}, "
    module = source.files["model_new.py"]
    assert made in module and "from triton.tools.tensor_descriptor import TensorDescriptor" in module
    assert json.loads(source.files["launches.json"])[0]["tensors"]["ah"] == "f16[128, 64]"
    for old, new in (
        ("512", "500"),  # lanes that do not exist, and rows that are no multiple of 16 bytes
        ("256, 128):", "256, 96):"),
        ('al[b, m, k], via="bulk"', "ah[b, m, k]"),  # one access by addresses
        ('load(ah[b, m, k], via="bulk")', 'load(ah[b, m - 1, k], via="bulk")'),
    ):
        assert old in HALVES
        assert "ah.load" not in emitted(HALVES.replace(old, new)).files["kernel.py"], new
    older = emit(sketch_of(HALVES), Schedule(), AMPERE, "triton_cuda", dialect(AMPERE))
    assert "Descriptor" not in "".join(older.files.values())
    assert "Descriptor" not in "".join(emitted(SPLIT).files.values())


def test_stores_between_products_leave_the_cache_to_what_is_multiplied() -> None:
    text = """
@kernel
def swept(a: In["f16", 128, 64], b: In["f16", 64, 512], y: Out["f32", 128, 512]):
    for m in grid(128, 64):
        k = whole(64)
        left = load(a[m, k])
        for n in tiles(512, 64):
            store(y[m, n], dot(left, load(b[k, n]), over=k), stream=True)
"""
    assert 'cache_modifier=".cs")' in emitted(text).files["kernel.py"]
    for old, new in ((", stream=True", ""), ("tiles(512", "grid(512")):
        assert old in text
        assert ".cs" not in emitted(text.replace(old, new)).files["kernel.py"], new
    assert ".cs" not in emitted(ADD).files["kernel.py"]


def test_names_that_python_takes_are_changed() -> None:
    text = ADD.replace("x:", "tl:").replace("x[n]", "tl[n]").replace("for n", "for int").replace("[n]", "[int]")
    found = emitted(text).files["kernel.py"]
    assert "def add(tl_, z, y, N)" in found and "tl.load(tl_ + int_2" in found


def test_64_bits_only_where_sizes_ask_for_them() -> None:
    assert "int64" not in emitted(SOFTMAX).files["kernel.py"]
    large = emitted(LARGE).files["kernel.py"]
    assert large.count("tl.int64") == 2, "the rows of x and of y, and nothing along a row"


def test_masks_only_where_lanes_or_places_may_not_exist() -> None:
    assert "mask" not in emitted(SOFTMAX).files["kernel.py"]
    assert "mask" in emitted(SOFTMAX.replace("4096", "4000")).files["kernel.py"]


def test_sizes_of_the_launch_become_arguments() -> None:
    source = emitted(ADD)
    assert "def add(x, z, y, N)" in source.files["kernel.py"]
    assert "_launch_add((N + 1023) // 1024, (x, z, y), (N,))" in source.files["model_new.py"]


def test_programs_that_meet_are_launched_where_they_run_together() -> None:
    module = emitted(COOPERATIVE).files["model_new.py"]
    assert "_together(x.device, 2, 4)\n" in module and "def _together(" in module
    assert "_together" not in emitted(ADD).files["model_new.py"]


def test_collectives_that_follow_from_what_is_there_before_the_first_become_one() -> None:
    text = """
@kernel
def softmax(x: In["f32", 64, 16384], y: Out["f32", 64, 16384]):
    for m in grid(64, 1):
        for n in grid(16384, 8192, cooperative=True):
            t = load(x[m, n])
            here = reduce_max(t, n)
            weights = exp(t - here)
            part = reduce_sum(weights, n)
            peak = all_reduce_max(here, n)
            share = exp(here - peak)
            total = all_reduce_sum(part * share, n)
            store(y[m, n], weights * share / total)
"""
    waits = "    grid_barrier(arrived"
    assert emitted(text).files["kernel.py"].count(waits) == 1
    for old, new in (
        (
            "all_reduce_sum(part * share, n)",
            "all_reduce_sum(reduce_sum(exp(t - peak), n), n)",
        ),  # the whole tile has a part in it
        ("part = reduce_sum(weights, n)", "part = i32(reduce_sum(weights, n))"),
    ):
        assert old in text
        assert emitted(text.replace(old, new)).files["kernel.py"].count(waits) == 2, new


@pytest.mark.parametrize(("stored", "printed"), [("{}", "x_t / y_t"), ("floor({})", "tl.div_rn(x_t, y_t)")])
def test_only_what_something_jumps_by_is_rounded_once(stored: str, printed: str) -> None:
    text = f"""
@kernel
def div(x: In["f32", 4096], y: In["f32", 4096], z: Out["f32", 4096]):
    for n in grid(4096, 1024):
        x_t = load(x[n])
        y_t = load(y[n])
        store(z[n], {stored.format("x_t / y_t")})
"""
    assert printed in emitted(text).files["kernel.py"]

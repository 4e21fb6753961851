"""The text that the emitter writes, held against golden files, and what emit() gives around it. Takes no TileLang."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from akg_plugin_tilelang.emit import emit, module_text
from akg_plugin_tilelang.emit.kernel import functions
from staged import ATTENTION, CONVOLUTION, FEW_ROWS, LINEAR, TURNED, WINDOWS, attention, crossed, persistent

from akg_core.plugin import KernelSource, Schedule, Sketch, Target
from akg_core.testing.emission import cases
from akg_core.testing.emission.running import Launched, Run
from akg_core.testing.emission.sketches import ADD, SCATTERED_ROWS, SOFTMAX, sketch_of

GOLDEN = Path(__file__).parent / "golden"
SM_90 = Target(backend="cuda", arch="sm_90")
SCAN = """
@kernel
def run(x: In["f32", 6, 300], y: Out["f32", 6, 300], z: Out["i64", 6]):
    n = whole(300)
    for m in grid(6, 2):
        t = load(x[m, n])
        store(y[m, n], scan_max(t, n))
        store(z[m], argmin(t, n))
"""
ROWS = """
@kernel
def rows(x: In["f32", 8, 4, 256], y: Out["f32", 8, 4, 256]):
    for m in grid(8, 1):
        for n in grid(4, 1, cooperative=True):
            k = whole(256)
            t = load(x[m, n, k])
            store(y[m, n, k], t / all_reduce_sum(reduce_sum(t, [n, k]), n))
"""


def source_of(sketch: Sketch) -> KernelSource:
    return emit(sketch, Schedule(), SM_90)


TEXTS = {"add": ADD, "softmax": SOFTMAX, "linear": LINEAR, "scan": SCAN, "scattered_rows": SCATTERED_ROWS}


@pytest.mark.parametrize(("name", "text"), TEXTS.items())
def test_golden(name: str, text: str, golden: Callable[[Path, str], None]) -> None:
    golden(GOLDEN / f"{name}.txt", source_of(sketch_of(text)).files["kernel.py"])


def test_what_is_around_the_kernel() -> None:
    source = source_of(sketch_of(SOFTMAX))
    assert source.plugin == "tilelang" and set(source.files) == {"kernel.py", "model_new.py"}
    assert "_launch_softmax((x, y))" in source.files["model_new.py"]
    assert "pip install tilelang==" in source.files["model_new.py"]
    assert all(place.startswith("kernel.py:") for place in source.line_map)


@pytest.mark.parametrize(
    ("old", "new", "copied", "stages"),
    [
        (", stages=3", "", 3, 3),  # of x and w, and of y by way of shared memory
        ("stages=3", "stages=2", 3, 2),
        ("stages=3", "stages=1", 3, 1),
        ("load(x[b, m, k])", 'load(x[b, m, k], via="bulk")', 3, 3),
        ("192", "200", 2, 3),  # the last tile of w is partial
        ("load(w[n, k])", "load(w[n, k]) * 2.0", 2, 0),
    ],
)
def test_boxes_are_copied(old: str, new: str, copied: int, stages: int) -> None:
    kernel = source_of(sketch_of(LINEAR.replace(old, new))).files["kernel.py"]
    assert kernel.count("T.copy(") == copied
    assert (f"T.Pipelined(4, num_stages={stages})" in kernel) == (stages > 0) == ("T.Pipelined" in kernel)


SPLIT = """
@kernel
def product(high: In["f16", 256, 128], low: In["f16", 256, 128], w: In["f16", 128, 1920], back: In["f32", 256],
            y: Out["f32", 256, 1920]):
    for m in grid(256, 128):
        for n in grid(1920, 128):
            acc = zeros([m, n], "f32")
            rest = zeros([m, n], "f32")
            for k in tiles(128, 64):
                w_t = load(w[k, n])
                part = dot(load(high[m, k]), w_t, over=k)
                rest = dot(load(low[m, k]), w_t, over=k, into=rest)
                acc = acc + part
            store(y[m, n], (acc + rest * 0.5) * load(back[m]))
"""


def test_attention_keeps_weights_in_registers_and_adds_in_place() -> None:
    kernel = source_of(sketch_of(ATTENTION)).files["kernel.py"]
    weights = re.search(r"(\w+) = T.alloc_fragment\(\(128, 128\), 'float16'\)", kernel)
    assert weights and f"T.gemm({weights[1]}, v_tile, acc, policy=T.GemmWarpPolicy.FullRow)" in kernel
    assert "acc[i_m, f] = acc[i_m, f] * shrink[i_m]\n" in re.sub(r" +#.*", "", kernel)
    assert "T.Pipelined(3, num_stages=2)" in kernel


def test_boxes_that_a_tensor_ends_in_are_copied() -> None:
    kernel = source_of(sketch_of(attention(192))).files["kernel.py"]
    box = "[b, m_begin:m_begin + 192, 0:64]"
    assert f"T.copy(q{box}, queries)" in kernel and f"T.copy(y_tile, y{box.replace('64', '128')})" in kernel
    assert "threads=384" in kernel and "if " not in kernel.partition("@T.prim_func")[2]


def test_heads_that_are_no_power_of_two_are_copied_as_boxes_of_their_size() -> None:
    kernel = source_of(sketch_of(crossed((96, 80)))).files["kernel.py"]
    for box in ("q[b, m_begin:m_begin + 192, 0:96]", "k[b, n_at:n_at + 128, 0:96]", "v[b, n_at:n_at + 128, 0:80]"):
        assert f"T.copy({box}, " in kernel
    assert "T.copy(y_tile, y[b, m_begin:m_begin + 192, 0:80])" in kernel
    kernel = source_of(sketch_of(crossed((72, 128)))).files["kernel.py"]
    assert "k_tile[n, e] = " in kernel or "k_tile[i_n, e] = " in kernel, "72 is no multiple of what matrix units take"


@pytest.mark.parametrize(("rows", "threads"), [(16, 128), (48, 128), (96, 128), (192, 384)])
def test_few_rows_that_are_no_power_of_two_have_threads(rows: int, threads: int) -> None:
    text = FEW_ROWS.replace("16, 48]", f"{rows}, 48]").replace("16, 200]", f"{rows}, 200]")
    text = text.replace("reduce_max(abs(acc), (m, n))", "0.0")
    kernel = source_of(sketch_of(text.replace("whole(16)", f"whole({rows})"))).files["kernel.py"]
    assert f"threads={threads})" in kernel and f"T.alloc_shared(({rows}, 16), 'float16')" in kernel


def test_what_is_held_may_be_masked_in_a_branch_of_a_loop_whose_turns_overlap() -> None:
    kernel = source_of(sketch_of(crossed())).files["kernel.py"]
    assert "T.Pipelined(" in kernel and "T.serial(" not in kernel and "T.gemm(queries, k_tile, product, " in kernel


def test_exponentials_whose_errors_count_beside_1_are_those_of_the_chip() -> None:
    kernel = source_of(sketch_of(ATTENTION)).files["kernel.py"]
    assert "= exp2_beside_one((product[" in kernel and kernel.count("T.import_source(EXP2_BESIDE_ONE)\n") == 1
    assert "= T.exp(peak[" in kernel, "of which nothing is said"


def test_a_factor_made_of_what_is_loaded_lies_in_shared_memory() -> None:
    text = LINEAR.replace("acc = dot(load(x[b, m, k])", "t = load(x[b, m, k])\n                    acc = dot(t * t")
    kernel = source_of(sketch_of(text)).files["kernel.py"]
    factor = re.search(r"T.gemm\((\w+), w_tile, acc", kernel)
    assert factor and f"{factor[1]} = T.alloc_shared((128, 32), 'float16')" in kernel
    assert "t = T.alloc_fragment((128, 32), 'float16')" in kernel


@pytest.mark.parametrize("values", [128, 48])
def test_results_outside_of_matrix_units_have_rows_over_the_threads_alike(values: int) -> None:
    """What is known of a row, as of attention, lies in one way."""
    kernel = source_of(sketch_of(attention(32, (64, values)))).files["kernel.py"]
    layouts = re.findall(r"T.Fragment\(\(32, (\d+)\), forward_fn=(lambda.*?)\)}", kernel)
    rows = {}
    for columns, layout in layouts:
        held = [[eval(layout)(i, j)[0] for j in range(int(columns))] for i in range(32)]
        rows[columns] = [set(row) for row in held]
        places = [eval(layout)(i, j) for i in range(32) for j in range(int(columns))]
        assert len(set(places)) == len(places), "each place of a thread has one element"
    assert set(rows) == {"32", str(values)} and rows["32"] == rows[str(values)]


def test_what_products_of_several_loops_multiply_is_there_before_the_first() -> None:
    """Which may have no turns: what a copy unit loads is waited for in it alone."""
    loop = "            for n in tiles(384, BN, stages=2):\n"
    head, body = ATTENTION.split(loop)
    body, store = body.split("            store(")
    again = (
        body.replace("product", "scores")
        .replace("grown", "larger")
        .replace("weights", "shares")
        .replace("shrink", "less")
    )
    first = loop.replace("384,", "384, BN, stop=begin(m),").replace("BN, stop=begin(m), BN", "BN, stop=begin(m)")
    second = loop.replace("384, BN", "384, BN, start=begin(m)")
    causal = f"{head}{first}{body}{second}{again}            store({store}"
    kernel = source_of(sketch_of(causal.replace("64", "128"))).files["kernel.py"]
    assert (
        "queries, disable_tma=True)" in kernel
        and "disable_tma" not in source_of(sketch_of(ATTENTION)).files["kernel.py"]
    )
    assert re.findall(r"num_stages=(\d)", kernel) == ["2", "1"], "both have tiles of their own"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("n // 90,", "2 - n // 90,"),  # images that the results are not in the order of
        ("k % 96 // 32 -", "k % 96 // 32 * 2 -"),  # taps that lie otherwise in a row than across rows
        ("k // 96 - 1", "k // 96"),  # results that are not as many as steps over the pixels
    ],
)
def test_windows_over_whole_images_are_copied_by_im2col(old: str, new: str) -> None:
    kernel = source_of(sketch_of(WINDOWS.replace(old, new))).files["kernel.py"]
    assert ("T.im2col(x, window, n_begin // 128, k_at // 32, 3, 2, 1, 1)" in kernel) == (not new)
    assert ("T.im2col" in kernel) == (not new) and ("func_attr" in kernel) == bool(new)


@pytest.mark.parametrize(
    ("pixels", "channels", "programs", "tile"),
    [(192, 64, 2, "tile"), (1, 64, 132, "tile"), (192, 16, 8, "tile // 4"), (192, 8, 16, "first_row + turn_2 % 8")],
)
def test_programs_of_a_persistent_grid_take_tile_after_tile(
    pixels: int, channels: int, programs: int, tile: str
) -> None:
    kernel = source_of(sketch_of(persistent(pixels, channels))).files["kernel.py"]
    total = 64 // channels * -(-270 // pixels)
    head, loop = f"with T.Kernel({programs}, threads=", f"for turn in T.serial(T.ceildiv({total} - pid, {programs})):"
    assert head in kernel and kernel.index("T.alloc_fragment") < kernel.index(loop) < kernel.index("for k_turn")
    assert f"tile = pid + turn * {programs}" in kernel and tile in kernel


def test_nan_that_are_told_otherwise_are_no_matter_of_a_largest() -> None:
    text = SOFTMAX.replace("reduce_max(t, n)", "reduce_max(t, n, nan_elsewhere=True)")
    assert text != SOFTMAX
    kernels = [source_of(sketch_of(each)).files["kernel.py"] for each in (SOFTMAX, text)]
    assert ["ordered(" in kernel for kernel in kernels] == [True, False] and all("T.reduce_max(" in k for k in kernels)


def test_names_that_mean_something_in_cuda_are_not_taken() -> None:
    text = SOFTMAX.replace("e = exp", "new = exp").replace("(e, n)", "(new, n)").replace("], e /", "], new /")
    kernel = source_of(sketch_of(text)).files["kernel.py"]
    assert "new_" in kernel and not re.search(r"\bnew\b", kernel)


def test_what_follows_a_product_is_pipelined_with_it_and_vectors_are_shared() -> None:
    kernel = source_of(sketch_of(SPLIT)).files["kernel.py"]
    assert "T.Pipelined(2, num_stages=3)" in kernel and kernel.count("policy=T.GemmWarpPolicy.FullRow") == 2
    assert "back_tile = T.alloc_shared((128,), 'float32')" in kernel


@pytest.mark.parametrize(("rows", "walked"), [(256, False), (640, True), (1280, True)])
def test_programs_of_a_product_walk_eight_rows_at_once(rows: int, walked: bool) -> None:
    """Each tile is made once, whatever the order."""
    kernel = source_of(sketch_of(SPLIT.replace("256", str(rows)))).files["kernel.py"]
    lines = [line.split("#")[0].strip() for line in kernel.splitlines()]
    placing = [line for line in lines if re.match(r"(first_row|turn|m_begin|n_begin) = ", line)]
    assert ("first_row" in kernel) == walked
    found = set()
    for pid in range(count := rows // 128 * 15):
        places = {"pid": pid} if walked else {"pid": pid % 2, "pid_y": pid // 2}
        names = places | {"T": SimpleNamespace(min=min)}
        exec("\n".join(placing), names)
        found.add((names["m_begin"], names["n_begin"]))
    assert len(found) == count and found == {(m, n) for m in range(0, rows, 128) for n in range(0, 1920, 128)}


def test_tensors_of_more_elements_than_32_bits_count_have_dimensions_of_64() -> None:
    kernel = source_of(sketch_of(SPLIT.replace("256", "2097152"))).files["kernel.py"]
    assert "y: T.Tensor((T.int64(2097152), T.int64(1920)), 'float32')" in kernel
    assert "low: T.Tensor((2097152, 128), 'float16')" in kernel


STRIDED = """
@kernel
def peak(x: In["f32", 4, 8, 128], y: Out["f32"]):
    n = whole(64)
    store(y, reduce_max(load(x[n * 65 // 1024, n * 65 // 128 % 8, n * 65 % 128]), n))
"""


def test_strides_through_several_dimensions_are_kept_in_a_tile() -> None:
    kernel = source_of(sketch_of(STRIDED)).files["kernel.py"]
    assert "strides[n] = n * 65\n" in re.sub(r" +#.*", "", kernel)
    assert "x[strides[n] // 1024, strides[n] // 128 % 8, strides[n] % 128]" in kernel


def test_tiles_that_lie_otherwise_in_memory_go_by_way_of_shared_memory() -> None:
    """Neighbouring threads load and store neighbours, and rows are longer than tiles, so that none meet at a bank."""
    kernel = re.sub(r" +#.*", "", source_of(sketch_of(TURNED)).files["kernel.py"])
    assert "t_turned = T.alloc_shared((32, 32 + 1), 'float32')" in kernel
    assert re.search(r"for i_c, i_n in T.Parallel\(32, 32\):\n +t_turned\[i_c, i_n\] = .*x\[c_begin \+ i_c, n", kernel)
    assert "t[i_n, i_c] = t_turned[i_c, i_n]" in kernel
    assert "y_tile = T.alloc_shared((64, 128 + 4), 'float32')" in kernel
    assert "y[i_i, j_begin + i_j] = y_tile[i_i, i_j]" in kernel


BLOCKS = """
@kernel
def convolution(w: In["f32", 64, 27], x: In["f32", 16, 3, 256, 256, 10], y: Out["f32", 16, 64, 645160]):
    for b in grid(16, 1):
        for m in grid(64, 64):
            for n in grid(645160, 64):
                acc = zeros([b, m, n], "f32")
                for k in tiles(27, 32):
                    acc = dot(load(w[m, k]), load(x[b, k // 9, n // 2540 + k // 3 % 3, n % 2540 // 10 + k % 3, n % 10]),
                              over=k, into=acc)
                store(y[b, m, n], acc)
"""


def test_blocks_of_registers_are_stored_by_way_of_shared_memory_where_neighbours_are_along_their_rows() -> None:
    kernel = re.sub(r" +#.*", "", source_of(sketch_of(BLOCKS)).files["kernel.py"])
    assert "acc[i_n, i_m] = acc[i_n, i_m] + " in kernel and "y_tile = T.alloc_shared((64, 64 + 4), 'float32')" in kernel
    assert re.search(
        r"i_m, i_n in T.Parallel\(64, 64\):\n.*\n +y\[b, i_m, n_begin \+ i_n\] = y_tile\[i_m, i_n\]", kernel
    )
    along = BLOCKS.replace("y[b, m, n]", "y[b, n, m]").replace("16, 64, 645160", "16, 645160, 64")
    assert "y_tile" not in source_of(sketch_of(along)).files["kernel.py"]


@pytest.mark.parametrize(
    ("place", "shape"),
    [
        ("x[n, c]", "70, 40"),  # as threads lie
        ("x[c // 3, n + c % 3]", "14, 72"),  # taps: 11 rows to a request, which lie in the same lines
    ],
)
def test_tiles_that_lie_in_memory_as_threads_do_or_in_few_rows_are_loaded_by_them(place: str, shape: str) -> None:
    kernel = source_of(sketch_of(TURNED.replace("x[c, n]", place).replace('"f32", 40, 70', f'"f32", {shape}')))
    assert "t_turned" not in kernel.files["kernel.py"]


def test_a_tile_of_few_columns_is_loaded_as_it_lies() -> None:
    """A request goes along several of its rows then, which are neighbours in memory."""
    assert "t_turned" not in source_of(sketch_of(TURNED.replace("grid(40, 32)", "grid(40, 8)"))).files["kernel.py"]


def test_a_product_that_gathers_a_factor_has_no_warps_that_only_load() -> None:
    gathered, dense = (source_of(sketch_of(text)).files["kernel.py"] for text in (CONVOLUTION, LINEAR))
    asked = "    T.func_attr({'pass_configs': {'tl.disable_warp_specialized': True}})\n"
    assert asked in gathered and "T.Pipelined(3, num_stages=3)" in gathered
    assert "func_attr" not in dense


PRODUCT = "acc = dot(load(w[m, k]), load(x[b, n + k // 64, k % 64]), over=k, into=acc)"
SUMMED = """t = load(x[b, n + k // 64, k % 64])
                    acc = dot(load(w[m, k]), t, over=k, into=acc)
                    acc = acc + reduce_sum(f32(t), [n, k])"""


@pytest.mark.parametrize(
    ("old", "new", "load"),
    [
        ("", "", "x[b, T.min(n_begin + i_n, 297) + (k_at + i_k) // 64, (k_at + i_k) % 64]"),
        ("tiles(192, 64)", "tiles(190, 64)", "T.if_then_else(T.And(k_at + i_k < 190, n_begin + i_n < 298), x["),
        (PRODUCT, SUMMED, "T.if_then_else(n_begin + i_n < 298, x["),
    ],
)
def test_lanes_that_do_not_exist_gather_what_the_last_does(old: str, new: str, load: str) -> None:
    """Then loads have no condition, and are made ahead; those that something else sees have it."""
    kernel = source_of(sketch_of(CONVOLUTION.replace(old, new) if old else CONVOLUTION)).files["kernel.py"]
    assert load in kernel


def test_what_is_subtracted_from_itself_is_computed() -> None:
    """TileLang would make 0 of it, also where it is NaN."""
    kernel = source_of(sketch_of(ADD.replace("load(x[n]) + load(z[n])", "load(x[n]) - load(x[n]) / 1.0"))).files[
        "kernel.py"
    ]
    assert 'T.call_pure_extern("float32", "__fsub_rn", ' in kernel


def test_few_rows_are_columns_of_matrix_units() -> None:
    kernel = source_of(sketch_of(FEW_ROWS)).files["kernel.py"]
    assert "acc = T.alloc_fragment((64, 16), 'float32')" in kernel and "T.gemm(x_tile, w_tile, acc, " in kernel
    assert "part = T.alloc_fragment((64, 16), 'int32')" in kernel, "what is made of them lies as they do"


COLUMNS = """
@kernel
def columns(x: In["f32", 64, 512], y: Out["f32", 512]):
    m = whole(64)
    for n in grid(512, {}):
        store(y[n], reduce_sum(load(x[m, n]), m))
"""


@pytest.mark.parametrize(("width", "threads", "laid_out"), [(64, 64, True), (256, 256, True), (32, 128, False)])
def test_a_thread_has_all_that_its_results_are_reduced_from(width: int, threads: int, laid_out: bool) -> None:
    kernel = source_of(sketch_of(COLUMNS.format(width))).files["kernel.py"]
    assert f"threads={threads})" in kernel
    layout = f"lambda i0, i1: (i1 % {threads}, i0)"
    assert (layout in kernel) == ("T.Fragment(" in kernel) == laid_out


class Printed(Run):
    """A run in which every launch is printed, too, and read as Python."""

    def execute(self, launched: Launched) -> None:
        ast.parse(module_text(functions(launched.instance, 132))[0])
        launched.interpret()


@pytest.mark.parametrize("family", ["maps", "bools", "reductions", "scans", "dots", "halves", "places", "control"])
def test_every_case_is_printed(family: str) -> None:
    for case in [case for case in cases.family(family) if not case.name.startswith("sort_")][::6]:
        Printed(case).go()


def test_programs_that_wait_for_each_other_are_launched_with_what_they_write_to() -> None:
    files = source_of(sketch_of(ROWS)).files
    assert "    grid_barrier(arrived, 0, group, 4)\n" in files["kernel.py"]
    assert "parts1[group, member] = " in files["kernel.py"] and "= parts1[group, members]" in files["kernel.py"]
    model = [line.strip() for line in files["model_new.py"].splitlines()]
    assert "rows_arrived = torch.zeros(1, 32, dtype=torch.int32, device=x.device)" in model
    assert model.index("_together(x.device, 4, 4)") < model.index("_launch_rows((x, y, rows_arrived, rows_parts1))")

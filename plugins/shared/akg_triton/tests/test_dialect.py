"""What a chip has, lacks and says otherwise in Triton is in its dialect; without one of its own Triton is plain."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from akg_triton.dialect import Dialect
from akg_triton.emit import emit

from akg_core.plugin import Argument, Interface, KernelSource, Schedule, Sketch, Target, Unsupported
from akg_core.testing.emission.sketches import sketch_of

SOURCES = sorted((Path(__file__).parents[1] / "akg_triton").rglob("*.py"))
CHIPS = re.compile(
    r"""cuda | nvidia | nvcc | ptx | cubin | rocm | ascend
    | \b(gpu|hip|amd|npu|cann|tpu|xpu|tma|hopper|ampere|ada|turing|volta|blackwell)s?\b
    | \bsm_?\d+ | \b(?:A|B|H|L|V|MI)\d{2,3}x?\b | tensor.core""",
    re.IGNORECASE | re.VERBOSE,
)
PLAIN = Dialect(device="npu")
NORMS = """
@kernel
def norms(x: In["{dtype}", 37, 100], y: Out["{dtype}", 37]):
    for m in grid(37, 1):
        n = whole(100)
        t = load(x[m, n], stream=True)
        store(y[m], {made})

@program
def model(x: In["{dtype}", 37, 100]):
    y = empty("{dtype}", 37)
    norms(x, y)
    return y
"""
ROOT_OF_SQUARES = "sqrt(reduce_sum(t * t, n)) * 2.0"
RUN = """
import sys
from akg_triton import simulate

simulate.prepare()
import torch

sys.path.insert(0, sys.argv[1])
from model_new import ModelNew

x = torch.randn(37, 100)
torch.testing.assert_close(ModelNew()(x), x.norm(dim=1) * 2)
"""


def written(dialect: Dialect, made: str = ROOT_OF_SQUARES, dtype: str = "f32") -> KernelSource:
    text = NORMS.format(made=made, dtype=dtype)
    interface = Interface(arguments=(Argument(name="x", kind="tensor", dtype=dtype, shape=(37, 100)),))
    sketch = Sketch(name="norms", text=text, interface=interface)
    return emit(sketch, Schedule(), Target(backend="npu"), "triton_npu", dialect)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_chip_is_named(path: Path) -> None:
    found = [line for line in path.read_text().splitlines() if CHIPS.search(line)]
    assert not found, f"{path.name} knows a chip; a dialect must say it: {found}"


def test_a_chip_that_is_named_is_found() -> None:
    for line in ("torch.cuda.device(0)", "an H100", "sm_90", "ptxas", "this GPU", "_cuda_getCurrentRawStream"):
        assert CHIPS.search(line), line
    assert len(SOURCES) > 20 and not CHIPS.search("the chip's Triton has no libdevice")


def test_plain_triton_names_no_chip_and_runs(tmp_path: Path) -> None:
    files = written(replace(PLAIN, units=5, persistent=True)).files
    assert "tl.num_programs(0)" in files["kernel.py"] and "min(37, 5)" in files["model_new.py"]
    assert not CHIPS.search((files["kernel.py"] + files["model_new.py"]).replace("'npu'", ""))
    (tmp_path / "reference.py").write_text("import torch\n\n\nclass Model(torch.nn.Module):\n    pass\n")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    ended = subprocess.run([sys.executable, "-c", RUN, str(tmp_path)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]


@pytest.mark.parametrize(
    ("said", "file", "text"),
    [
        ({"load_once": 'eviction_policy="first"'}, "kernel.py", 'other=0.0, eviction_policy="first")'),
        ({"forms": {"sqrt": "tl.exact_root({0})"}}, "kernel.py", "tl.exact_root(sum_2)"),
        ({"launcher": "class _Launcher:\n    chip = 7\n"}, "model_new.py", "\n\nclass _Launcher:\n    chip = 7\n"),
        ({"device": "other"}, "model_new.py", "_DEVICE = 'other' if"),
    ],
)
def test_what_a_dialect_says_is_written(said: dict[str, str], file: str, text: str) -> None:
    assert text in written(replace(PLAIN, **said)).files[file]
    assert text not in written(PLAIN).files[file]


def test_without_warps_no_launch_says_how_many() -> None:
    assert "num_warps=" in written(PLAIN).files["model_new.py"]
    assert "num_warps=" not in written(replace(PLAIN, warps=False)).files["model_new.py"]


def test_elementary_functions_come_from_the_module_that_the_chip_has() -> None:
    dialect = replace(PLAIN, functions="triton.language.extra.chip.libdevice")
    text = written(dialect, "reduce_sum(exp(t), n)").files["kernel.py"]
    assert "from triton.language.extra.chip import libdevice\n" in text and "libdevice.exp(t)" in text


def test_a_dtype_that_the_chip_lacks_is_refused() -> None:
    assert "tl.float64" not in written(replace(PLAIN, lacks=("f64",))).files["kernel.py"]
    with pytest.raises(Unsupported, match="cannot compute in f64"):
        written(replace(PLAIN, lacks=("f64",)), dtype="f64")


def test_a_helper_without_a_form_is_refused_and_one_with_another_text_has_that() -> None:
    made = "reduce_sum(rand(3, n), n)"
    with pytest.raises(Unsupported, match="`uniform` has no form"):
        written(replace(PLAIN, helpers={"uniform": ""}), made)
    other = "\n@triton.jit\ndef uniform(seed, index):\n    return index * 0.5\n"
    assert other in written(replace(PLAIN, helpers={"uniform": other}), made).files["kernel.py"]


ARGMAX = """
@kernel
def places(x: In["f32", 37, 100], y: Out["i64", 37]):
    for m in grid(37, 1):
        n = whole(100)
        store(y[m], argmax(load(x[m, n]), n))

@program
def model(x: In["f32", 37, 100]):
    y = empty("i64", 37)
    places(x, y)
    return y
"""


def test_where_values_are_combined_one_at_a_time_a_place_is_found_by_its_value() -> None:
    interface = Interface(arguments=(Argument(name="x", kind="tensor", dtype="f32", shape=(37, 100)),))
    sketch = Sketch(name="places", text=ARGMAX, interface=interface)

    def text(dialect: Dialect) -> str:
        return emit(sketch, Schedule(), Target(backend="npu"), "triton_npu", dialect).files["kernel.py"]

    assert "tl.reduce((" in text(PLAIN) and "argmax_along(" not in text(PLAIN)
    alone = text(replace(PLAIN, pairs=False))
    assert "tl.reduce((" not in alone and "def argmax_along(" in alone


def test_functions_of_the_chip_s_own_are_written_where_they_are_called() -> None:
    own = "\n@triton.jit\ndef root(x):\n    return power(x)\n"
    other = "\n@triton.jit\ndef power(x):\n    return x\n"
    dialect = replace(PLAIN, forms={"sqrt": "root({0})"}, helpers={"root": own, "power": other, "unused": "never"})
    text = written(dialect).files["kernel.py"]
    assert own in text and other in text and "never" not in text


BYTES = """
@kernel
def product(x: In["i8", 64, 128], w: In["i8", 128, 64], y: Out["i32", 64, 64]):
    for m in grid(64, 32):
        for n in grid(64, 32):
            acc = zeros([m, n], "i32")
            for k in tiles(128, 32):
                acc = dot(load(x[m, k]), load(w[k, n]), over=k, into=acc)
            store(y[m, n], acc)
"""

SECOND_OF_PAIRS = """
@kernel
def second(x: In["f32", 16, 72, 2], y: Out["f32", 16, 8]):
    for m in grid(16, 16):
        n = whole(8)
        store(y[m, n], load(x[m, n + 64, 1]))
"""


def kernel_of(text: str, dialect: Dialect) -> str:
    return emit(sketch_of(text), Schedule(), Target(backend="npu"), "triton_npu", dialect).files["kernel.py"]


def test_bytes_are_multiplied_by_matrix_units_where_these_take_them() -> None:
    assert "acc = tl.dot(x_tile, w_tile, acc)" in kernel_of(BYTES, replace(PLAIN, byte_products=True))
    assert "tl.dot" not in kernel_of(BYTES, PLAIN)


def test_pairs_begin_at_no_number_that_a_compiler_sees() -> None:
    assert "((n + 64) * 2)[None, :] + 1" in kernel_of(SECOND_OF_PAIRS, PLAIN)
    text = kernel_of(SECOND_OF_PAIRS, replace(PLAIN, lane_offsets=False, one="tl.num_programs(1)"))
    assert "+ 128 * tl.num_programs(1) + 1 + (n * 2)[None, :]" in text
    both = SECOND_OF_PAIRS.replace("16, 8]", "16, 8, 2]").replace("n = whole(8)", "n, p = whole(8), whole(2)")
    both = both.replace("y[m, n]", "y[m, n, p]").replace("n + 64, 1", "n + 64, p")
    text = kernel_of(both, replace(PLAIN, lane_offsets=False, one="tl.num_programs(1)"))
    assert "+ 128 * tl.num_programs(1) + (n * 2)[None, :, None] + p" in text

"""The text that the emitter writes, held against golden files, and what emit() gives around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from akg_plugin_cpp_cpu.emit import emit

from akg_core.errors import SketchError
from akg_core.records import Argument, Interface, KernelSource, Schedule, Sketch, Target

GOLDEN = Path(__file__).parent / "golden"
CPU = Target(backend="cpu")

ADD = """
@kernel
def add(x: In["f32", "N"], z: In["f32", "N"], y: Out["f32", "N"], BN: Tune[4096, 16384] = 16384):
    for n in grid(N, BN):
        store(y[n], load(x[n]) + load(z[n]), stream=True)
"""
SOFTMAX = """
@kernel
def softmax(x: In["f32", 64, 4096], y: Out["f32", 64, 4096]):
    for m in grid(64, 1):
        n = whole(4096)
        t = load(x[m, n])
        e = exp(t - reduce_max(t, n))
        store(y[m, n], e / reduce_sum(e, n))
"""
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
TEXTS = {
    "add": ADD,
    "softmax": SOFTMAX,
    "columns": COLUMNS,
    "linear": LINEAR,
    "transpose": TRANSPOSE,
    "pool": POOL,
    "scan": SCAN,
}


def emitted(text: str, schedule: dict[str, int | str] | None = None, arguments: int = 1) -> KernelSource:
    interface = Interface(arguments=tuple(Argument(name=f"a{i}", kind="tensor", dtype="f32") for i in range(arguments)))
    return emit(Sketch(name="sketch", text=text, interface=interface), Schedule(values=schedule or {}), CPU)


@pytest.mark.parametrize("name", TEXTS)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    found = emitted(TEXTS[name], arguments=TEXTS[name].count("In[")).files["kernel.cpp"]
    path = GOLDEN / f"{name}.cpp"
    if request.config.getoption("--update-golden", False):
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(found)
    assert found == path.read_text(), "run pytest with --update-golden and read the difference"


def test_lines_map_to_the_sketch() -> None:
    source = emitted(SOFTMAX)
    lines = source.files["kernel.cpp"].splitlines()
    (store,) = (number for number, line in enumerate(lines, 1) if "store(y" in line)
    assert (
        source.line_map[f"kernel.cpp:{store}"]
        == SOFTMAX.splitlines().index("        store(y[m, n], e / reduce_sum(e, n))") + 1
    )


def test_schedule_reaches_the_text() -> None:
    assert "* 4096;" in emitted(ADD, {"add.BN": 4096}, 2).files["kernel.cpp"]
    with pytest.raises(SketchError, match="not a choice"):
        emitted(ADD, {"add.BN": 5}, 2)


def test_bad_sketch_is_refused_with_its_place() -> None:
    with pytest.raises(SketchError, match="SK201"):
        emitted(ADD.replace("load(z[n])", "q"), arguments=2)


TWICE = """
@kernel
def scale(x: In["f32", "N"], y: Out["f32", "N"], S: Const = 2):
    for n in grid(N, 64):
        store(y[n], load(x[n]) * S)

@program
def model(x: In["f32", 100]):
    a = empty("f32", 100)
    scale(x, a)
    b = empty("f32", 100)
    scale(a, b)
    c = empty("f32", 100)
    scale(b, c, S=3)
    return c
"""


def test_launches_with_the_same_numbers_share_a_function() -> None:
    source = emitted(TWICE)
    functions = [line for line in source.files["kernel.cpp"].splitlines() if line.startswith('extern "C"')]
    assert [f.split("(")[0].split()[-1] for f in functions] == ["akg_scale", "akg_scale_2"]
    module = source.files["model_new.py"]
    assert module.count("_akg_scale([") == 2 and module.count("_akg_scale_2([") == 1


def test_names_that_cpp_takes_are_changed() -> None:
    text = ADD.replace("x:", "part:").replace("x[n]", "part[n]").replace('"N"', '"LANES"').replace("(N,", "(LANES,")
    found = emitted(text, arguments=2).files["kernel.cpp"]
    assert "const f32* __restrict const part_ =" in found and "const i64 LANES_ = sizes[0];" in found


def test_proved_indices_have_no_masks() -> None:
    proved = emitted(TEXTS["transpose"]).files["kernel.cpp"]
    assert "inside(" not in proved and "window(" not in proved and "load_inside" not in proved
    assert "load_inside(" in emitted(POOL).files["kernel.cpp"]

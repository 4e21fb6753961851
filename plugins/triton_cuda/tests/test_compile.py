"""Kernels become cubins without a GPU; what does not compile is a result with its place."""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from akg_plugin_triton_cuda import ahead
from akg_plugin_triton_cuda import compile as compiling
from akg_plugin_triton_cuda.compile import LATER, compile_all, compile_kernel, shortage
from akg_plugin_triton_cuda.emit import dialect
from akg_plugin_triton_cuda.harness import _bring_compiled
from akg_triton.emit import emit
from akg_triton.signature import POINTERS
from triton.runtime.jit import mangle_type

from akg_core.plugin import (
    Argument,
    CompileResult,
    Interface,
    KernelSource,
    Schedule,
    Sketch,
    Target,
    ToolchainError,
    prune,
)
from akg_core.plugin.sketch import parse, smaller, space
from akg_core.sketch.interpret.tiles import TORCH
from akg_core.testing.emission.sized import SIZES, sized
from akg_core.worker.pool import Pool

SM_90 = Target(backend="cuda", arch="sm_90")


def source(name: str, target: Target = SM_90) -> KernelSource:
    return emit(sized(name), Schedule(), target, "triton_cuda", dialect(target))


@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_twelve_become_cubins(name: str, tmp_path: Path) -> None:
    result = compile_kernel(source(name), SM_90, tmp_path)
    assert result.ok, result.log
    registers = {key: value for key, value in result.details.items() if key.endswith(".registers")}
    assert registers and all(16 <= value <= 255 for value in registers.values())
    assert "bytes of shared memory" in result.log
    if name in ("softmax", "layer_norm", "argmax", "embedding_mean"):
        assert all(value == 0 for key, value in result.details.items() if key.endswith("spilled_bytes"))


def test_blocks_copied_by_descriptors(tmp_path: Path) -> None:
    text = """
@kernel
def product(a: In["f16", 2, 256, 128], b: In["f16", 2, 128, 256], y: Out["f32", 2, 256, 256]):
    for g in grid(2, 1):
        for m in grid(256, 128):
            for n in grid(256, 128):
                acc = zeros([g, m, n])
                for k in tiles(128, 64):
                    part = dot(load(a[g, m, k], via="bulk"), load(b[g, k, n], via="bulk"), over=k, promote=1)
                    acc = acc + part
                store(y[g, m, n], acc)
"""
    given = tuple(
        Argument(name=name, kind="tensor", dtype="f16", shape=shape)
        for name, shape in (("a", (2, 256, 128)), ("b", (2, 128, 256)))
    )
    sketch = Sketch(name="product", text=text, interface=Interface(arguments=given))
    result = compile_kernel(emit(sketch, Schedule(), SM_90, "triton_cuda", dialect(SM_90)), SM_90, tmp_path)
    assert result.ok, result.log
    (folder,) = {path.parent for path in tmp_path.rglob("product.ptx")}
    ptx = (folder / "product.ptx").read_text()
    assert "cp.async.bulk.tensor.2d" in ptx and "wgmma.mma_async" in ptx


def test_programs_that_meet(tmp_path: Path) -> None:
    text = """
@kernel
def softmax(x: In["f32", 64, 65536], y: Out["f32", 64, 65536]):
    for m in grid(64, 1):
        for g in grid(8, 1, cooperative=True):
            n = whole(8192)
            t = load(x[m, begin(g) * 8192 + n])
            peak = all_reduce_max(reduce_max(t, n), g)
            e = exp(t - peak)
            store(y[m, begin(g) * 8192 + n], e / all_reduce_sum(reduce_sum(e, n), g))
"""
    given = (Argument(name="x", kind="tensor", dtype="f32", shape=(64, 65536)),)
    sketch = Sketch(name="softmax", text=text, interface=Interface(arguments=given))
    source = emit(sketch, Schedule(), SM_90, "triton_cuda", dialect(SM_90))
    assert "softmax_arrived = torch.zeros(1024, dtype=torch.int32, device=x.device)" in source.files["model_new.py"]
    result = compile_kernel(source, SM_90, tmp_path)
    assert result.ok, result.log


SHAPES = {"x": (512, 10, 1024), "w": (256, 1024)}


def test_programs_that_meet_once_a_turn(tmp_path: Path) -> None:
    """They hold what they load once, arrive by a release and see what others stored past the cache of their own."""
    text = """
@kernel
def turns(x: In["f32", 512, 10, 1024], w: In["f32", 256, 1024], s: InOut["f32", 513, 10, 256]):
    for m in grid(10, 1):
        for p in grid(256, 16, cooperative=True):
            n = whole(256)
            w_1 = load(w[n, p])
            w_2 = load(w[n, p + 256])
            w_3 = load(w[n, p + 512])
            w_4 = load(w[n, p + 768])
            for t in range(512):
                given = load(x[t, m, p])
                h = load(s[t, m, n])
                a = reduce_sum(h * w_1, n) * reduce_sum(h * w_2, n)
                store(s[t + 1, m, p], given + a * reduce_sum(h * w_3, n) * reduce_sum(h * w_4, n))
                barrier(p)

@program
def model(x: In["f32", 512, 10, 1024], w: In["f32", 256, 1024]):
    s = zeros("f32", 513, 10, 256)
    turns(x, w, s)
    return s
"""
    given = tuple(Argument(name=n, kind="tensor", dtype="f32", shape=s) for n, s in SHAPES.items())
    sketch = Sketch(name="turns", text=text, interface=Interface(arguments=given))
    source = emit(sketch, Schedule(), SM_90, "triton_cuda", dialect(SM_90))
    assert "_together(x.device, 16, 4)" in source.files["model_new.py"]
    result = compile_kernel(source, SM_90, tmp_path)
    assert result.ok, result.log
    assert result.details["turns.spilled_bytes"] == 0 and result.details["turns.registers"] < 255
    (ptx,) = (path.read_text() for path in tmp_path.rglob("turns.ptx"))
    assert ptx.count("ld.global.cg") == 1, "of the states; weights are loaded before the loop"
    assert "gpu.release" in ptx and "gpu.acquire" in ptx


def test_a_kernel_whose_launches_nobody_described_is_compiled_on_its_first_call(tmp_path: Path) -> None:
    """A model's: it has no launches.json, one that was made for another model_new.py, or one that is nonsense."""
    made = source("softmax")
    assert "softmax_rows.registers" in compile_kernel(made, SM_90, tmp_path).details
    module = made.files["model_new.py"].replace("num_warps=4", "num_warps=8") + "\n"
    helper = "\n\n@triton.jit\ndef helper(t):\n    return t\n\n\n@triton.jit\ndef other(x):\n    helper(x)\n"
    written = {"model_new.py": module, "kernel.py": made.files["kernel.py"] + helper}
    for described in (made.files["launches.json"], "[{}, 3]", "{", "7"):
        files = {**written, "launches.json": described}
        result = compile_kernel(made.model_copy(update={"files": files}), SM_90, tmp_path)
        assert result.ok and result.artifact
        assert result.details == {"softmax_rows.compiled": LATER, "other.compiled": LATER}
        assert "other is compiled on its first call: registers, spills" in result.log


def test_another_chip(tmp_path: Path) -> None:
    target = Target(backend="cuda", arch="sm_80")
    assert compile_kernel(source("softmax", target), target, tmp_path).ok


def test_an_error_has_its_place(tmp_path: Path) -> None:
    good = source("softmax")
    kernel = good.files["kernel.py"].replace("tl.arange(0, 2048)", "tl.arange(0, 2047)")
    assert kernel != good.files["kernel.py"]
    bad = good.model_copy(update={"files": {**good.files, "kernel.py": kernel}})
    result = compile_kernel(bad, SM_90, tmp_path)
    assert not result.ok and result.artifact is None
    assert "softmax_rows does not compile" in result.log and "power of 2" in result.log
    assert "(sketch line " in result.log and str(tmp_path) not in result.log
    assert "registers" not in result.log.partition("does not compile")[2], "what is wrong comes last"


def test_too_much_shared_memory_is_an_error(tmp_path: Path) -> None:
    target = Target(backend="cuda", arch="sm_89")
    good = source("linear_gelu")
    kernel = good.files["kernel.py"].replace("num_stages=2", "num_stages=9")
    assert kernel != good.files["kernel.py"]
    bad = good.model_copy(update={"files": {**good.files, "kernel.py": kernel}})
    result = compile_kernel(bad, target, tmp_path)
    assert not result.ok and "bytes of shared memory; sm_89 has 101376" in result.log


def test_a_triton_that_cannot_be_imported_is_no_fault_of_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (broken := tmp_path / "triton").mkdir()
    (broken / "__init__.py").write_text("raise ImportError('libtriton.so: cannot open shared object file')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(ToolchainError, match=r"cannot be imported: ImportError: libtriton.so: .* file\. "):
        compile_kernel(source("softmax"), SM_90, tmp_path / "kernel")


def test_many_are_built_at_once_and_each_by_itself(tmp_path: Path) -> None:
    """One that does not even parse is no trouble for the others, and what was made lies beside each."""
    good, other = source("softmax"), source("layer_norm")
    bad = good.model_copy(update={"files": {**good.files, "kernel.py": "def softmax_rows(:"}})
    folders = tuple(tmp_path / str(number) for number in range(3))
    first, second, third = compile_all((good, bad, other), SM_90, folders)
    assert first.ok and third.ok, first.log + third.log
    assert not second.ok and "SyntaxError" in second.log
    for folder in (folders[0], folders[2]):
        assert list((folder / "compiled").rglob("*.cubin")), folder
    assert {key.rpartition(".")[2] for key in first.details} == {
        *("registers", "spilled_bytes", "shared_bytes", "warps", "occupancy")
    }


@pytest.mark.parametrize("dtype", POINTERS)
def test_what_is_compiled_ahead_is_what_triton_makes_of_the_tensors(dtype: str) -> None:
    """Else each kernel is compiled on its first call, which a process that may start no other cannot do."""
    assert mangle_type(torch.zeros(16, dtype=TORCH[dtype])) == POINTERS[dtype]


def test_what_was_compiled_once_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert compile_kernel(source("softmax"), SM_90, tmp_path / "one").ok
    (kept,) = (tmp_path / "cache").rglob("*.cubin")
    written = kept.stat().st_mtime_ns
    assert compile_kernel(source("softmax"), SM_90, tmp_path / "two").ok
    assert [path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.cubin")] == [written]
    assert [path.read_bytes() for path in (tmp_path / "two").rglob("*.cubin")] == [kept.read_bytes()]


def test_what_is_forked_from_a_parent_that_is_ready_compiles_alike(tmp_path: Path) -> None:
    good = source("softmax")
    bad = good.model_copy(update={"files": {**good.files, "kernel.py": "def softmax_rows(:"}})
    with Pool(warm=(("ready",),)) as pool:
        for name, made in (("good", good), ("bad", bad)):
            payload = {
                "source": made.model_dump(mode="json"),
                "target": SM_90.model_dump(mode="json"),
                "folder": str(tmp_path / name),
            }
            found = CompileResult(**pool.call("ready:compile_job", payload).unwrap())
            same = compile_kernel(made, SM_90, tmp_path / "same")
            assert (found.ok, found.details, found.log) == (same.ok, same.details, same.log)


def test_what_others_are_still_writing_is_not_copied(tmp_path: Path) -> None:
    """Candidates share kernels, and Triton writes a file beside its place before it moves it there."""
    used, stop = tmp_path / "used", threading.Event()
    used.mkdir()
    (used / "kernel.cubin").write_text("whole")

    def write() -> None:
        for number in itertools.takewhile(lambda _: not stop.is_set(), itertools.count()):
            folder = used / f"tmp.pid_{number}"
            folder.mkdir()
            (folder / "kernel.cubin").write_text("whole")
            (folder / "kernel.cubin").replace(used / "kernel.cubin")
            folder.rmdir()

    with ThreadPoolExecutor(1) as writer:
        writing = writer.submit(write)
        try:
            for number in range(300):
                ahead._copy(used, tmp_path / str(number))
        finally:
            stop.set()
        writing.result()
    copies = {tuple(path.name for path in (tmp_path / str(number)).iterdir()) for number in range(300)}
    assert copies == {("kernel.cubin",)}


def test_a_kernel_that_takes_too_long_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "SECONDS_OF_MANY", 2.0)
    slow = source("softmax")
    kernel = "while True:\n    pass\n" + slow.files["kernel.py"]
    slow = slow.model_copy(update={"files": {**slow.files, "kernel.py": kernel}})
    (result,) = compile_all((slow,), SM_90, (tmp_path,))
    assert not result.ok and "more than 2 s" in result.log


def test_a_compilation_waits_for_others_on_its_own_processors_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that are bound to parts of a machine compile side by side, each on its own part."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    entered = threading.Event()

    def compile_here() -> None:
        with ahead._a_core(0):
            entered.set()

    with ThreadPoolExecutor(1) as other:
        monkeypatch.setattr(ahead, "processors", lambda: [0, 1])
        with ahead._a_core(0), ahead._a_core(0):
            monkeypatch.setattr(ahead, "processors", lambda: [2, 3])
            other.submit(compile_here).result(timeout=60)
            entered.clear()
            monkeypatch.setattr(ahead, "processors", lambda: [1])
            waiting = other.submit(compile_here)
            assert not entered.wait(0.2)
        waiting.result(timeout=60)


def test_what_a_process_may_have_loaded_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several kernels are timed in one process, whose launchers are libraries mapped from its cache."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "own"))
    monkeypatch.setenv("TRITON_CACHE_DIR", "another")
    for name, kernels in (("one", ("shared", "first")), ("two", ("shared", "second"))):
        for kernel in kernels:
            (tmp_path / name / kernel).mkdir(parents=True)
            (tmp_path / name / kernel / "launcher.so").write_text(name)
        _bring_compiled(tmp_path / name)
    here = tmp_path / "own" / "triton"
    assert os.environ["TRITON_CACHE_DIR"] == str(here)
    found = {path.parent.name: path.read_text() for path in here.rglob("launcher.so")}
    assert found == {"shared": "one", "first": "one", "second": "two"}


TURNED = """
@kernel
def turned(x: In["f32", 2048, 2048], y: Out["f32", 2048, 2048], BM: Tune[64, 128, 256] = 256):
    for m in grid(2048, BM):
        for n in grid(2048, 256):
            store(y[n, m], load(x[m, n]))
"""


def test_a_kernel_that_does_not_fit_is_named_with_what_it_needs_and_fits_with_smaller_tiles(tmp_path: Path) -> None:
    given = (Argument(name="x", kind="tensor", dtype="f32", shape=(2048, 2048)),)
    sketch = Sketch(name="task", text=TURNED, interface=Interface(arguments=given))
    first = compile_kernel(emit(sketch, Schedule(), SM_90, "triton_cuda", dialect(SM_90)), SM_90, tmp_path / "first")
    (short,) = first.shortages
    assert not first.ok and str(short) == "turned needs 262144 of 232448 bytes of shared memory"
    assert "turned needs 262144 bytes of shared memory; sm_90 has 232448" in first.log
    following = smaller(space(parse(TURNED)), Schedule(), short.kernel)
    assert following == Schedule(values={"turned.BM": 128})
    second = compile_kernel(emit(sketch, following, SM_90, "triton_cuda", dialect(SM_90)), SM_90, tmp_path / "second")
    assert second.ok and not second.shortages and second.spilled == {"turned": 0}


def test_only_what_has_not_been_used_for_long_is_removed_from_the_cache(tmp_path: Path) -> None:
    for name, age in (("old", 9000), ("older", 9999), ("in use", 60), ("new", 0)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    prune(tmp_path, 1, compiling.IN_USE_SECONDS)
    assert {path.name for path in tmp_path.iterdir()} == {"in use", "new"}


def test_what_the_compiler_says_is_too_large() -> None:
    launch = {"kernel": "k_2", "of_sketch": "k", "num_warps": 4}
    numel = "ValueError: numel (2097152) exceeds triton maximum tensor numel (1048576)"
    ptxas = "ptxas error   : Entry function 'k' uses too much shared data (0x40000 bytes, 0x38c00 max)"
    for said, needs, has in ((numel, 2097152, 1048576), (ptxas, 262144, 232448), ("Triton took more than 30 s", 0, 30)):
        short = shortage(launch, {"error": said}, 90)
        assert short is not None and (short.kernel, short.needs, short.has) == ("k", needs, has)
    assert shortage(launch, {"error": "arange's range must be a power of 2"}, 90) is None
    fine = {"registers": 128, "shared_bytes": 0, "spilled_bytes": 0}
    assert shortage(launch, fine, 90) is None
    found = [shortage(launch | {"num_warps": 64}, fine, 90), shortage(launch | {"num_warps": 32}, fine, 90)]
    assert [short and (short.of, short.needs, short.has) for short in found] == [
        ("threads", 2048, 1024),
        ("registers", 131072, 65536),
    ]
    assert shortage({"kernel": "own", "num_warps": 4}, {"error": numel}, 90).kernel == "own", "a model's"

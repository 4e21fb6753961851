"""What a build says of kernels: of one that is right, and of each way in which one is wrong, in a sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from akg_plugin_tilelang import compile, probe
from akg_plugin_tilelang.emit import emit
from akg_plugin_tilelang.explain import explain
from staged import CONVOLUTION, FEW_ROWS, LINEAR, WINDOWS, attention, crossed
from tilelang_here import asked, needs_tilelang

from akg_core.plugin import KernelSource, Schedule, Target, ToolchainError
from akg_core.testing.emission.sketches import sketch_of

SM_90 = Target(backend="cuda", arch="sm_90")
KERNEL = """import tilelang.language as T


@T.prim_func
def scale(x: T.Tensor((64, 256), "float32"), y: T.Tensor((64, 256), "float32")):
    with T.Kernel(64, threads=128) as m:
        t = T.alloc_shared((256,), "float32")
        for n in T.Parallel(256):
            t[n] = x[m, n]
        for n in T.Parallel(256):
            y[m, n] = t[255 - n] * T.float32(2)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture(scope="module")
def said(folder: Path) -> Iterator[Callable[[str], str]]:
    """said(text): what a build of the text as kernel.py says."""
    with asked("builds.py", folder) as ask:
        yield lambda text: ask(json.dumps(text))


@needs_tilelang
def test_what_a_kernel_needs_is_told(said: Callable[[str], str]) -> None:
    answer = said(KERNEL)
    assert answer.startswith("built, 0 shortages: scale: ")
    assert answer.endswith(" registers, 0 spilled_bytes, 1024 shared_bytes, 128 threads\n")


@needs_tilelang
def test_what_launches_a_kernel_is_kept_and_needs_no_library_of_cpp(said: Callable[[str], str], folder: Path) -> None:
    assert said(KERNEL.replace("def scale", "def kept")).startswith("built, ")
    (kept,) = (path for path in folder.glob("*/compiled/**/executable.so") if (path.parents[5] / "kept.cu").exists())
    assert b"__tvm_ffi_kept" in kept.read_bytes() and b"libstdc++" not in kept.read_bytes()


@needs_tilelang
def test_a_product_is_pipelined(said: Callable[[str], str]) -> None:
    assert said((Path(__file__).parent / "golden/linear.txt").read_text()).startswith("built, 0 shortages: linear: ")


@needs_tilelang
@pytest.mark.parametrize(
    ("text", "threads"),
    [(CONVOLUTION, 128), (LINEAR, 256), (WINDOWS, 256), (FEW_ROWS, 256), (attention(128), 384), (attention(32), 128)],
)
def test_a_build_has_the_warps_that_a_function_asks_for(said: Callable[[str], str], text: str, threads: int) -> None:
    """128 threads of a dense product only load."""
    assert said(emit(sketch_of(text), Schedule(), SM_90).files["kernel.py"]).endswith(f" {threads} threads\n")


@needs_tilelang
@pytest.mark.parametrize(("heads", "wide"), [((64, 128), (64, 64)), ((96, 80), (32, 16))])
def test_keys_and_values_of_a_head_come_by_copy_units(
    said: Callable[[str], str], folder: Path, heads: tuple[int, int], wide: tuple[int, int]
) -> None:
    """In boxes that are as wide as shared memory can be swizzled for."""
    answer = said(emit(sketch_of(crossed(heads)), Schedule(), SM_90).files["kernel.py"])
    assert " 0 spilled_bytes" in answer and answer.endswith(" 512 threads\n")
    lowered = max(folder.glob("*/attention.cu"), key=lambda path: path.stat().st_mtime).read_text()
    for name, columns in zip("qkv", (wide[0], *wide), strict=True):
        assert re.search(rf"tma_load\({name}_desc, .*\* {columns}\), ", lowered) or heads[0] == columns
    assert "cp_async" not in lowered


@needs_tilelang
@pytest.mark.parametrize(
    ("old", "new", "problem", "advice"),
    [
        ("(256,)", "(65536,)", "needs 262144 bytes of shared memory; sm_90 has 232448", "Make the tiles in T.alloc_s"),
        ("x[m, n]", "z[m, n]", "kernel.py:9: NameError: name 'z' is not defined", "Define z before this line"),
        ("T.Parallel", "T.Paralel", "has no attribute 'Paralel'", "There is no Paralel in this TileLang"),
        ("as m:", "as m", "kernel.py:6: expected ':'", "Mend Python's syntax at this line"),
        ("T.float32(2)", "T.call_pure_extern('float32', 'nothing', x[m, n])", "nothing", "CUDA has no nothing"),
    ],
)
def test_what_is_wrong_is_told(said: Callable[[str], str], old: str, new: str, problem: str, advice: str) -> None:
    answer = said(KERNEL.replace(old, new))
    assert answer.startswith("not built") and problem in answer
    assert advice in explain(answer)[0].advice


@pytest.mark.parametrize(
    ("version", "nvcc", "message"),
    [
        ("", "/nvcc", "TileLang is not installed."),
        ("0.1.9", "/nvcc", "TileLang 0.1.9 is not 0.1.15, which it works with."),
        ("0.1.15", None, "There is no nvcc, which TileLang compiles by."),
    ],
)
def test_what_is_missing_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path, version: str, nvcc: str | None, message: str
) -> None:
    monkeypatch.setattr(probe, "version_of", lambda _: version)
    monkeypatch.setattr(probe, "nvcc", lambda: nvcc)
    source = KernelSource(plugin="tilelang", target=SM_90, files={"model_new.py": ""})
    with pytest.raises(ToolchainError) as raised:
        compile.compile_kernel(source, SM_90, tmp_path)
    assert (raised.value.message, raised.value.cure) == (message, probe.CURE)


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        (
            lambda answers, *_: answers.send("ImportError: libz3.so.4.15: cannot open shared object file"),
            "libz3.so.4.15",
        ),
        (lambda answers, *_: answers.close(), "ended with 0 and said nothing"),
    ],
)
def test_a_toolchain_that_does_not_work_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path, told, answer: str) -> None:
    monkeypatch.setattr(compile, "missing", lambda: "")
    monkeypatch.setattr(compile.ahead, "report", told)
    source = KernelSource(plugin="tilelang", target=SM_90, files={"kernel.py": "", "model_new.py": ""})
    try:
        log = compile.compile_kernel(source, SM_90, tmp_path).log
    except ToolchainError as error:
        log = str(error)
        assert log.startswith("TileLang cannot be imported: ")
    assert answer in log

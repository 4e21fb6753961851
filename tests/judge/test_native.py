"""Machine code of kernels: what is read of it before it is loaded, and what it cannot do when it runs."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from akg_core.judge.candidate import operators
from akg_core.judge.source.machine_code import computes
from akg_core.judge.source.native import ForbiddenCode, require_allowed
from akg_core.worker.elf import Elf, ElfError
from akg_core.worker.limits import Limits, is_library_run
from akg_core.worker.pool import Pool

LIMITS = Limits(confined=True, seconds=60)
JOBS = "tests.judge.native_jobs"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(warm=(("torch", JOBS),)) as pool:
        yield pool


def built(folder: Path, text: str, *flags: str) -> Path:
    """A shared library of this C++ text."""
    path = folder / "kernel.so"
    command = ["g++", "-shared", "-fPIC", "-fopenmp", "-x", "c++", "-", "-o", str(path), *flags]
    subprocess.run(command, input=text, text=True, check=True)
    return path


def test_what_kernels_need_of_the_library_stays(pool: Pool) -> None:
    value = pool.call(f"{JOBS}:copies", {}, limits=LIMITS).unwrap()
    assert value["refused"] == 3
    assert "aten::clone" in value["seen"]


def test_who_runs_what_was_taken_ends_for_that(pool: Pool) -> None:
    result = pool.call(f"{JOBS}:end", {"how": "product"}, limits=LIMITS)
    assert is_library_run(result.reason), result


@pytest.mark.parametrize(
    ("how", "said", "signal"), [("abort", "Aborted", "SIGABRT"), ("no address", "Segmentation fault", "SIGSEGV")]
)
def test_other_crashes_are_told_as_ever(pool: Pool, how: str, said: str, signal: str) -> None:
    result = pool.call(f"{JOBS}:end", {"how": how}, limits=LIMITS)
    assert (result.status, result.signal) == ("crashed", signal), result
    assert f"Fatal Python error: {said}" in result.log
    assert "native_jobs.py" in result.log  # the place in the Python text


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("abort of a thread", 'The process crashed with SIGABRT, and said last: "It has no memory."'),
        ("exit", 'The process exited with code 3 before it had answered, and said last: "It has no thread."'),
    ],
)
def test_who_gives_up_is_heard_and_accused_of_nothing(pool: Pool, how: str, reason: str) -> None:
    assert pool.call(f"{JOBS}:end", {"how": how}, limits=LIMITS).reason == f"{reason}."


def test_confined_machine_code_can_do_nothing_but_compute(pool: Pool) -> None:
    assert pool.call(f"{JOBS}:refusals", {}, limits=LIMITS).unwrap() == {"could": [], "written": []}


def test_symbols_that_compute_are_told_from_those_that_copy() -> None:
    for name in (
        b"sgemm_",
        b"mkl_blas_avx2_sgemm_kernel_0",
        b"Sleef_expf8_u10",
        b"_ZN4dnnl4impl3cpu5gemm",
        b"_ZN2at6native6AVX512L10exp_kernelERNS_18TensorIteratorBaseE",
    ):
        assert computes(name), name
    for name in (
        b"mkl_serv_set_num_threads",
        b"_ZN2at6native4AVX212_GLOBAL__N_111copy_kernelERNS_14TensorIteratorE",
        b"_ZN2at4_ops5empty4callE",
        b"aoti_torch_cpu_fill__Scalar",
        b"_init",
    ):
        assert not computes(name), name


@pytest.mark.parametrize(
    ("text", "flags", "rule"),
    [
        ("", ["-Wl,-rpath,/tmp"], "folders in which libraries are looked for"),
        (
            'void g(){} extern "C" void (*c())() { return g; } void f() __attribute__((ifunc("c"))); void h(){f();}',
            [],
            "choose others while it is loaded",
        ),
        ('extern "C" int ptrace(); int f() { return ptrace(); }', [], "calls ptrace"),
        ('extern "C" void* dlsym(void*, char*); void* f() { return (void*)dlsym; }', [], "calls dlsym"),
        ("namespace at { void mm(); } void f() { at::mm(); }", [], "calls _ZN2at2mmEv"),
    ],
)
def test_a_library_that_asks_for_more_is_refused(tmp_path: Path, text: str, flags: list[str], rule: str) -> None:
    path = built(tmp_path, text, *flags)
    with pytest.raises(ForbiddenCode, match=rule):
        require_allowed(path)


def test_a_library_is_changed_such_that_nothing_runs_as_it_is_loaded(tmp_path: Path) -> None:
    path = built(tmp_path, "int made = 0; struct A { A() { made = 1; } } a;")
    library = Elf(path)
    require_allowed(path)
    assert len(library.constructors()[1]) > 1
    changed = tmp_path / "changed.so"
    changed.write_bytes(library.without_constructors())
    assert Elf(changed).constructors() == (0, range(0))


@pytest.mark.parametrize("size", [0, 3, 100, 5000])
def test_a_damaged_library_is_an_error(tmp_path: Path, size: int) -> None:
    path = built(tmp_path, "int f() { return 1; }")
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ElfError):
        require_allowed(path)


def test_segments_that_share_a_page_are_loaded_otherwise_than_they_are_read(tmp_path: Path) -> None:
    path = built(tmp_path, "int f() { return 1; }")
    content, first, second = bytearray(path.read_bytes()), *Elf(path).loaded[:2]
    headers = struct.unpack_from("<Q", content, 32)[0]
    entries = [headers + 56 * number for number, one in enumerate(Elf(path).segments) if one in (first, second)]
    struct.pack_into("<Q", content, entries[0] + 40, second.address + 0x400 - first.address)
    struct.pack_into("<QQ", content, entries[1] + 8, second.offset + 0x800, second.address + 0x800)
    path.write_bytes(content)
    with pytest.raises(ElfError, match="overlap"):
        Elf(path)


def test_packed_relocations_are_read(tmp_path: Path) -> None:
    text = "int a[80]; int *b[3] = {a, a + 1, a + 2}, *c = a + 3;"
    plain = {place for place, *_ in Elf(built(tmp_path, text))._relocations()}
    packed = [place for place, *_ in Elf(built(tmp_path, text, "-Wl,-z,pack-relative-relocs"))._relocations()]
    assert len(packed) == len(plain) and len(packed) > 3


def test_an_operator_that_nobody_has_named_is_refused() -> None:
    for name in ("aten::mm", "aten::new_in_the_next_version", "quantized::add", "mine::view", "aten::_foreach_copy_"):
        assert not operators.is_allowed(name), name
    for name in ("aten::view.dtype", "aten::empty.memory_format", "aten::copy_", "aten::reshape", "aten::contiguous"):
        assert operators.is_allowed(name), name
    assert operators.is_allowed("aten::_cudnn_rnn_flatten_weight"), "by which a recurrent module moves to a device"

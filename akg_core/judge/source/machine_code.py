"""Machine code of libraries that computes loses its right to be executed, so that no code finds a way to it.

Dispatcher, modes and lists of names know who calls by their rules. Machine code need not: it can find a product among
the pages of this process by itself, and jump there. So the pages that hold nothing but what computes (the linear
algebra that torch brings, its vectorised loops, those of numpy, which torch imports, and what calls them) are made such
that the processor does not execute them. With the
filter of `akg_core.worker.seccomp`, which lets nobody make memory executable, that is for good.

Which pages these are is read off the symbols of the library's file, once for each version of it. What harness and
honest kernels have of the library (allocation, views, copies, fills, comparisons of bits) stays as it is.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import mmap
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from akg_core.storage import cache_folder, write_whole
from akg_core.worker import faults
from akg_core.worker.elf import Elf, ElfError

_LEAST_PAGES = 1
_LIBRARY = re.compile(r"libtorch_cpu\b")
_NUMPY = re.compile(r"_multiarray_umath\b")
_ALGEBRA = re.compile(
    r"lib(scipy_|flexi)?(open)?(blas|lapack)|libmkl_(core|avx|def|mc|vml)|libdnnl|_umath_linalg|lapack_lite|_pocketfft|_simd\b"
)
"""Files of which nothing is needed but by who computes with them."""
_LOOPS = re.compile(
    rb"6native(?:6AVX512|4AVX2|7DEFAULT|6SVE\d\d\d|6ZVECTOR|3VSX|7cpublas)"
    rb"|6native12_GLOBAL__N_1\w*?(?:kernel|vec|cpu_|dim_apply|Apply|_frame)"
    rb"|N2at6nativeL?\d+\w*?(?:_cpu_out|_out_cpu|_cpu_impl|_template|gemv|gemm|quantized|embedding_bag)"
)
"""Its loops over elements, compiled for several processors each, and what is about them, of every dtype."""
_HARMLESS = re.compile(rb"copy|fill|equal|Has[A-Z]|Support|[Ff]loat(?:16)?To[FB]|init(?!ial)")
_BROUGHT = re.compile(
    rb"N4dnnl|N6fbgemm|N5ideep|N4gloo|N4gemm|arm_(gemm|conv|compute)|N7asmjit|5torch3jit\d+(Interpreter|GraphExecutor)"
)
"""Libraries in C++ that torch is linked with, and its interpreter of scripts, which has functions of its own."""
_NOT_ALGEBRA = re.compile(
    rb"__|_[A-Zifs]|aoti|torch|cpuinfo|clog|uv_|mz_|miniz|tdefl|tinfl|pthread|poll|timer|unwind|libkineto|kineto|iJIT"
    rb"|[Ii]nit|mkl_(serv|set|get)|MKL_([Ss][Ee][Tt]|[Gg][Ee][Tt]|Read)|omp_(?!driver|parallel)|register|frame|main"
)
"""How names in C begin that are not those of algebra, transforms and functions of vectors."""
_OF_NUMPY = re.compile(
    rb"[uU][fF]unc|sort|pivot|partition|[sS]imd|svml|_sum|Einstein|[cC]orrelate|matmul|_dot|argm(ax|in)|_inner"
    rb"|^arr_|Take|take|Choose|choose|Repeat|repeat|[Ss]earch|Where|[Nn]onzero|[Cc]ompress|Put(To|Mask)|[Mm]ap_?[Ii]ter"
    rb"|^_(aligned|contig|cast|swap|strided)_|^(BOOL|U?BYTE|U?(SHORT|INT|LONG)|HALF|C?FLOAT|C?(LONG)?DOUBLE|U?LONGLONG)_"
)
"""Names of its loops over elements, and of what leads there: ufuncs, reductions, sums of products, orders, copies."""
_DESCRIBES = re.compile(rb"[gs]etitem|copyswap|[Ii]nit|[Tt]ype|[Rr]egister|descr|dealloc|traverse")


def take_away(*, algebra: bool) -> bool:
    """Protect what computes of torch on the host, and with `algebra` libraries of linear algebra and numpy beside it.

    Says whether what torch has was found. Whoever runs it all the same ends this process, as `akg_core.worker.faults`
    tells.
    """
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    rows: list[tuple[int, int]] = []
    found = False
    for path, begin, end, offset in _code():
        if _LIBRARY.match(path.name) or (algebra and _NUMPY.match(path.name)):
            here = [(begin + low - offset, begin + high - offset) for low, high in _rows(path)]
            rows += [(low, high) for low, high in here if begin <= low and high <= end]
            found = found or bool(_LIBRARY.match(path.name) and here)
        elif algebra and _ALGEBRA.match(path.name):
            rows.append((begin, end))
    rows = [(low, high) for low, high in rows if protect(low, high - low, mmap.PROT_READ) == 0]
    faults.protect(rows)
    return found


def prepare() -> None:
    """Find out, in a warm parent, what `take_away` is to protect."""
    for path, _, _, _ in _code():
        if _LIBRARY.match(path.name) or _NUMPY.match(path.name):
            _rows(path)


def _code() -> Iterator[tuple[Path, int, int, int]]:
    """Files of which there is machine code in this process: path, where it begins and ends, and where in the file."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, rights, offset, _, _, *path = line.split(maxsplit=5)
        if "x" in rights and path and path[0].startswith("/"):
            begin, end = (int(number, 16) for number in place.split("-"))
            yield Path(path[0]), begin, end, int(offset, 16)


@functools.cache
def _rows(path: Path) -> list[tuple[int, int]]:
    """Where in a library's file there are only functions that compute, in whole pages; kept in the user's cache."""
    status = path.stat()
    names = [part.pattern for part in (_LOOPS, _HARMLESS, _BROUGHT, _NOT_ALGEBRA, _OF_NUMPY, _DESCRIBES)]
    asked = repr([str(path), status.st_size, status.st_mtime_ns, names, _LEAST_PAGES, mmap.PAGESIZE])
    kept = cache_folder() / "machine_code" / f"{hashlib.sha256(asked.encode()).hexdigest()}.json"
    try:
        return [(low, high) for low, high in json.loads(kept.read_text())]
    except (OSError, ValueError):
        pass
    try:
        rows = _found(Elf(path), computes if _LIBRARY.match(path.name) else computes_in_numpy)
    except ElfError:
        rows = []
    if rows and os.access(cache_folder(), os.W_OK):
        write_whole(kept, json.dumps(rows))
    return rows


def _found(library: Elf, computes: Callable[[bytes], bool]) -> list[tuple[int, int]]:
    """Rows of whole pages in which no function begins, ends or lies that does not compute, by places in the file."""
    rows: list[tuple[int, int]] = []
    begin = end = reached = 0  # of functions that compute and follow each other; how far others have reached
    functions = sorted((address, size, computes(name)) for name, address, size in library.functions())
    for address, size, is_computing in [*functions, (1 << 62, 0, False)]:
        if is_computing:
            begin = begin or max(address, reached)
            end = max(end, address + size)
            continue
        if begin:
            rows.append((library.offset(begin), library.offset(begin) + min(end, address) - begin))
        begin = end = 0
        reached = max(reached, address + size)
    page = mmap.PAGESIZE
    whole = [(-(-low // page) * page, high // page * page) for low, high in rows]
    return [(low, high) for low, high in whole if high - low >= _LEAST_PAGES * page]


def computes(name: bytes) -> bool:
    """Whether a function of torch's library, by its symbol, computes on many elements for the library."""
    if name.startswith(b"_Z"):
        return bool(_BROUGHT.search(name) or _LOOPS.search(name)) and not _HARMLESS.search(name)
    return not _NOT_ALGEBRA.match(name)


def computes_in_numpy(name: bytes) -> bool:
    """Whether a function of numpy's core, by its symbol, computes on many elements, orders or copies them."""
    return bool(_OF_NUMPY.search(name)) and not _DESCRIBES.search(name)


prepare()  # as the module is imported, which a warm parent does once for all

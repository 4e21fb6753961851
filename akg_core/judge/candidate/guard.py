"""While a candidate runs: no library computes for it, and no fresh memory holds anything that it could pass off.

Three rings. A dispatch mode refuses every operator of the library that computes, as it is called; it sees the calling
thread, and must see an allocation still when the candidate returns. A profiler over all threads lists what ran anyway:
from other threads, or past a mode switched off. The operators of the device that kernels run on are besides not to be
had any more (`akg_core.judge.candidate.library`). Allocation, views, and copies that keep the dtype pass; so does
filling memory with a constant. Starting a process is refused, searching this one for what the harness holds, and taking
what computes from other libraries or from the library's compiler.
"""

from __future__ import annotations

import functools
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from akg_core.judge.candidate import library
from akg_core.judge.candidate.copies import INTO, Copies
from akg_core.judge.candidate.importers import UNREAD, Importers, package_of
from akg_core.judge.candidate.library import LibraryCall
from akg_core.judge.candidate.operators import ALLOCATIONS, COPIES, is_allowed, is_operator
from akg_core.judge.candidate.profiled import Profiler
from akg_core.judge.candidate.unwatched import copies_elsewhere, is_complete
from akg_core.judge.records import HUGE, ORDINARY, PATTERNS
from akg_core.judge.reference.placement import Walls
from akg_core.judge.source.rules import LIBRARIES, LIBRARY_KERNELS
from akg_core.worker.threads import threads_for

_STARTS = frozenset({"os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen", "os.exec"})
_SEARCHES = frozenset(
    {
        "cpython.PyInterpreterState_New",
        "gc.get_objects",
        "gc.get_referents",
        "gc.get_referrers",
        "sys._current_exceptions",
        "sys._current_frames",
        "sys.addaudithook",
        "sys.monitoring.register_callback",
        "sys.setprofile",
        "sys.settrace",
    }
)
"""Audit events of what finds objects that nobody has given away, sees others' frames, or is beyond these hooks."""
_LOADS = {"import": 0, "open": 0, "ctypes.dlopen": 0, "ctypes.dlsym": 1, "ctypes.dlsym/handle": 1}
"""Audit events of what brings code of others, with the place of its name among the arguments."""
_MAKES = UNREAD | {"compile", "code.__new__"}
"""Audit events of what makes code."""
_COMPILER = ("torch._inductor.compile_fx", "torch._inductor.codecache", "torch._inductor.async_compile")
_MODULES = re.compile(
    rf"/({'|'.join(sorted(LIBRARIES))})/(?:__pycache__/)?__init__\."
    r"|/(torch/_inductor)/(?:__pycache__/)?(?:compile_fx|codecache|async_compile)\."
)
"""Files that are opened when such a module is imported, by whatever function."""
_FILES = re.compile(
    r"lib(torch|c10|caffe2|(nv|cu|flexi|scipy_)?(open)?blas|cudnn|cufft|cusolver|cusparse|cutensor|mkl|dnnl|lapack|fftw|gsl)"
)
_SYMBOLS = re.compile(
    r"(cublas|cudnn|cufft|cusolver|cusparse|cutensor|mkl_|cblas_|dnnl_|_ZN2at|_ZN3c10|_ZN5torch|aoti_torch)"
    r"|[sdcz](gemm|gemv|ger|axpy|dot|nrm2|asum|scal)_?$|dl(m?open|v?sym)$"
)
"""Names of files and functions of libraries that compute, and of what finds functions by name."""
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_refused_past_modes: list[str] = []
_importers: list[Importers] = []


class Guard:
    """A context in which a candidate runs; afterwards `calls` names the library operators that it tried or used.

    `rules` says what else it did that it must not, `seen` of how many events the profiler told. `poison` seeds the
    pattern that fresh memory is filled with, which lies between `walls` where these are given.
    """

    def __init__(self, poison: int, walls: Walls | None = None) -> None:
        self.copies = Copies()
        self._mode = _Refuse(poison, self.copies, walls)
        self._profiler = Profiler()
        self.seen = 0
        self.calls: tuple[str, ...] = ()
        self.rules: tuple[str, ...] = ()

    def __enter__(self) -> Guard:
        self._profiler.__enter__()
        self._mode.__enter__()
        torch.empty(0)  # which the profiler tells of in the end, unless it has been stopped meanwhile
        _processes().append([])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        processes = [rule for rules in _processes() for rule in rules]
        _processes().pop()
        whole = self._mode.is_watching()
        self._mode.__exit__(kind, value, traceback)
        self._profiler.__exit__(kind, value, traceback)
        events = self._profiler.events
        self.seen = len(events)
        called = {name for name in {event.name for event in events} if is_operator(name) and not is_allowed(name)}
        if not _untold:
            called |= copies_elsewhere(events)
            copies = len(self.copies) + self._mode.failed
            whole = whole and is_complete(events, self._mode.seen, self._mode.detached, copies)
        self._profiler.events = ()
        self.calls = tuple(sorted(called | self._mode.refused | set(_refused_past_modes)))
        self.rules = (*processes, *_searches(), *(() if whole else ("switches the guard off",)))


_untold: set[str] = set()  # devices on which a profiler does not mark operators as the mode sees them


def calibrate(device: str) -> bool:
    """Whether a profiler marks what the mode sees on this device, by its name in torch.

    It is asked before any code of a candidate is loaded. Where it does not, as another version of torch may not, what
    was called past the mode cannot be told from the rest: the guards of this process do not look for it.
    """
    with Guard(0) as trial:
        first = torch.empty(4, 6, device=device)
        second = torch.empty_like(first.t().contiguous().view(-1).detach())
        second[:12].copy_(first.view(-1)[12:])
        first.expand(2, 4, 6).permute(1, 0, 2).reshape(-1)
        torch.empty(0, device=device).zero_()
    if trial.calls or trial.rules:
        _untold.add(device)
    trial.copies.clear()
    return tells_of_copies()


def tells_of_copies() -> bool:
    """Whether guards find copies that the library makes past their mode."""
    return not _untold


def removal(keys: tuple[str, ...]) -> list[Callable[[], Any]]:
    """The steps of `library.removal`; every later guard tells which operators were refused by it."""
    return library.removal(_refused_past_modes.append, keys)


@functools.cache
def _processes() -> list[list[str]]:
    """For each guard that is entered, the processes that were to be started under it; they are refused."""
    entered: list[list[str]] = []

    def refuse(event: str, _: object) -> None:
        if entered and event in _STARTS:
            entered[-1].append(f"starts a process: {event}")
            raise PermissionError(f"a kernel starts no process ({event})")

    sys.addaudithook(refuse)
    return entered


def forbid_processes() -> None:
    """Let Python code in this process, from now on, start no process outside of guards either."""
    _processes().append([])


def noted() -> list[str]:
    """What has been refused since it was forbidden, outside of guards too."""
    return [*(rule for rules in _processes() for rule in rules), *_searches()]


def forbid_searches(reference: Path | None = None) -> None:
    """Let nothing in this process, from now on, look for objects, frames and libraries that it was not given.

    `reference`: the task's file, which may import what it names.
    """
    _processes()  # no hook is added any more
    _importers.append(Importers(reference))
    _hook_searches()


def _searches() -> list[str]:
    return _hook_searches() if _hook_searches.cache_info().currsize else []


@functools.cache
def _hook_searches() -> list[str]:
    """What was tried; it is refused."""
    tried: list[str] = []

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _SEARCHES:
            tried.append(f"searches the process: {event}")
            raise PermissionError(f"a kernel searches nothing in its process ({event})")
        if event in _LOADS:
            if event == "open" and _importers[0].is_compiled(arguments[0]):
                raise PermissionError("a kernel's text is what is run")  # which an import runs then
            name = _foreign(event, arguments[_LOADS[event]])
            if name:
                tried.append(f"uses another library: {name}")
                raise PermissionError(f"a kernel uses no other library ({name})")
        if event in _MAKES and (wrong := _importers[0].disguised(event, arguments)):
            tried.append(wrong)
            raise PermissionError(f"a kernel's code is text, by the names of its own files: it {wrong}")

    sys.addaudithook(refuse)
    return tried


def _foreign(event: str, asked: Any) -> str:
    """The name that is asked for, when it is one of a library that computes; "" otherwise."""
    name = asked.decode(errors="replace") if isinstance(asked, bytes) else str(asked)
    if event == "import":
        is_library = name in _COMPILER or name.partition(".")[0] in LIBRARIES or LIBRARY_KERNELS.match(name)
        return name if is_library or _importers[0].refused(name) else ""
    if event == "open":
        found = _MODULES.search(name)
        package = package_of(name)
        module = name.rpartition("-packages/")[2].replace("__pycache__/", "").replace("/", ".")
        if kernels := LIBRARY_KERNELS.match(module):
            return kernels[0]
        return (found[1] or found[2]) if found else package if _importers[0].refused(package, is_installed=True) else ""
    if event == "ctypes.dlopen":
        name = name.rpartition("/")[2]
        return name if _FILES.match(name) else ""
    return name if _SYMBOLS.match(name) else ""


def poison_fill(tensor: torch.Tensor, seed: int) -> None:
    """Fill all memory of a tensor with what `seed` picks: NaNs with a payload, huge numbers, or an ordinary number."""
    bits = 8 * tensor.element_size()
    draw = random.Random(seed)
    payload = draw.getrandbits(bits)
    if tensor.is_floating_point() and seed % PATTERNS == ORDINARY:
        tensor.fill_(draw.uniform(0.5, 2.0))
        return
    if tensor.is_floating_point():
        infinity = int(torch.full((), float("inf"), dtype=tensor.dtype).view(_INTEGERS[tensor.element_size()]))
        infinity &= (1 << bits) - 1
        highest = infinity - (infinity & -infinity)  # the exponent of the largest finite numbers
        exponent = highest if seed % PATTERNS == HUGE else infinity
        payload = payload & ~infinity | exponent | 1
    elif tensor.dtype == torch.bool:
        payload = seed % 2
    signed = payload - (1 << bits) if payload >> (bits - 1) and bits > 8 else payload
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    tensor.view(_INTEGERS[tensor.element_size()]).fill_(signed)


class _Refuse(TorchDispatchMode):
    """Raises LibraryCall for what computes, and poisons what is allocated."""

    def __init__(self, poison: int, copies: Copies, walls: Walls | None) -> None:
        super().__init__()
        self._copies, self._walls = copies, walls
        self.refused: set[str] = set()
        self.seen = self.detached = self.failed = 0  # operators; `detach` among them; copies that were not made
        self._poison = poison

    def is_watching(self) -> bool:
        """Whether an operator that is called now still comes by here."""
        before = self.seen
        torch.empty(0)
        return self.seen > before

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen += 1
        kwargs = kwargs or {}
        full = func._schema.name
        name = full.partition("::")[2]
        self.detached += name == "detach"
        self.failed += full == f"aten::{name}" and name in COPIES
        if not is_allowed(full) or (name in COPIES and _converts(name, args, kwargs)):
            self.refused.add(full)
            raise LibraryCall(f"{full} is the library's work, not the kernel's")
        result = func(*args, **kwargs)
        if name in COPIES:
            self._copies.add(name, args, result)
            self.failed -= 1
        elif name in INTO and isinstance(args[1], torch.Tensor):
            self._copies.add(name, args, result)
        if name in ALLOCATIONS and isinstance(result, torch.Tensor) and result.numel() and not result.is_meta:
            self._poison += 1
            if self._walls and name != "resize_":
                result = self._walls.walled(result)
            with threads_for(result.nbytes):
                poison_fill(result, self._poison)
        return result


def _converts(name: str, args: Any, kwargs: Any) -> bool:
    """Whether a copy changes values: to another dtype, or by a sign that a view has left to whoever reads it."""
    given = [value for value in args if isinstance(value, torch.Tensor)]
    if any(value.is_conj() or value.is_neg() for value in given):
        return True
    if name == "copy_":
        return len(given) > 1 and args[0].dtype != args[1].dtype
    return kwargs.get("dtype") not in (None, args[0].dtype)

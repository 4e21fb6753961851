"""What this machine offers: Triton, and NVIDIA GPUs. Starts no CUDA in this process, so that it may fork afterwards."""

from __future__ import annotations

import functools
import importlib.metadata
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

from akg_triton.dialect import Dialect
from packaging.version import Version

from akg_core.plugin import Availability, Target, Traits

OLDEST_TRITON = "3.6"
SIMULATED_TRITON = "3.7"  # whose interpreter is sound
BULK_CAPABILITY = 90  # from which on there is a unit that copies blocks of memory
DEFAULT_CAPABILITY = 90  # compiled for where no GPU says otherwise
REGISTERS = 65536  # of a multiprocessor
TUNING_SECONDS = 30.0  # two or three rounds of a search
INSTALL = 'pip install "akg-plugin-triton-cuda[toolchain]"'
_COUNT = """
import ctypes

driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
failed = driver.cuInit(0) or driver.cuDeviceGetAttribute(ctypes.byref(count), 16, 0)
print("" if failed else count.value)
"""
PRECISIONS = {"ieee": "ieee", "split3": "bf16x6", "fast": "tf32"}


@dataclass(frozen=True, slots=True)
class Chip:
    """A generation of GPUs: multiprocessors of its largest member, shared memory that one program may take.

    `warps`, `programs`: the most that one multiprocessor keeps at once.
    """

    name: str
    units: int
    shared_bytes: int
    warps: int
    programs: int


CHIPS = {
    80: Chip("A100", 108, 163 * 1024, 64, 32),
    86: Chip("A10, RTX 30", 84, 99 * 1024, 48, 16),
    89: Chip("L20, L40, RTX 40", 142, 99 * 1024, 48, 24),
    90: Chip("H100, H200, H20", 132, 227 * 1024, 64, 32),
    100: Chip("B200", 148, 227 * 1024, 64, 32),
    120: Chip("RTX 50", 170, 99 * 1024, 48, 24),
}


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU of this machine, as its driver describes it."""

    name: str
    capability: int
    memory: str
    driver: str

    @property
    def memory_bytes(self) -> int:
        """The memory as a number; it is spelled "143771 MiB", or "[N/A]" where the driver does not tell."""
        amount = re.match(r"\d+", self.memory)
        return int(amount[0]) << 20 if amount else 0


def probe(target: Target) -> Availability:
    """Whether kernels can be compiled and run here; never raises."""
    found = gpus()
    details = {"triton": triton_version() or "not installed"}
    capability = capability_of(target)
    if target.backend != "cuda" or capability not in CHIPS:
        if target.backend != "cuda":
            reason = f"it makes kernels for cuda, not for {target}."
        elif target.arch or not found:
            reason = f"{target} is not a GPU that it makes kernels for."
        else:
            reason = f"The GPU here is a {found[0].name} (sm_{capability}), which it makes no kernels for."
        known = ", ".join(f"cuda:sm_{number} ({chip.name})" for number, chip in CHIPS.items())
        return Availability(can_compile=False, can_run=False, reason=reason, cure=f"Choose one of {known}.")
    version = triton_version()
    if not version:
        return Availability(
            can_compile=False, can_run=False, reason="Triton is not installed.", cure=f"{INSTALL}.", details=details
        )
    if Version(version) < Version(OLDEST_TRITON):
        reason = f"Triton {version} is older than {OLDEST_TRITON}, the oldest that it works with."
        return Availability(can_compile=False, can_run=False, reason=reason, cure=f"{INSTALL}.", details=details)
    details["target"] = f"sm_{capability}"
    usable = [gpu for gpu in found if gpu.capability == capability]
    if usable:
        gpu = usable[0]
        details |= {"gpu": gpu.name, "memory": gpu.memory, "driver": gpu.driver}
        return Availability(
            can_compile=True,
            can_run=True,
            device="cuda",
            memory_bytes=gpu.memory_bytes,
            tuning_seconds=TUNING_SECONDS,
            traits=traits(capability),
            details=details,
        )
    here = f"The GPU here is a {found[0].name} (sm_{found[0].capability})" if found else "There is no NVIDIA GPU here"
    reason = f"{here}: kernels are compiled for sm_{capability} and run by Triton's interpreter."
    if Version(version) < Version(SIMULATED_TRITON):
        reason = f"{here}, and the interpreter of Triton {version} fails on loops whose bounds are loaded or passed."
        cure = f"Simulation needs Triton {SIMULATED_TRITON} or newer: {INSTALL}."
        return Availability(can_compile=True, can_run=False, reason=reason, cure=cure, details=details)
    details["runs"] = "by simulation"
    exact = traits(capability).model_copy(update={"convolution_format": ""})  # as the host's, where the reference runs
    return Availability(can_compile=True, can_run=True, simulated=True, reason=reason, traits=exact, details=details)


def capability_of(target: Target) -> int:
    """The compute capability of a target as a number (90), 0 for text that is none; without one, of the GPU here."""
    if not target.arch:
        found = gpus()
        return found[0].capability if found else DEFAULT_CAPABILITY
    match = re.fullmatch(r"sm_?(\d+)a?", target.arch)
    return int(match[1]) if match else 0


def dialect(target: Target) -> Dialect:
    """How Triton is written for a target."""
    chip = CHIPS.get(capability_of(target), CHIPS[DEFAULT_CAPABILITY])
    bulk = capability_of(target) >= BULK_CAPABILITY
    return Dialect(precisions=PRECISIONS, shared_bytes=chip.shared_bytes, units=chip.units, bulk=bulk)


def traits(capability: int) -> Traits:
    """The numbers that a designer sizes tiles by. Rows of up to 96 KiB stay in registers between two passes.

    What a program holds of its tiles lies in registers and shared memory, of which one may have all.
    A multiprocessor has registers for two programs of four warps, whatever they need: these certainly run together.
    """
    here = any(gpu.capability == capability for gpu in gpus())
    units = (multiprocessors() if here else 0) or CHIPS[capability].units
    return Traits(
        units=units,
        lanes=32,
        near_bytes=128 * 1024,
        tile_elements=1024,
        dot_tile=(128, 128, 32),
        convolution_format="tf32",
        half_tile=(128, 128, 64),
        held_tiles=True,
        program_bytes=4 * REGISTERS + CHIPS[capability].shared_bytes,
        together=2 * units,
    )


@functools.cache
def triton_version() -> str:
    """The version of Triton that is installed, "" without one."""
    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return ""


@functools.cache
def multiprocessors() -> int:
    """How many the first GPU here has, as its driver says in a process of its own; 0 where it does not say."""
    try:
        ended = subprocess.run([sys.executable, "-c", _COUNT], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return int(ended.stdout) if ended.returncode == 0 and ended.stdout.strip().isdigit() else 0


@functools.cache
def gpus() -> tuple[Gpu, ...]:
    """The GPUs here, as nvidia-smi lists them."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    query = "--query-gpu=name,compute_cap,memory.total,driver_version"
    try:
        ended = subprocess.run([tool, query, "--format=csv,noheader"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    rows = [line.split(", ") for line in ended.stdout.splitlines() if ended.returncode == 0]
    return tuple(Gpu(r[0], int(r[1].replace(".", "")), r[2], r[3]) for r in rows if len(r) == 4 and "." in r[1])

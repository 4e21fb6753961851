"""GPUs: what is known of each generation, and which are here. Starts no CUDA in this process, so that it may fork."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from akg_core.plugin import Availability, Target, Traits
from akg_core.plugin.resources import UnitLimits

BACKEND = "cuda"
DEFAULT_CAPABILITY = 90  # compiled for where no GPU says otherwise
REGISTERS = 65536  # of a multiprocessor
LANES = 32  # threads of a warp
THREADS = 1024  # of a program, at most
RESERVED_BYTES = 1024  # of shared memory, for each program
_TUNING_SECONDS = 30.0  # two or three rounds of a search
_COUNT = """
import ctypes

driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
failed = driver.cuInit(0) or driver.cuDeviceGetAttribute(ctypes.byref(count), 16, 0)
print("" if failed else count.value)
"""


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

    @property
    def unit(self) -> UnitLimits:
        """What one multiprocessor has, by the rules of NVIDIA's CUDA programming guide."""
        return UnitLimits(
            REGISTERS, self.shared_bytes, self.warps, self.programs, THREADS, LANES, reserved_bytes=RESERVED_BYTES
        )


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


def capability_of(target: Target) -> int:
    """The compute capability of a target as a number (90), 0 for text that is none; without one, of the GPU here."""
    if not target.arch:
        found = gpus()
        return found[0].capability if found else DEFAULT_CAPABILITY
    match = re.fullmatch(r"sm_?(\d+)a?", target.arch)
    return int(match[1]) if match else 0


def refusal(target: Target) -> tuple[str, str] | None:
    """Why no kernels are made for a target, and what to choose instead; None for a chip that is known."""
    capability, found = capability_of(target), gpus()
    if target.backend == BACKEND and capability in CHIPS:
        return None
    if target.backend != BACKEND:
        reason = f"it makes kernels for {BACKEND}, not for {target}."
    elif target.arch or not found:
        reason = f"{target} is not a GPU that it makes kernels for."
    else:
        reason = f"The GPU here is a {found[0].name} (sm_{capability}), which it makes no kernels for."
    known = ", ".join(f"{BACKEND}:sm_{number} ({chip.name})" for number, chip in CHIPS.items())
    return reason, f"Choose one of {known}."


def gpu_of(capability: int) -> Gpu | None:
    """The first GPU here of a capability."""
    return next((gpu for gpu in gpus() if gpu.capability == capability), None)


def units_of(capability: int) -> int:
    """How many multiprocessors there are: those of the GPU here, else of the generation's largest member."""
    return (multiprocessors() if gpu_of(capability) else 0) or CHIPS[capability].units


def on_gpu(gpu: Gpu, traits: Traits, details: Mapping[str, str]) -> Availability:
    """What works where there is a GPU of the target's capability."""
    return Availability(
        can_compile=True,
        can_run=True,
        device=BACKEND,
        memory_bytes=gpu.memory_bytes,
        tuning_seconds=_TUNING_SECONDS,
        traits=traits,
        details={**details, "gpu": gpu.name, "memory": gpu.memory, "driver": gpu.driver},
    )


def simulated(reason: str, traits: Traits, details: Mapping[str, str]) -> Availability:
    """What works without one: simulation on the host, where the reference runs too and multiplies exactly."""
    exact, told = traits.model_copy(update={"convolution_format": ""}), {**details, "runs": "by simulation"}
    return Availability(can_compile=True, can_run=True, simulated=True, reason=reason, traits=exact, details=told)


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

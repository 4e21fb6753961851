"""Keeps every multiprocessor of a GPU busy for a moment, so that what the host does meanwhile costs no device time.

What times a kernel by events on a device that has nothing to do times the host as well, which takes tens of
microseconds to launch it. Behind work that is queued before the first event, the host is ahead of the device. That work
leaves no room for any other: nothing, on whatever stream, begins before the first event has passed.
"""

from __future__ import annotations

import ctypes

import torch

from akg_cuda.ptx import Kernels

SECONDS = 100e-6  # within which the host launches what few dozen operators do
_THREADS = 512  # of a block: a divisor of what a multiprocessor of any chip holds
PTX = b"""
.version 7.0
.target sm_70
.address_size 64

.visible .entry hold(.param .u64 nanoseconds)
{
    .reg .u64 %limit, %began, %passed;
    .reg .pred %waits;

    ld.param.u64 %limit, [nanoseconds];
    mov.u64 %began, %globaltimer;
again:
    mov.u64 %passed, %globaltimer;
    sub.u64 %passed, %passed, %began;
    setp.lt.u64 %waits, %passed, %limit;
    @%waits bra again;
    ret;
}
"""


_kernels = Kernels(PTX, "hold")


def hold(seconds: float = SECONDS) -> None:
    """Queue, in the current stream of the current device, a kernel that fills the device for so many seconds."""
    chip = torch.cuda.get_device_properties()
    blocks = chip.multi_processor_count * (chip.max_threads_per_multi_processor // _THREADS)
    _kernels.launch("hold", (blocks, 1), _THREADS, ctypes.c_uint64(round(seconds * 1e9)))

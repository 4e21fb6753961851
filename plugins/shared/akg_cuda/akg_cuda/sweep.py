"""Puts out of a GPU's L2 cache whatever a kernel has left there, lines included that it has asked to be kept.

A line that was read with the priority `evict_last` outlives any number of lines that are read without it. So memory is
read with that priority too, and then has it taken away, so that what comes next finds a cache of ordinary clean lines.
Priorities of lines and their end: PTX ISA, "Cache Eviction Priority Hints" and `applypriority`, from sm_80 on.
"""

from __future__ import annotations

import ctypes
import functools

import torch

from akg_cuda.ptx import Kernels

_THREADS, _BLOCKS = 256, 1056
_LINE_BYTES = 128
_PRIORITIES = (8, 0)  # compute capability that knows them

PTX = b"""
.version 7.4
.target sm_80
.address_size 64

.visible .entry read(.param .u64 memory, .param .u64 lines)
{
    .reg .u64 %memory, %lines, %at, %step, %line, %last;
    .reg .u32 %a, %b, %c, %any;
    .reg .pred %ends, %none;

    ld.param.u64 %memory, [memory];
    ld.param.u64 %lines, [lines];
    createpolicy.fractional.L2::evict_last.b64 %last, 1.0;
    mov.u32 %a, %ctaid.x;
    mov.u32 %b, %ntid.x;
    mov.u32 %c, %tid.x;
    mul.wide.u32 %at, %a, %b;
    cvt.u64.u32 %step, %c;
    add.u64 %at, %at, %step;
    mov.u32 %a, %nctaid.x;
    mul.wide.u32 %step, %a, %b;
    shl.b64 %lines, %lines, 3;
    mov.u32 %any, 0;
next:
    setp.ge.u64 %ends, %at, %lines;
    @%ends bra done;
    shl.b64 %line, %at, 4;
    add.u64 %line, %memory, %line;
    .reg .u32 %w, %x, %y, %z;
    ld.global.L2::cache_hint.v4.u32 {%w, %x, %y, %z}, [%line], %last;
    or.b32 %any, %any, %w;
    add.u64 %at, %at, %step;
    bra next;
done:
    setp.eq.u32 %none, %any, 0;
    @%none bra end;
    st.global.u32 [%memory], %any;
end:
    ret;
}

.visible .entry level(.param .u64 memory, .param .u64 lines)
{
    .reg .u64 %memory, %lines, %at, %step, %line;
    .reg .u32 %a, %b, %c;
    .reg .pred %ends;

    ld.param.u64 %memory, [memory];
    ld.param.u64 %lines, [lines];
    mov.u32 %a, %ctaid.x;
    mov.u32 %b, %ntid.x;
    mov.u32 %c, %tid.x;
    mul.wide.u32 %at, %a, %b;
    cvt.u64.u32 %step, %c;
    add.u64 %at, %at, %step;
    mov.u32 %a, %nctaid.x;
    mul.wide.u32 %step, %a, %b;
next:
    setp.ge.u64 %ends, %at, %lines;
    @%ends bra done;
    shl.b64 %line, %at, 7;
    add.u64 %line, %memory, %line;
    applypriority.global.L2::evict_normal [%line], 128;
    add.u64 %at, %at, %step;
    bra next;
done:
    ret;
}
"""
_kernels = Kernels(PTX, "read", "level")


def queue_sweep(size: int) -> None:
    """Queue reading of `size` bytes on the current stream; reading leaves none to write back."""
    if not size:
        return
    memory = _memory(size)
    if torch.cuda.get_device_capability() < _PRIORITIES:
        memory.all()  # which is there where the library is taken away
        return
    for name in ("read", "level"):
        given = ctypes.c_uint64(memory.data_ptr()), ctypes.c_uint64(memory.nbytes // _LINE_BYTES)
        _kernels.launch(name, (_BLOCKS, 1), _THREADS, *given)


@functools.cache
def _memory(size: int) -> torch.Tensor:
    return torch.zeros(size // 4, device="cuda")

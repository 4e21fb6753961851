"""Two kernels of a clock: a stamp of the device's own time, and copies that computing units make.

What is copied by them keeps these units, where an engine for copies would leave them to another process meanwhile.
"""

from __future__ import annotations

import ctypes

import torch

from akg_cuda.ptx import Kernels

_THREADS, _BLOCKS = 256, 2048  # of a block; of all copies together, about
PTX = b"""
.version 7.0
.target sm_70
.address_size 64

.visible .entry stamp(.param .u64 where, .param .u64 flag, .param .u32 value)
{
    .reg .u64 %where, %flag, %time;
    .reg .u32 %value;
    .reg .pred %none;

    ld.param.u64 %where, [where];
    ld.param.u64 %flag, [flag];
    ld.param.u32 %value, [value];
    mov.u64 %time, %globaltimer;
    st.volatile.global.u64 [%where], %time;
    setp.eq.u64 %none, %flag, 0;
    @%none bra done;
    membar.sys;
    st.volatile.global.u32 [%flag], %value;
done:
    ret;
}

.visible .entry gather(.param .u64 table)
{
    .reg .u64 %entry, %source, %target, %size, %words, %at, %step, %from, %to, %both;
    .reg .u32 %row, %block, %threads, %thread, %a, %b, %c, %d;
    .reg .u16 %byte;
    .reg .pred %odd, %ends;

    ld.param.u64 %entry, [table];
    mov.u32 %row, %ctaid.y;
    mad.wide.u32 %entry, %row, 24, %entry;
    ld.global.u64 %source, [%entry];
    ld.global.u64 %target, [%entry+8];
    ld.global.u64 %size, [%entry+16];
    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %at, %block, %threads;
    cvt.u64.u32 %step, %thread;
    add.u64 %at, %at, %step;
    mov.u32 %block, %nctaid.x;
    mul.wide.u32 %step, %block, %threads;

    or.b64 %both, %source, %target;
    and.b64 %both, %both, 15;
    setp.ne.u64 %odd, %both, 0;
    shr.u64 %words, %size, 4;
    selp.u64 %words, 0, %words, %odd;
    mov.u64 %both, %at;
words:
    setp.ge.u64 %ends, %both, %words;
    @%ends bra rest;
    shl.b64 %from, %both, 4;
    add.u64 %to, %target, %from;
    add.u64 %from, %source, %from;
    ld.global.v4.u32 {%a, %b, %c, %d}, [%from];
    st.global.v4.u32 [%to], {%a, %b, %c, %d};
    add.u64 %both, %both, %step;
    bra words;
rest:
    shl.b64 %words, %words, 4;
    add.u64 %at, %at, %words;
bytes:
    setp.ge.u64 %ends, %at, %size;
    @%ends bra done;
    add.u64 %from, %source, %at;
    add.u64 %to, %target, %at;
    ld.global.u8 %byte, [%from];
    st.global.u8 [%to], %byte;
    add.u64 %at, %at, %step;
    bra bytes;
done:
    ret;
}
"""


_kernels = Kernels(PTX, "stamp", "gather")


def stamp(where: int, flag: int = 0, value: int = 0) -> None:
    """Queue a kernel that writes the device's time, in nanoseconds, to an address, and then `value` to `flag`."""
    _kernels.launch("stamp", (1, 1), 1, ctypes.c_uint64(where), ctypes.c_uint64(flag), ctypes.c_uint32(value))


def gather(table: torch.Tensor) -> None:
    """Queue a kernel that makes copies by a table on the device: from where, to where, and how many bytes, in rows."""
    if rows := len(table):
        _kernels.launch("gather", (max(1, _BLOCKS // rows), rows), _THREADS, ctypes.c_uint64(table.data_ptr()))


def load() -> None:
    """Have the device know these kernels, which would be waited for at the first launch."""
    _kernels.ready()

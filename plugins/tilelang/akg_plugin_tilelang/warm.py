"""What every process in TileLang's environment finds imported: for the parent of all that compile or launch there.

TileLang asks torch for a GPU while it is imported, which starts CUDA: what is forked afterwards could use it no more.
So it is answered without. NVRTC starts CUDA, too: it is loaded by a process of its own, which precompiles TileLang's
headers for the chip that kernels are made for without a target.
"""

from __future__ import annotations

from importlib import import_module

import torch
from akg_cuda import chips

from akg_core.plugin import Target
from akg_plugin_tilelang import probe

if compiler := probe.nvrtc():
    compiler.start(probe.arch_of(chips.capability_of(Target(backend=chips.BACKEND))))
_asked = torch.cuda.is_available
torch.cuda.is_available = lambda: bool(chips.gpus())
try:
    import_module("tilelang")
finally:
    torch.cuda.is_available = _asked
if chips.gpus():
    chips.multiprocessors()

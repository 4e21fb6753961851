"""What every process in TileLang's environment finds imported: for the parent of all that compile or launch there.

TileLang asks torch for a GPU while it is imported, which starts CUDA: what is forked afterwards could use it no more.
So it is answered without.
"""

from __future__ import annotations

from importlib import import_module

import torch
from akg_cuda import chips

_asked = torch.cuda.is_available
torch.cuda.is_available = lambda: bool(chips.gpus())
try:
    import_module("tilelang")
finally:
    torch.cuda.is_available = _asked
if chips.gpus():
    chips.multiprocessors()

"""What is the same in every process on a machine with a GPU: for the parent of all that compile or launch there.

Triton hashes its own files, of which the library alone has hundreds of megabytes, and the driver is asked what GPUs
there are. Where kernels are simulated nothing is imported here: Triton has to know that before.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from akg_cuda import chips

from akg_plugin_triton_cuda import ahead

if Path("/dev/nvidiactl").exists():
    chips.gpus()
    chips.multiprocessors()
    import_module("akg_plugin_triton_cuda.compile")
    ahead.ready_to_compile()

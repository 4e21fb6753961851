"""What Triton does once a process before it launches anything: for the parent of all that launch on a GPU.

Above all it hashes its own files, of which the library alone has hundreds of megabytes. Where kernels are simulated
nothing is imported here: Triton has to know that before.
"""

from __future__ import annotations

from pathlib import Path

if Path("/dev/nvidiactl").exists():
    import triton.compiler.code_generator  # noqa: F401
    from triton.runtime.cache import triton_key

    triton_key()

"""`python headers.py FOLDER` has NVRTC precompile TileLang's headers for sm_90a, and answers texts of CUDA.

A question is a line of JSON, a text and an architecture; the answer is another, what NVRTC says of it in a process that
is forked from this one.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from akg_plugin_tilelang.probe import nvrtc


def said(text: str, arch: str) -> str:
    """The log of a compilation, and the bytes that it made."""
    compiler = nvrtc()
    assert compiler
    cubin, log = compiler.compiled(text, Path(sys.argv[1], "kernel.cu"), arch)
    return f"{len(cubin)} bytes: {log}"


if __name__ == "__main__":
    if compiler := nvrtc():
        compiler.start("sm_90a")
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as forked:
        for line in sys.stdin:
            print(json.dumps(forked.submit(said, *json.loads(line)).result()), flush=True)

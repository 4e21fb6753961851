"""`python headers.py FOLDER` has NVRTC precompile TileLang's headers, and answers lines of JSON, each a text of CUDA.

The answer is a line of JSON: what NVRTC says of the text in a process that is forked from this one.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from akg_plugin_tilelang import nvrtc
from akg_plugin_tilelang.probe import nvrtc as found


def said(text: str) -> str:
    """The log of a compilation for sm_90, and the bytes that it made."""
    library = found()
    assert library
    cubin, log = nvrtc.compiled(library, text, Path(sys.argv[1], "kernel.cu"), "sm_90a")
    return f"{len(cubin)} bytes: {log}"


if __name__ == "__main__":
    if library := found():
        nvrtc.precompile(library, "sm_90a")
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as forked:
        for line in sys.stdin:
            print(json.dumps(forked.submit(said, json.loads(line)).result()), flush=True)

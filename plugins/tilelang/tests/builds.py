"""`python builds.py FOLDER` reads texts of kernel.py, a line of JSON each, and answers with what a build says.

The answer is a line of JSON: the log of the build, or the message of the ToolchainError that it raised.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from akg_plugin_tilelang import warm  # noqa: F401 - as in the parent of workers
from akg_plugin_tilelang.compile import compile_kernel

from akg_core.plugin import KernelSource, Target, ToolchainError

SM_90 = Target(backend="cuda", arch="sm_90")


def said(text: str, folder: Path) -> str:
    """What the build of a kernel says, first of all whether it is one."""
    source = KernelSource(plugin="tilelang", target=SM_90, files={"kernel.py": text, "model_new.py": ""})
    try:
        result = compile_kernel(source, SM_90, folder)
    except ToolchainError as error:
        return str(error)
    return f"{'built' if result.ok else 'not built'}, {len(result.shortages)} shortages: {result.log}"


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # TileLang tells of its progress there
    for number, line in enumerate(sys.stdin):
        print(json.dumps(said(json.loads(line), Path(sys.argv[1], str(number)))), file=answers, flush=True)

"""Compiles one kernel ahead of its launch: `python -m akg_plugin_triton_cuda.ahead`, JSON in, JSON out.

What comes out: registers and spilled bytes of a thread, and shared memory of a program, as the cubin says.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def compile_ahead(launch: dict[str, Any]) -> dict[str, Any]:
    """Compile what `launch` describes for its capability; with `load`, make it ready on the GPU of this machine."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from akg_plugin_triton_cuda.compile import POINTERS

    function = getattr(_module(Path(launch["folder"]) / "kernel.py"), launch["kernel"])
    kinds = [dtype.partition("[") for dtype in launch["tensors"].values()]
    types = [f"tensordesc<{POINTERS[dtype][1:]}[{block}>" if block else POINTERS[dtype] for dtype, _, block in kinds]
    signature = dict(zip(launch["tensors"], types, strict=True))
    signature |= dict.fromkeys(launch["sizes"], "i32")
    signature |= dict.fromkeys(launch["constants"], "constexpr")
    aligned = {(index,): [["tt.divisibility", 16]] for index, type in enumerate(types) if type[0] == "*"}
    source = ASTSource(function, signature, constexprs=launch["constants"], attrs=aligned)
    options = {"num_warps": launch["num_warps"], "num_stages": launch["num_stages"]}
    compiled = triton.compile(source, target=GPUTarget("cuda", launch["capability"], 32), options=options)
    if launch["load"]:
        compiled._init_handles()  # builds the C function that launches it, too
    return {"shared_bytes": compiled.metadata.shared, **usage(compiled.asm["cubin"])}


def usage(cubin: bytes) -> dict[str, int]:
    """Registers and spilled bytes of a thread, read from a cubin by the cuobjdump that comes with Triton."""
    from triton import knobs

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        tool = knobs.nvidia.cuobjdump.path
        said = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True).stdout
    found = {key: int(value) for key, value in re.findall(r"\b(REG|STACK|LOCAL):(\d+)", said)}
    return {"registers": found.get("REG", 0), "spilled_bytes": found.get("STACK", 0) + found.get("LOCAL", 0)}


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("kernel", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules["kernel"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    try:
        print(json.dumps(compile_ahead(json.load(sys.stdin))))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)

"""Takes kernels from Triton to HIVM, by the compilers of the environment: no NPU is asked.

Triton makes linalg on tensors of a kernel, `bishengir-compile` plans memory and synchronisation and writes HIVM.
It then calls `hivmc`, which comes with CANN and makes the binary; where that is missing HIVM is what is made.
"""

from __future__ import annotations

import re
import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akg_triton.signature import POINTERS

from akg_core.plugin import kernels_of
from akg_plugin_triton_ascend.probe import compiler

OUT_OF_TIME = -signal.SIGKILL  # of SIGXCPU the compiler hears, and may wait for itself then without an end
WRITTEN = "module.hivm.opt.mlir"  # what bishengir-compile leaves of the last stage before hivmc
_ENDED = "External hivmc run fails, returning module before running external compiler"
_OPTIONS = (
    "--enable-hfusion-compile=true",
    "--enable-hivm-compile=true",
    "--enable-triton-kernel-compile=true",
    "--enable-auto-multi-buffer=true",
    "--enable-auto-bind-sub-block=true",
)


@dataclass(frozen=True, slots=True)
class Made:
    """What came of one launch: the text of its HIVM, or the messages of the compiler that refused it."""

    hivm: str = ""
    error: str = ""
    binary: bool = False


def tensor_ir(folder: Path, launch: Mapping[str, Any], target: str) -> str:
    """The Triton IR of a launch's kernel. Raises what Triton's front end raises."""
    from triton._C.libtriton import ir
    from triton.backends.ascend.compiler import make_ttir
    from triton.compiler import ASTSource

    backend, options, _ = _backend(target)
    types = {name: POINTERS[dtype] for name, dtype in launch["tensors"].items()}
    types |= dict.fromkeys(launch["sizes"], "i32")
    types |= {name: "*i1" for name, kind in types.items() if kind == "*u1"}
    function = getattr(kernels_of(folder), launch["kernel"])
    source = ASTSource(function, types, constants=dict(launch["constants"]))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(options, backend.get_codegen_implementation(), backend.get_module_map(), context)
    return str(make_ttir(module, {"hash": launch["kernel"]}, options))


def made(text: str, folder: Path, target: str, seconds: int) -> Made:
    """The HIVM of a kernel's Triton IR for a chip; what is in between is left in `folder`, which is made.

    `seconds`: how long the compiler may compute.
    """
    from triton.backends.ascend.compiler import ttir_to_linalg

    _, options, metadata = _backend(target)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ttir.mlir").write_text(text)
    try:
        linalg = ttir_to_linalg(text, metadata, options, named_ops=True)
    except subprocess.CalledProcessError as error:
        return Made(error=first_message(error.stderr.decode(errors="replace")))
    (folder / "linalg.mlir").write_text(re.sub(r', mix_mode\s*=\s*"[^"]*"', "", linalg))
    tool = compiler()
    assert tool is not None, "a probe found it"
    command = [str(tool), "linalg.mlir", f"--target={target}", *_OPTIONS, "--save-temps=.", "-o", "kernel"]
    code, said = within(seconds, command, folder)
    if code == OUT_OF_TIME:
        return Made(error=f"bishengir-compile took more than {seconds} s")
    written = folder / WRITTEN
    if written.exists() and (code == 0 or _ENDED in said):
        return Made(hivm=written.read_text(), binary=code == 0)
    return Made(error=first_message(said) or f"bishengir-compile ended with {code}")


def within(seconds: int, command: Sequence[str], folder: Path) -> tuple[int, str]:
    """How a command ended and what it said, which computes so long at most, however long others keep it waiting."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=pipe, text=True) as process:
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (seconds, seconds))
        _, said = process.communicate()
    return process.returncode, said


def first_message(said: str) -> str:
    """The lines of a compiler's output that say what is wrong, each once, without stacks and paths of its machine."""
    lines = [line.strip() for line in said.splitlines()]
    telling = [line for line in lines if re.search(r"\berror: |Assertion `|UNREACHABLE|LLVM ERROR", line)]
    telling = telling or [line for line in lines if line and "hivmc" not in line and not re.match(r"#\d+ ", line)][:3]
    bare = (re.sub(r"^\S*: (?:/\S+/)(\w+\.cpp:\d+): ", r"\1: ", line) for line in telling if _ENDED not in line)
    return "\n".join(dict.fromkeys(bare))[:2000]


def _backend(target: str) -> tuple[Any, Any, dict[str, Any]]:
    from triton.backends.ascend.compiler import AscendBackend
    from triton.backends.compiler import GPUTarget

    backend = AscendBackend(GPUTarget("npu", target, 0))
    options = backend.parse_options({})
    return backend, options, dict(options.__dict__)

"""A plugin for plain C with documents and a compiler and no emitter, and answers of a model that know it."""

from __future__ import annotations

ENVIRONMENT = "environment.txt"  # what the compiler's process sees, which it leaves beside the kernel
PLUGIN = """
import os
import re
import subprocess
import time

from akg_core.hookspecs import hookimpl
from akg_core.judge.candidate import harness
from akg_core.judge.source.text import python_findings
from akg_core.records import Advice, Artifact, Availability, CompileResult, DocPage, PluginInfo
from akg_core.toolchain import write_source

PAGES = {
    "language": "# Plain C\\n## Kernels\\nA kernel is a C function in kernel.c; model_new.py calls it through ctypes.",
    "api": "# API\\n## Arithmetic\\nmath.h is there.",
    "hardware": "# Hardware\\n## One core\\nNothing runs in parallel.",
    "examples": "# Examples\\n## Adding\\nA loop over all elements.",
    "pitfalls": "# Pitfalls\\n## Bounds\\nNothing checks an index.",
}


@hookimpl
def akg_plugin_info():
    return PluginInfo(name="plain_c", dsl="C", backends=("cpu",), dtypes=("f32",), source_suffix=".c")


@hookimpl
def akg_docs():
    return tuple(DocPage(kind=kind, title=kind, text=text) for kind, text in PAGES.items())


@hookimpl
def akg_probe(target):
    return Availability(can_compile=True, can_run=True)


@hookimpl
def akg_check_source(source, target):
    return tuple(python_findings(source, "PC"))


@hookimpl
def akg_compile(source, target, workdir):
    began = time.monotonic()
    write_source(source, workdir)
    (workdir / "environment.txt").write_text(repr(dict(os.environ)))
    command = ["gcc", "-O2", "-shared", "-fPIC", "kernel.c", "-o", "kernel.so", "-lm"]
    ended = subprocess.run(command, cwd=workdir, capture_output=True, text=True)
    artifact = Artifact(folder=workdir) if ended.returncode == 0 else None
    return CompileResult(ok=not ended.returncode, seconds=time.monotonic() - began, artifact=artifact, log=ended.stderr)


@hookimpl
def akg_explain(log, target):
    if "SIGSEGV" in log or "egmentation" in log:
        return (Advice(problem="It crashed.", advice="Check every index."),)
    found = re.search(r"kernel.c:(\\d+):\\d+: error: (.*)", log)
    if not found:
        return ()
    return (Advice(problem=found[2], advice="Declare what is used.", source_line=int(found[1])),)


@hookimpl
def akg_run(artifact, target, cases):
    return harness.run_cases(lambda: harness.load_entry(artifact), cases)


@hookimpl
def akg_profile(artifact, target, case, plan):
    return harness.profile_case(lambda: harness.load_entry(artifact), case, plan)
"""

REFERENCE = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        return a * 2 + b


def get_inputs():
    return [torch.randn(300, 37), torch.randn(300, 37)]


def get_init_inputs():
    return []
"""

SKETCH = """
@kernel
def scaled(a: In["f32", "M", "N"], b: In["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 4):
        for n in tiles(N, 64):
            store(y[m, n], load(a[m, n]) * 2.0 + load(b[m, n]))
"""

KERNEL = """
void scaled(const float *a, const float *b, float *y, long count) {
    for (long i = 0; i < count; i++) y[i] = a[i] * 2.0f + b[i];
}
"""

MODEL = """
import ctypes
from pathlib import Path

import torch

from reference import Model

_library = ctypes.CDLL(str(Path(__file__).with_name("kernel.so")))


def _pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(Model):
    def forward(self, a, b):
        y = torch.empty_like(a)
        _library.scaled(_pointer(a), _pointer(b), _pointer(y), ctypes.c_long(a.numel()))
        return y
"""

CHEAT = """
from reference import Model


class ModelNew(Model):
    def forward(self, a, b):
        return a * 2 + b
"""


def sketch(text: str = SKETCH) -> str:
    """A designer's answer."""
    return f"The rows are split.\n\n```sketch\n{text.strip()}\n```\n"


def files(kernel: str = KERNEL, model: str = MODEL) -> str:
    """A coder's answer."""
    return f"```c kernel.c\n{kernel.strip()}\n```\n\n```python model_new.py\n{model.strip()}\n```\n"

"""A toy plugin, and kernels for it: one honest kernel in C, and many that are not."""

from __future__ import annotations

import subprocess
from pathlib import Path
from textwrap import dedent, indent

from akg_core.records import Artifact

PLUGIN = """
from akg_core.hookspecs import hookimpl
from akg_core.judge.candidate import harness
from akg_core.records import PluginInfo


@hookimpl
def akg_plugin_info():
    return PluginInfo(name="toy", dsl="toy", backends=("cpu",), dtypes=("f32",), source_suffix=".c")


@hookimpl
def akg_run(artifact, target, cases):
    return harness.run_cases(lambda: harness.load_entry(artifact), cases)


@hookimpl
def akg_profile(artifact, target, case, plan):
    return harness.profile_case(lambda: harness.load_entry(artifact), case, plan)
"""

SOFTMAX = '''
import torch
import torch.nn as nn


class Model(nn.Module):
    """Softmax over rows of x * scale."""

    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(columns))

    def forward(self, x):
        return torch.softmax(x * self.scale, dim=-1)


def get_inputs():
    return [torch.rand({rows}, {columns})]


def get_init_inputs():
    return [{columns}]
'''

C = """
#include <math.h>
#include <stdlib.h>
void softmax(const float *x, const float *scale, float *y, long rows, long columns) {
    #pragma omp parallel for
    for (long i = 0; i < rows; i++) {
        float most = -INFINITY;
        double sum = 0;
        for (long j = 0; j < columns; j++) most = fmaxf(most, x[i * columns + j] * scale[j]);
        for (long j = 0; j < columns; j++) sum += y[i * columns + j] = expf(x[i * columns + j] * scale[j] - most);
        for (long j = 0; j < columns; j++) y[i * columns + j] /= sum;
    }
}
"""

MODEL = """
import ctypes, os, signal, sys, threading, time
from pathlib import Path
import torch
from reference import Model

_library = ctypes.CDLL(str(Path(__file__).parent / "kernel.so"))


def kernel(x, scale, y):
    _library.softmax(*(ctypes.c_void_p(t.data_ptr()) for t in (x, scale, y)), *map(ctypes.c_long, x.shape))
    return y


class ModelNew(Model):
    calls = 0
    kept = {{}}

    def forward(self, x):
        ModelNew.calls += 1
{body}
"""

HONEST = "return kernel(x.contiguous(), self.scale, torch.empty_like(x))"


def build(folder: Path) -> None:
    """Compile the C kernel once."""
    (folder / "kernel.c").write_text(C)
    command = ["gcc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "kernel.c", "-o", "kernel.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)


def kernel(folder: Path, library: Path, reference: str, body: str = HONEST, head: str = "") -> Artifact:
    """An artifact whose forward is `body`; `head` is module-level code before everything."""
    folder.mkdir()
    (folder / "kernel.so").write_bytes((library / "kernel.so").read_bytes())
    (folder / "reference.py").write_text(reference)
    text = dedent(head) + MODEL.format(body=indent(dedent(body), " " * 8))
    (folder / "model_new.py").write_text(text)
    return Artifact(folder=folder)

"""A warm parent as there is one on a machine with a GPU, and a job forked from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import akg_plugin_triton_cuda.warm  # noqa: F401
from akg_plugin_triton_cuda import ahead, compile

from akg_core.plugin import KernelSource, Target

ahead.ready_to_compile()


def compile_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{source, target, folder} → CompileResult, made without a process that imports Triton anew."""
    source, target = KernelSource(**payload["source"]), Target(**payload["target"])
    with mock.patch.object(compile, "_elsewhere", side_effect=AssertionError("It imports Triton anew.")):
        return compile.compile_kernel(source, target, Path(payload["folder"])).model_dump(mode="json")

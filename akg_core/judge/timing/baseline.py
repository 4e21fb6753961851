"""The baselines: the reference itself by eager PyTorch, or through `torch.compile`, timed like any kernel.

Worker side. Both run in the harness of a candidate, without gradients, on the same inputs and state.
"""

from __future__ import annotations

import functools
import gc
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from akg_core.device import HOST
from akg_core.records import Case, TimingPlan
from akg_core.storage import cache_folder
from akg_core.worker.placement import device_at

EAGER = "eager"
MODES = (EAGER, "compile")


def profile_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{mode, case, plan, plugin?, target?} → ProfileReport."""
    from akg_core.judge.candidate.harness import profile_case
    from akg_core.worker import surroundings

    case, plan, device = Case(**payload["case"]), TimingPlan(**payload["plan"]), device_at(payload)
    device.make_ready()
    surroundings.remember()
    queued = device is not HOST
    report = profile_case(lambda: _module(payload["mode"], case.reference, queued), case, plan, device)
    return report.model_dump(mode="json")


def forget_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{plugin?, target?} → {reusable}: give up what was timed, and say whether another may be in this process."""
    from akg_core.judge.candidate import harness
    from akg_core.task.source.load import unload
    from akg_core.worker import surroundings

    device = device_at(payload)
    device.synchronize()
    harness.forget()
    _module.cache_clear()
    unload()
    gc.unfreeze()
    device.release_unused()
    return {"reusable": surroundings.unchanged()}


@functools.cache
def _module(mode: str, reference: Path, queued: bool) -> Any:
    """What stands in for a kernel's module: `ModelNew` is the reference's Model, compiled or, if asked, `queued`."""
    from akg_core.judge.timing.queued_copies import with_queued_copies
    from akg_core.task.source.load import load_source

    if mode not in MODES:
        raise ValueError(f"no baseline is called {mode!r}")
    source = load_source(reference.read_text(encoding="utf-8"), "reference")
    if mode == EAGER:
        model = with_queued_copies(source.Model) if queued else source.Model
        return SimpleNamespace(ModelNew=model, get_init_inputs=source.get_init_inputs)
    _set_up_compiler()

    def compiled(*arguments: Any) -> Any:
        model = source.Model(*arguments)
        model.compile(dynamic=False)  # in place, so that parameters keep their names
        return model

    return SimpleNamespace(ModelNew=compiled, get_init_inputs=source.get_init_inputs)


def _set_up_compiler() -> None:
    """Have `torch.compile` generate the code that it always does, sooner: its first use takes 20 s otherwise."""
    from torch._functorch import config as functorch
    from torch._inductor import codecache, config

    folder = cache_folder() / "torchinductor"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
    config.compile_threads = 1  # starting helpers costs more than they save on the few kernels of one module
    config.cpp.vec_isa_ok = True  # it reads the processor's flags; whether the compiler knows them takes it 8 s to try
    config.cpp_cache_precompile_headers = shutil.which("openssl") is not None  # by which it tells headers apart
    codecache._HEADER_DIR = str(folder / "headers")  # its own place is the worker's folder, which goes with the worker
    codecache._HEADER_LOCK_DIR = str(folder / "headers" / "locks")
    # The key of a graph is made of all files of PyTorch; what the compiler makes of a kernel stays cached.
    config.fx_graph_cache = functorch.enable_autograd_cache = False

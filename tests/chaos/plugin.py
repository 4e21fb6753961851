"""The plugin of the chaos run: cpp_cpu, whose kernels misbehave as the name of their task says."""

from __future__ import annotations

from pathlib import Path

from akg_plugin_cpp_cpu import plugin as cpp_cpu
from akg_plugin_cpp_cpu.plugin import akg_compile, akg_probe  # noqa: F401

from akg_core.hookspecs import hookimpl
from akg_core.judge.candidate.harness import load_entry, profile_case, run_cases
from akg_core.records import (
    Artifact,
    Case,
    KernelSource,
    PluginInfo,
    ProfileReport,
    RunReport,
    Schedule,
    Sketch,
    Target,
    TimingPlan,
)
from tests.chaos.candidates import Candidate

NAME = "chaos"
_MISBEHAVE = Path(__file__).with_name("misbehave.hpp").read_text()
_MODEL = '''

# --- chaos --------------------------------------------------------------------------------------------

_calls = 0
_compute = ModelNew.forward


def _misbehave():
    library = ctypes.CDLL(str(Path(__file__).with_name("kernel.so")))
    library.misbehave({kind!r}, ctypes.c_void_p(id({target})))


def _forward(self, *inputs):
    """Who survives its own misbehaviour answers with memory that nobody wrote."""
    global _calls
    _calls += 1
    if _calls == {moment}:
        _misbehave()
    answer = _compute(self, *inputs)
    return torch.empty_like(answer) if _calls >= {moment} else answer


ModelNew.forward = _forward
if {moment} == 0:
    _misbehave()
'''


@hookimpl
def akg_plugin_info() -> PluginInfo:
    return cpp_cpu.akg_plugin_info().model_copy(update={"name": NAME})


@hookimpl
def akg_refine_sketch(sketch: Sketch, target: Target) -> tuple[Sketch, ...]:
    """Only the first variant, that has the candidate's name: none is to be judged in another's place."""
    return (sketch,) if Candidate.is_name(sketch.name) else ()


@hookimpl
def akg_emit(sketch: Sketch, schedule: Schedule, target: Target) -> KernelSource:
    source = cpp_cpu.akg_emit(sketch, schedule, target)
    files = {name: text + _MISBEHAVE * name.endswith(".cpp") for name, text in source.files.items()}
    candidate = Candidate.named(sketch.name)
    if not candidate.honest:
        how = {"kind": candidate.kind.encode(), "moment": candidate.moment, "target": candidate.target}
        files[source.entry] += _MODEL.format(**how)
    return source.model_copy(update={"files": files})


@hookimpl
def akg_run(artifact: Artifact, target: Target, cases: tuple[Case, ...]) -> RunReport:
    """Nobody reads the machine code beforehand, which would refuse it: what it does is to be met."""
    return run_cases(lambda: load_entry(artifact), cases)


@hookimpl
def akg_profile(artifact: Artifact, target: Target, case: Case, plan: TimingPlan) -> ProfileReport:
    return profile_case(lambda: load_entry(artifact), case, plan)

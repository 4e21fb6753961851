"""The harness around a candidate that is a Python module with `ModelNew`: runs its cases, takes its times.

Worker side, in the candidate's own process; a plugin's `akg_run` and `akg_profile` hand over to it:

    def akg_run(artifact, target, cases):
        return run_cases(lambda: load_entry(artifact), cases)

Everything here can be reached by the code under judgement, so that nothing here decides anything: expected outputs
are elsewhere, and what is reported is checked by the process that holds them.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.util
import os
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

import torch

from akg_core.device import HOST, Device
from akg_core.errors import KernelFailed, is_of_memory
from akg_core.judge.candidate import confinement, guard, integrity, queued
from akg_core.judge.candidate.failures import lost, said
from akg_core.judge.candidate.guard import forbid_searches, removal
from akg_core.judge.candidate.guarded import lent, run
from akg_core.judge.candidate.rounding import CHANGES_ROUNDING, Modes
from akg_core.judge.candidate.settings import CHANGES_A_SETTING, Settings
from akg_core.judge.candidate.subject import Subject
from akg_core.judge.candidate.timed_model import TimedModel, inputs_of
from akg_core.judge.candidate.turns import take_turns
from akg_core.judge.reference.memory import give_back_large
from akg_core.judge.source.native import ForbiddenCode, MachineCode
from akg_core.judge.source.rules import COPIES_ONLY
from akg_core.records import Artifact, Case, CaseReport, ProfileReport, RunReport, TimingPlan
from akg_core.task.arguments import holding
from akg_core.worker import child, isolation, seccomp
from akg_core.worker.tensors import description, load, memory, transform
from akg_core.worker.threads import alone, spin_little
from akg_core.worker.timekeeper import Turns

_WARM_CALLS = 8  # after which updated inputs are restored where time beside samples is watched, lest they drift far


def load_entry(artifact: Artifact) -> ModuleType:
    """The artifact's entry file as a module, imported once a process; files beside it can be imported from it."""
    return _load_entry(artifact.folder.resolve(), artifact.entry)


def run_cases(
    load_module: Callable[[], Any],
    cases: Sequence[Case],
    device: Device = HOST,
    *,
    jit: bool = False,
    code: MachineCode | None = None,
) -> RunReport:
    """Run each case (at least one) on `device` under the guard, on fresh memory, and write what came out.

    One that is upcoming is neither run nor reported. A case without inputs is not run: the kernel is made ready for the
    others, which another call brings.

    `jit`: the language compiles when a kernel is first called, so that inputs of each shape, those of upcoming cases
    too, are there once before any call counts. From then on, and without `jit` before the module is loaded, machine
    code can start no process either; threads it may. `code`: the shared libraries that the module opens, for languages
    whose kernels are such; they are read, and confined before any of them runs.
    """
    given = [case for case in cases if case.inputs]
    _take_back()
    if device is HOST and isolation.is_confined():
        spin_little()  # a verdict may wait for others, which a time may not
        give_back_large()
    try:
        subject = _ready(load_module, cases[0], device, code, jit)
        if not given:
            device.make_ready()
        for text, case in _unlike(given).items() if jit else ():
            if (id(subject), text) not in _rehearsed:
                _rehearse(subject, case)
                _rehearsed.add((id(subject), text))
        if given or not jit:
            seccomp.forbid_processes()
    except ForbiddenCode as error:
        return RunReport(error=str(error), rule=str(error))
    except Exception as error:
        return RunReport(error=said(error), rule=next(iter(guard.noted()), ""))
    reports: list[CaseReport] = []
    copied: list[bool] = []
    for case in (case for case in given if not case.upcoming):
        reports.append(run(subject, case, copied))
        if not reports[-1].finished and (why := lost(device)):
            return RunReport(cases=tuple(reports), lost=why)
        device.release_unused()
    if copied and all(copied):  # one case alone may be such that nothing else shows
        reports[0] = reports[0].model_copy(update={"broken_rules": (*reports[0].broken_rules, COPIES_ONLY)})
    return RunReport(cases=tuple(reports), left_open=subject.left_open)


def profile_case(
    load_module: Callable[[], Any],
    case: Case,
    plan: TimingPlan,
    device: Device = HOST,
    *,
    jit: bool = False,
    code: MachineCode | None = None,
) -> ProfileReport:
    """Take the turns of the case that the plan asks for, of which another process has the clock.

    On a device, where many kernels are tried in one process and none is believed, samples are taken here as well: by
    the device's clock, each call alone and waited for, on inputs that are rotated among copies.
    """
    if child.turns and device is HOST:
        return _profile_in_turns(load_module, case, plan, child.turns, code)
    samples: tuple[float, ...] = ()
    told: dict[str, Any] = {}
    try:
        subject = _ready(load_module, case, device, code, jit)
        _take_back()
        if not case.inputs:
            device.make_ready()
            _timed_models.clear()
            queued.leave()
            return ProfileReport(samples=(), timer=device.timer)
        compare_harness = subject.watch()
        with torch.no_grad():
            if plan.turn:
                told = queued.take_turn(subject, case, plan.turn)
            elif plan.samples:
                samples = _samples(_timed_model(subject, case), case, plan, jit)
            else:
                queued.warm(subject, case)
                seccomp.forbid_processes()
        compare_harness()
    except Exception as error:
        return ProfileReport(samples=(), timer=device.timer, error=said(error), lost=lost(device))
    finally:
        if not plan.turn:
            with contextlib.suppress(Exception):  # which a device that is lost raises
                device.release_unused()
    threads = torch.get_num_threads()
    return ProfileReport(samples=samples, timer=device.timer, details={"threads": threads}, told=told)


def _take_back() -> None:
    """Free what earlier jobs have written, which has been read by now."""
    while lent:
        lent.pop().take_back()


def forget() -> None:
    """Give up all subjects that were run here, and what they were given."""
    queued.leave()
    _timed_models.clear()
    _subjects.clear()
    _rehearsed.clear()
    _forbidden.clear()


def _samples(contender: TimedModel, case: Case, plan: TimingPlan, jit: bool) -> tuple[float, ...]:
    """Samples by the clock of this process: an impression, which nobody takes for a time."""
    device, samples, result = contender.device, [], None
    if jit:
        contender.model(*contender.arguments())
    seccomp.forbid_processes()
    for _ in range(plan.warmup):
        contender.model(*contender.arguments())
    for number in range(plan.samples):
        arguments = contender.arguments(anew=plan.cold or number % _WARM_CALLS == 0)
        if plan.cold:
            transform(arguments, _disturb)
            device.sweep(2 * device.cache_bytes())
        result = None  # its memory is the next one's, as where nobody keeps answers
        _seed(case)
        seconds, result = device.seconds(functools.partial(contender.model, *arguments))
        samples.append(seconds)
    del result
    return tuple(samples)


def _profile_in_turns(
    load_module: Callable[[], Any], case: Case, plan: TimingPlan, turns: Turns, code: MachineCode | None
) -> ProfileReport:
    """Like `profile_case` on the host, where a process outside takes the time: there are no samples in the report."""
    try:
        subject = _ready(load_module, case, HOST, code, jit=False)
        if case.inputs:
            compare_harness = subject.watch()
            seccomp.forbid_processes()
            with torch.no_grad():
                take_turns(subject, case, plan, turns)
            compare_harness()
    except Exception as error:
        turns.fail()
        return ProfileReport(samples=(), timer=HOST.timer, error=said(error))
    return ProfileReport(samples=(), timer=HOST.timer, details={"threads": torch.get_num_threads()})


def _ready(load_module: Callable[[], Any], case: Case, device: Device, code: MachineCode | None, jit: bool) -> Subject:
    """The model, constructed once a process and module.

    In a confined process the kernel's code must not have seen any input by then. It runs in a thread of its own, above
    which none of our frames stands. Afterwards the host's library computes no more, where kernels run on the host. That
    of another device never does: what it has once recorded there could be played again at any time.
    """
    steps: list[Callable[[], Any]] = []
    run_constructors: Callable[[], None] | None = None
    if isolation.is_confined() and not _subjects:
        guard.calibrate(device.name)
        run_constructors = confinement.before_loading(case.reference, code, jit)
        steps = removal(device.keys)
        forbid_searches(case.reference)
        while device is not HOST and steps:
            steps.pop()()
    watch = functools.partial(integrity.watch, _packages(load_module, device), device.trusted())
    compare_harness = watch()

    def make() -> Subject:
        modes, settings = Modes(), Settings(seeded=True, loading=True)
        if run_constructors:
            run_constructors()
        module = load_module()
        if modes.restore():
            _forbidden.setdefault(id(module), CHANGES_ROUNDING)
        key = (id(module), case.reference, case.training)
        if key not in _subjects and id(module) not in _forbidden:
            _subjects[key] = (module, Subject(module, case, device, watch))
            gc.freeze()  # who gives back what lies in cycles need not look through all that was loaded each time
        for different in settings.restore():
            _forbidden.setdefault(id(module), f"{CHANGES_A_SETTING}: {different}")
        if id(module) in _forbidden:
            raise ForbiddenCode(_forbidden[id(module)])
        return _subjects[key][1]

    known = len(_subjects)
    subject = alone(make) if isolation.is_confined() else make()
    if len(_subjects) > known:
        compare_harness()
    for step in steps:
        step()
    if run_constructors:
        subject.left_open = confinement.after_construction(device, code, jit)
    return subject


def _packages(load_module: Callable[[], Any], device: Device) -> frozenset[str]:
    """The packages of a plugin: of what loads its kernels, and of its device."""
    names = (getattr(load_module, "__module__", ""), type(device).__module__)
    return frozenset(name.partition(".")[0] for name in names)


def _unlike(cases: Sequence[Case]) -> dict[str, Case]:
    """One of all cases whose inputs differ by their tensors' numbers alone, by what is the same of these."""
    return {description(inputs_of(case)): case for case in reversed(cases)}


def _rehearse(subject: Subject, case: Case) -> None:
    """Call a kernel for what its language does at the first call; how that goes is found out when it counts.

    No guard watches, so that it gets the case's shapes and zeros in them, or what it is made for: nothing that is asked
    later. For want of memory it raises: what was not done for the first time here would be when it counts, where it is
    forbidden.
    """
    try:
        with torch.no_grad():
            subject.enter(case)
            zeros = transform(load(inputs_of(case), subject.device), _zeroed)
            subject.model(*holding(zeros, case.held))
            subject.device.synchronize()
            subject.device.release_unused()
    except Exception as error:
        if is_of_memory(error):
            raise


_forbidden: dict[int, str] = {}  # modules by rules that they broke when loaded, which is once, however often one asks
_subjects: dict[tuple[int, Path | None, bool], tuple[Any, Subject]] = {}  # a module is held: its id stays its own
_rehearsed: set[tuple[int, str]] = set()  # subjects, and the inputs of which one like them was called
_timed_models: dict[tuple[int, Path | None, Path | None], TimedModel] = {}


def _timed_model(subject: Subject, case: Case) -> TimedModel:
    key = (id(subject), case.inputs, case.state)
    if key not in _timed_models:
        alike = (each for (_, inputs, _), each in _timed_models.items() if inputs == case.inputs)
        copies = next((each.copies for each in alike), None)
        _timed_models.clear()  # the inputs of one that had its turn would take memory
        subject.device.release_unused()
        _timed_models[key] = TimedModel(subject, case, copies)
    return _timed_models[key]


@functools.cache
def _load_entry(folder: Path, entry: str) -> ModuleType:
    name = f"akg_kernel_{abs(hash(folder))}"
    specification = importlib.util.spec_from_file_location(name, folder / entry)
    if specification is None or specification.loader is None:
        raise ImportError(f"{entry} is not a Python file")
    module = importlib.util.module_from_spec(specification)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    sys.modules[name] = module
    compiled, sys.pycache_prefix = sys.pycache_prefix, os.devnull  # text is what was read, and what is run
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(folder / entry)]
        place = f"{entry}, line {lines[-1]}" if lines else entry
        raise KernelFailed(f"{place}: importing the file raises {said(error)}") from None
    finally:
        sys.pycache_prefix = compiled
    if not hasattr(module, "ModelNew"):
        raise KernelFailed(f"{entry} defines no ModelNew")
    return module


def _seed(case: Case) -> None:
    """Set torch's generator of the host to any seed where forward draws."""
    if case.seeds:
        torch.default_generator.manual_seed(random.getrandbits(63))


def _zeroed(tensor: torch.Tensor) -> torch.Tensor:
    memory(tensor).zero_()
    return tensor


def _disturb(tensor: torch.Tensor) -> None:
    """Let two elements change places, in all of a tensor's memory wherever they are."""
    flat = memory(tensor)
    if len(flat) > 1:
        one, other = random.sample(range(len(flat)), 2)
        kept = flat[one].clone()
        flat[one].copy_(flat[other])
        flat[other].copy_(kept)

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
import itertools
import operator
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

import torch
from torch import nn

from akg_core.errors import KernelFailed
from akg_core.judge import integrity
from akg_core.judge.bits import changed, named, same_bits
from akg_core.judge.guard import Guard, forbid_searches, removal
from akg_core.judge.memory import nbytes
from akg_core.records import Artifact, Case, CaseReport, ProfileReport, RunReport, TimingPlan
from akg_core.task.load import load_source, moved
from akg_core.worker import isolation, seccomp
from akg_core.worker.device import HOST, Device
from akg_core.worker.tensors import description, fresh, load, memory, save, transform
from akg_core.worker.threads import alone, threads, threads_for

_SETTLING_SECONDS = 0.05  # in which work that goes on after a call has returned shows
_PAGE = 4096  # bytes, of which the system knows whether anybody has looked at them
_COPIES = ((32 << 20, 3), (1 << 30, 2))  # inputs of less than so many bytes are rotated among so many copies


def load_entry(artifact: Artifact) -> ModuleType:
    """The artifact's entry file as a module, imported once a process; files beside it can be imported from it."""
    return _load_entry(artifact.folder.resolve(), artifact.entry)


def run_cases(
    load_module: Callable[[], Any],
    cases: Sequence[Case],
    device: Device = HOST,
    *,
    launches: Callable[[], int] | None = None,
    jit: bool = False,
) -> RunReport:
    """Run each case (at least one) on `device` under the guard, on fresh memory, and write what came out.

    A case without inputs is not run: the kernel is made ready for the others, which another call brings.

    `launches` counts the kernels launched so far, for plugins that can tell. `jit`: the language compiles when a kernel
    is first called, so that inputs of each shape are there once before any call counts. From then on, and without `jit`
    as soon as the module is loaded, machine code can start no process either; threads it may.
    """
    given = [case for case in cases if case.inputs]
    try:
        subject = _ready(load_module, cases[0], device)
        if not given:
            device.make_ready()
        for case in _unlike(given) if jit else ():
            _rehearse(subject, case)
        if given or not jit:
            seccomp.forbid_processes()
    except Exception as error:
        return RunReport(error=_sentence(error))
    reports = []
    for case in given:
        reports.append(_run(subject, case, launches))
        if not reports[-1].finished and (lost := _lost(device)):
            return RunReport(cases=tuple(reports), lost=lost)
        device.release_unused()
    return RunReport(cases=tuple(reports))


def profile_case(
    load_module: Callable[[], Any], case: Case, plan: TimingPlan, device: Device = HOST, *, jit: bool = False
) -> ProfileReport:
    """Time the case as the plan says, by the device's clock, each call alone and waited for.

    Model and inputs stay from call to call, for samples may be taken in several. Inputs are rotated among copies, as
    long as there is room for these, and changed a little before each cold sample, so that no earlier answer is right.
    The answer that is to be checked is one of the samples', which differs from the others by its inputs' values alone.
    """
    timer = device.timer
    clock = device.seconds_after if plan.after else device.seconds
    cold = 2 * device.cache_bytes() if plan.cold else 0
    try:
        if plan.threads:
            torch.set_num_threads(plan.threads)
        subject = _ready(load_module, case, device)
        while _written:  # what was written has been read by now
            _written.pop().take_back()
        if not case.inputs:
            device.make_ready()
            _contenders.clear()
            return ProfileReport(samples=(), timer=timer)
        contender = _contender(subject, case)
        compare_harness = subject.watch()
        samples = []
        with torch.no_grad():
            if jit:
                contender.model(*next(contender.inputs))
            seccomp.forbid_processes()
            for _ in range(plan.warmup):
                contender.model(*next(contender.inputs))
            result = at_return = None
            checked = random.randrange(plan.samples) if plan.check else -1
            for number in range(plan.samples):
                arguments = given = next(contender.inputs)
                if cold or plan.check:  # else nothing is to come between samples
                    transform(arguments, _disturb)
                    before = contender.put(plan.check, arguments) if plan.check and number == checked else None
                    device.sweep(cold)
                    if not same_bits(at_return, transform(result, contender.few)):
                        break
                    given = transform(arguments, operator.attrgetter("data"))  # tells no count of writes to it
                result = None  # its memory is the next one's, as where nobody keeps answers
                seconds, result = clock(functools.partial(contender.model, *given))
                samples.append(seconds)
                at_return = transform(result, contender.few)  # who makes answers only now takes time outside
                if plan.check and before is not None:
                    _write(plan.check, result, before, arguments, subject)
            if plan.check:
                time.sleep(_SETTLING_SECONDS)
            if not same_bits(at_return, transform(result, contender.few)):
                return ProfileReport(samples=(), timer=timer, error="its outputs changed after it had returned")
        compare_harness()
    except Exception as error:
        return ProfileReport(samples=(), timer=timer, error=_sentence(error), lost=_lost(device))
    finally:
        with contextlib.suppress(Exception):  # which a device that is lost raises
            device.release_unused()
    return ProfileReport(samples=tuple(samples), timer=timer, details={"threads": torch.get_num_threads()})


def _ready(load_module: Callable[[], Any], case: Case, device: Device) -> _Subject:
    """The model, constructed once a process and module.

    In a confined process the kernel's code must not have seen any input by then. It runs in a thread of its own, above
    which none of our frames stands. Afterwards the host's library computes no more, where kernels run on the host. That
    of another device never does: what it has once recorded there could be played again at any time.
    """
    steps: list[Callable[[], Any]] = []
    if isolation.is_confined() and not _subjects:
        steps = removal(device.keys)
        forbid_searches()
        while device is not HOST and steps:
            steps.pop()()
    watch = functools.partial(integrity.watch, _packages(load_module, device), device.trusted())
    compare_harness = watch()

    def make() -> _Subject:
        module = load_module()
        key = (id(module), case.reference, case.training)
        if key not in _subjects:
            _subjects[key] = (module, _Subject(module, case, device, watch))
            gc.freeze()  # who gives back what lies in cycles need not look through all that was loaded each time
        return _subjects[key][1]

    subject = alone(make) if isolation.is_confined() else make()
    compare_harness()
    for step in steps:
        step()
    return subject


def _packages(load_module: Callable[[], Any], device: Device) -> frozenset[str]:
    """The packages of a plugin: of what loads its kernels, and of its device."""
    names = (getattr(load_module, "__module__", ""), type(device).__module__)
    return frozenset(name.partition(".")[0] for name in names)


def construct(module: Any, case: Case, device: Device) -> nn.Module:
    """A `ModelNew` as the reference file constructs its `Model`, after the same seed, moved to the device."""
    torch.manual_seed(0)
    source = load_source(case.reference.read_text(), "reference") if case.reference else module
    arguments = source.get_init_inputs() if hasattr(source, "get_init_inputs") else ()
    return moved(module.ModelNew(*arguments), device.name)


class _Subject:
    """A constructed model, and what is needed to put it into the state of a case."""

    def __init__(self, module: Any, case: Case, device: Device, watch: Callable[[], Callable[[], None]]) -> None:
        self.device, self.watch = device, watch
        self.model = construct(module, case, device)
        kept = self.model.state_dict()
        self._transient = {n: b.clone() for n, b in self.model.named_buffers() if n not in kept}
        if not case.training:
            self.model.eval()  # else the mode is what the constructor leaves

    def enter(self, case: Case) -> dict[str, Any]:
        """Load the case's state, which is also returned, and reset buffers that no state dict holds."""
        state = load(case.state, self.device) if case.state else {}
        if case.state and not same_bits(state, self.model.state_dict()):
            self.model.load_state_dict(state)  # counts as writing to each of them, which shows
        buffers = dict(self.model.named_buffers())
        for name, value in self._transient.items():
            if not same_bits(value, buffers[name]):
                buffers[name].copy_(value)
        return state


def _unlike(cases: Sequence[Case]) -> Iterable[Case]:
    """One of all cases whose inputs differ by their tensors' numbers alone."""
    return {description(_inputs(case)): case for case in reversed(cases)}.values()


def _rehearse(subject: _Subject, case: Case) -> None:
    """Call a kernel for what its language does at the first call; how that goes is found out when it counts.

    No guard watches, so that it gets the case's shapes and zeros in them: nothing that is asked later.
    """
    with torch.no_grad(), contextlib.suppress(Exception):
        subject.enter(case)
        subject.model(*transform(load(_inputs(case), subject.device), _zeroed))
        subject.device.synchronize()
        subject.device.release_unused()


def _call(subject: _Subject, arguments: list[Any], guard: Guard, count: int) -> Any:
    """What the model gives under the guard, with so many threads."""
    compare_harness = subject.watch()
    try:
        with torch.no_grad(), threads(count), guard:
            result = subject.model(*arguments)
            subject.device.synchronize()
    finally:
        compare_harness()
    return result


def _run(subject: _Subject, case: Case, launches: Callable[[], int] | None) -> CaseReport:
    guard, count = Guard(case.poison), torch.get_num_threads()
    launched, error = launches() if launches else 0, ""
    try:
        with threads_for(_inputs(case).stat().st_size):
            given, state = load(_inputs(case), subject.device), subject.enter(case)
            arguments = fresh(given)
            result = _call(subject, arguments, guard, count)
            _write(case, result, named(given, state), arguments, subject)
    except Exception as raised:
        error = _sentence(raised)
    return CaseReport(
        name=case.name,
        finished=not error,
        error=error,
        forbidden_calls=guard.calls,
        broken_rules=guard.rules,
        kernel_launches=launches() - launched if launches else None,
    )


def _write(case: Case, result: Any, before: dict[str, Any], arguments: Sequence[Any], subject: _Subject) -> None:
    """Write what a call gave, with what is not as it was `before`."""
    transform(result, _require_plain)
    _written.add(subject.device)
    after = named(arguments, subject.model.state_dict())
    save(case.outputs, {"result": result, "changed": changed(before, after)}, subject.device)


class _Contender:
    """A model that is being timed, and the copies of its inputs: new ones, or those of another on the same case."""

    def __init__(self, subject: _Subject, case: Case, copies: list[list[Any]] | None) -> None:
        self.subject, self.model, self.device = subject, subject.model, subject.device
        subject.enter(case)
        self.copies, self.are_as_drawn = copies or _copies(case, self.device), True
        self.inputs = itertools.cycle(self.copies)
        self._places = self._held()
        self.device.release_unused()

    def few(self, tensor: torch.Tensor) -> torch.Tensor:
        """Some 64 elements spread over an answer, and one on each page of its memory where that is no input's."""
        flat = memory(tensor.detach())
        step = flat.numel() // 64
        if tensor.untyped_storage().data_ptr() not in self._places:
            step = min(step, _PAGE // flat.element_size())
        return flat[:: max(1, step)].clone()

    def put(self, case: Case, arguments: list[Any]) -> dict[str, Any]:
        """Put the case's values, which are given back, where others were, so that who remembers these is found out."""
        given, self.are_as_drawn = load(_inputs(case), self.device), False
        for index, value in enumerate(given):
            if isinstance(value, torch.Tensor) and value.stride() == arguments[index].stride():
                memory(arguments[index]).copy_(memory(value))
            else:
                arguments[index] = fresh(value)
        self._places = self._held()
        return named(given, self.subject.enter(case))

    def _held(self) -> frozenset[int]:
        """Where the copies of the inputs lie, found out once: samples of tiny kernels do not wait for that."""
        tensors = (value for copy in self.copies for value in copy if isinstance(value, torch.Tensor))
        return frozenset(tensor.untyped_storage().data_ptr() for tensor in tensors)


_written: set[Device] = set()  # devices whose memory is lent for what was written
_subjects: dict[tuple[int, Path | None, bool], tuple[Any, _Subject]] = {}  # a module is held: its id stays its own
_contenders: dict[tuple[int, Path | None, Path | None], _Contender] = {}


def _contender(subject: _Subject, case: Case) -> _Contender:
    key = (id(subject), case.inputs, case.state)
    if key not in _contenders:
        alike = (each for (_, inputs, _), each in _contenders.items() if inputs == case.inputs and each.are_as_drawn)
        copies = next((each.copies for each in alike), None)
        _contenders.clear()  # the inputs of one that had its turn would take memory
        subject.device.release_unused()
        _contenders[key] = _Contender(subject, case, copies)
    return _contenders[key]


def _copies(case: Case, device: Device) -> list[list[Any]]:
    given = load(_inputs(case), device)
    size = nbytes(given)
    return [fresh(given) for _ in range(next((n for below, n in _COPIES if size < below), 1))]


def _inputs(case: Case) -> Path:
    if case.inputs is None:
        raise ValueError("a case without inputs cannot be run")
    return case.inputs


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
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(folder / entry)]
        place = f"{entry}, line {lines[-1]}" if lines else entry
        raise KernelFailed(f"{place}: importing the file raises {_sentence(error)}") from None
    if not hasattr(module, "ModelNew"):
        raise KernelFailed(f"{entry} defines no ModelNew")
    return module


def _require_plain(tensor: torch.Tensor) -> None:
    if type(tensor) is not torch.Tensor and type(tensor) is not nn.Parameter:
        raise TypeError(f"an output is a {type(tensor).__name__}, not a torch.Tensor")


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


def _lost(device: Device) -> str:
    """Why this process can use its device no more, as after reading an address that is nobody's; "" when it can."""
    try:
        device.synchronize()
    except Exception as error:
        return next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
    return ""


def _sentence(error: BaseException) -> str:
    if isinstance(error, KernelFailed):
        return error.message
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300] or 'no message'}"

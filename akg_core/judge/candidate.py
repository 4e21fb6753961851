"""The harness around a candidate that is a Python module with `ModelNew`: runs its cases, takes its times.

Worker side, in the candidate's own process; a plugin's `akg_run` and `akg_profile` hand over to it:

    def akg_run(artifact, target, cases):
        return run_cases(lambda: load_entry(artifact), cases)

Everything here can be reached by the code under judgement, so that nothing here decides anything: expected outputs
are elsewhere, and what is reported is checked by the process that holds them.
"""

from __future__ import annotations

import _thread
import contextlib
import functools
import importlib.util
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

import torch
from torch import nn

from akg_core.errors import KernelFailed
from akg_core.judge import integrity
from akg_core.judge.guard import Guard, forbid_searches, removal
from akg_core.judge.memory import nbytes
from akg_core.records import Artifact, Case, CaseReport, ProfileReport, RunReport, TimingPlan
from akg_core.task.load import load_source
from akg_core.worker import isolation, seccomp
from akg_core.worker.device import HOST, Device
from akg_core.worker.tensors import fresh, load, memory, save, transform

_SETTLING_SECONDS = 0.05  # in which work that goes on after a call has returned shows
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
    is first called, so that each case is called once before it counts. From then on, and without `jit` as soon as the
    module is loaded, machine code can start no process either; threads it may.
    """
    given = [case for case in cases if case.inputs]
    try:
        subject = _ready(load_module, cases[0], device)
        for case in given if jit else ():
            _rehearse(subject, case)
        if given or not jit:
            seccomp.forbid_processes()
    except Exception as error:
        return RunReport(error=_sentence(error))
    reports = []
    for case in given:
        reports.append(_run(subject, case, launches))
        device.release_unused()
    return RunReport(cases=tuple(reports))


def profile_case(
    load_module: Callable[[], Any],
    case: Case,
    plan: TimingPlan,
    device: Device = HOST,
    *,
    jit: bool = False,
) -> ProfileReport:
    """Time the case as the plan says, by the device's clock, each call alone and waited for.

    Model and inputs stay from call to call, for samples may be taken in several. Inputs are rotated among copies, as
    long as there is room for these, and changed a little before each cold sample, so that no earlier answer is right.
    """
    timer = device.timer
    cold = 2 * device.cache_bytes() if plan.cold else 0
    try:
        if plan.threads:
            torch.set_num_threads(plan.threads)
        subject = _ready(load_module, case, device)
        if not case.inputs:
            return ProfileReport(samples=(), timer=timer)
        contender = _contender(subject, case)
        samples = []
        with torch.no_grad():
            if jit:
                contender.model(*next(contender.inputs))
            seccomp.forbid_processes()
            for _ in range(plan.warmup):
                contender.model(*next(contender.inputs))
            result = at_return = None
            for _ in range(plan.samples):
                arguments = next(contender.inputs)
                if cold:  # else nothing is to come between samples
                    transform(arguments, _disturb)
                    device.sweep(cold)
                    if not same_bits(at_return, transform(result, _few)):
                        break
                result = None  # its memory is the next one's, as where nobody keeps answers
                seconds, result = device.seconds(functools.partial(contender.model, *arguments))
                samples.append(seconds)
                at_return = transform(result, _few) if cold or plan.check else None
            if plan.check:
                time.sleep(_SETTLING_SECONDS)
            if not same_bits(at_return, transform(result, _few)):
                return ProfileReport(samples=(), timer=timer, error="its outputs changed after it had returned")
            if plan.check:
                contender.check(plan.check)
    except Exception as error:
        return ProfileReport(samples=(), timer=timer, error=_sentence(error))
    finally:
        device.release_unused()
    return ProfileReport(samples=tuple(samples), timer=timer, details={"threads": torch.get_num_threads()})


def _ready(load_module: Callable[[], Any], case: Case, device: Device) -> _Subject:
    """The model, constructed once a process and module.

    In a confined process the kernel's code must not have seen any input by then. It runs in a thread of its own, above
    which none of our frames stands, and afterwards the host's library computes no more.
    """
    steps: list[Callable[[], Any]] = []
    if isolation.is_confined() and not _subjects:
        steps = removal() if device is HOST else []
        forbid_searches()
    compare_harness = integrity.watch()

    def make() -> _Subject:
        module = load_module()
        key = (id(module), case.reference, case.training)
        if key not in _subjects:
            _subjects[key] = (module, _Subject(module, case, device))
        return _subjects[key][1]

    subject = _alone(make) if isolation.is_confined() else make()
    compare_harness()
    for step in steps:
        step()
    return subject


def _alone(action: Callable[[], Any]) -> Any:
    """What `action` gives, or raises, in a thread of its own."""
    ended: list[tuple[Any, BaseException | None]] = []
    running = _thread.allocate_lock()

    def work() -> None:
        try:
            ended.append((action(), None))
        except BaseException as error:
            ended.append((None, error))
        finally:
            running.release()

    running.acquire()
    _thread.start_new_thread(work, ())
    running.acquire()
    result, error = ended[0]
    if error is not None:
        raise error
    return result


def construct(module: Any, case: Case, device: Device) -> nn.Module:
    """A `ModelNew` as the reference file constructs its `Model`, after the same seed, on the device."""
    torch.manual_seed(0)
    source = load_source(case.reference.read_text(), "reference") if case.reference else module
    arguments = source.get_init_inputs() if hasattr(source, "get_init_inputs") else ()
    with torch.device(device.name):
        return module.ModelNew(*arguments).to(device.name)


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The tensors whose bytes differ from what they were."""
    return {
        name: value
        for name, value in after.items()
        if isinstance(value, torch.Tensor) and not same_bits(before.get(name), value)
    }


def named(inputs: Sequence[Any], state: dict[str, Any]) -> dict[str, Any]:
    """Arguments and state under the names that `changed` reports."""
    arguments = {f"argument {index}": value for index, value in enumerate(inputs)}
    return arguments | {f"state {name}": value for name, value in state.items()}


class _Subject:
    """A constructed model, and what is needed to put it into the state of a case."""

    def __init__(self, module: Any, case: Case, device: Device) -> None:
        self.device = device
        self.model = construct(module, case, device)
        kept = self.model.state_dict()
        self._transient = {n: b.clone() for n, b in self.model.named_buffers() if n not in kept}
        if not case.training:
            self.model.eval()  # else the mode is what the constructor leaves

    def enter(self, case: Case) -> dict[str, Any]:
        """Load the case's state, which is also returned, and reset buffers that no state dict holds."""
        state = load(case.state, self.device) if case.state else {}
        if case.state:
            self.model.load_state_dict(state)
        buffers = dict(self.model.named_buffers())
        for name, value in self._transient.items():
            buffers[name].copy_(value)
        return state


def _rehearse(subject: _Subject, case: Case) -> None:
    """Call a kernel for what its language does at the first call; how that goes is found out when it counts."""
    with torch.no_grad(), contextlib.suppress(Exception):
        subject.enter(case)
        subject.model(*load(_inputs(case), subject.device))
        subject.device.synchronize()
    subject.device.release_unused()


def _call(subject: _Subject, arguments: list[Any], guard: Guard) -> Any:
    """What the model gives under the guard."""
    compare_harness = integrity.watch()
    try:
        with torch.no_grad(), guard:
            result = subject.model(*arguments)
            subject.device.synchronize()
    finally:
        compare_harness()
    return result


def _run(subject: _Subject, case: Case, launches: Callable[[], int] | None) -> CaseReport:
    guard = Guard(case.poison)
    launched = launches() if launches else 0
    error = ""
    try:
        given, state = load(_inputs(case), subject.device), subject.enter(case)
        arguments = fresh(given)
        result = _call(subject, arguments, guard)
        transform(result, _require_plain)
        after = named(arguments, subject.model.state_dict())
        save(case.outputs, {"result": result, "changed": changed(named(given, state), after)}, subject.device)
    except Exception as raised:
        error = _sentence(raised)
    count = launches() - launched if launches else None
    return CaseReport(
        name=case.name,
        finished=not error,
        error=error,
        forbidden_calls=guard.calls,
        broken_rules=guard.rules,
        kernel_launches=count,
    )


class _Contender:
    """A model that is being timed, and the copies of its inputs."""

    def __init__(self, subject: _Subject, case: Case) -> None:
        self.subject, self.model, self.device = subject, subject.model, subject.device
        subject.enter(case)
        given = load(_inputs(case), self.device)
        size = nbytes(given)
        self._copies = [fresh(given) for _ in range(next((n for below, n in _COPIES if size < below), 1))]
        self.inputs = self._rotate()
        del given
        self.device.release_unused()

    def _rotate(self) -> Iterator[list[Any]]:
        while True:
            yield from self._copies

    def check(self, case: Case) -> None:
        """Put the case's values where the timed ones were, so that whoever remembers an address is found out."""
        given = load(_inputs(case), self.device)
        arguments = next(self.inputs)
        for index, value in enumerate(given):
            if isinstance(value, torch.Tensor) and value.stride() == arguments[index].stride():
                memory(arguments[index]).copy_(memory(value))
            else:
                arguments[index] = fresh(value)
        state = self.subject.enter(case)
        result = self.model(*arguments)
        self.device.synchronize()
        transform(result, _require_plain)
        after = named(arguments, self.model.state_dict())
        save(case.outputs, {"result": result, "changed": changed(named(given, state), after)}, self.device)


_subjects: dict[tuple[int, Path | None, bool], tuple[Any, _Subject]] = {}  # a module is held: its id stays its own
_contenders: dict[tuple[int, Path | None, Path | None], _Contender] = {}


def _contender(subject: _Subject, case: Case) -> _Contender:
    key = (id(subject), case.inputs, case.state)
    if key not in _contenders:
        _contenders.clear()  # the inputs of one that had its turn would take memory
        subject.device.release_unused()
        _contenders[key] = _Contender(subject, case)
    return _contenders[key]


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


def _disturb(tensor: torch.Tensor) -> None:
    """Let two elements change places, in all of a tensor's memory wherever they are."""
    flat = memory(tensor)
    if len(flat) > 1:
        one, other = random.sample(range(len(flat)), 2)
        kept = flat[one].clone()
        flat[one].copy_(flat[other])
        flat[other].copy_(kept)


def _few(tensor: torch.Tensor) -> torch.Tensor:
    """Some 64 elements spread over a tensor."""
    flat = memory(tensor.detach())
    return flat[:: max(1, flat.numel() // 64)].clone()


def same_bits(one: Any, other: Any) -> bool:
    """Whether two trees hold the same bytes; a None on the left stands for anything."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(one.element_size())
        return torch.equal(one.view(bits), other.view(bits)) if bits else torch.equal(one, other)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same_bits, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_bits(one[key], other[key]) for key in one)
    return one is None or one == other


def _sentence(error: BaseException) -> str:
    if isinstance(error, KernelFailed):
        return error.message
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300] or 'no message'}"

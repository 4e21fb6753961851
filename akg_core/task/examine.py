"""Probes a task before anything is spent on it: would an answer that computes nothing pass?

The filters are those of METR (2025) and robust-kbench, at KernelBench's own tolerance: `allclose` with 1e-4 in f32 and
1e-2 in half precision, absolute and relative. Worker side only.

    TK101  one number fits every output           TK108  random: the same call gives something else
    TK102  zeros pass                             TK109  training and eval mode differ
    TK103  another draw's outputs pass            TK110  equal along a dimension
    TK104  an argument has no effect              TK111  infinities or NaNs
    TK105  the weights have no effect             TK112  TK101 to TK103 in half precision only
    TK106  some parameters have no effect         TK113  get_inputs ignores the seed
    TK107  parameters that are one number as      TK114  stateful: a call changes what the next one gives
           initialised

TK101 to TK106, TK108 and TK111 are errors: a verdict of "correct" says little there. The rest are warnings.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from akg_core.errors import TaskError
from akg_core.records import Finding
from akg_core.task.arguments import flat
from akg_core.task.complex_border import complex_places
from akg_core.task.examination import Examination
from akg_core.task.export.fake import quiet
from akg_core.task.export.held import required
from akg_core.task.inputs import draws
from akg_core.task.randomness import drawn_from
from akg_core.task.scaling import scale
from akg_core.task.source import load
from akg_core.task.source.load import ReferenceModule
from akg_core.worker.tensors import transform

BUDGET = 8.0
_BATCHED, _AT_MOST = 1 << 20, 1 << 23  # work of one call, in elements: wanted, and never exceeded
_MODEL_SEED, _SEEDS, _CALL_SEED = 42, (1, 2, 3), 7

Outputs = list[Any]


def examine_job(payload: dict[str, Any]) -> dict[str, Any]:
    """Worker job: {path} or {source}, {name, eval, scale, budget}, to an Examination as JSON data.

    `name` is what messages call the file.
    """
    source = payload["source"] if "source" in payload else load.read(payload["path"])
    name = payload.get("name") or payload["path"]
    notes: tuple[str, ...] = ()
    if payload.get("scale", 1.0) != 1.0:
        source, notes = scale.scaled(source, name, payload["scale"])
    result = examine(source, name, eval=payload.get("eval", False), budget=payload.get("budget", BUDGET))
    return result.model_copy(update={"notes": notes + result.notes}).model_dump(mode="json")


def examine(source: str, name: str, *, eval: bool = False, budget: float = BUDGET) -> Examination:
    """Examine a reference, in about `budget` seconds; what did not fit in is said in the notes.

    A large reference is examined with a smaller batch, or scaled down where that is not enough; as it is where its
    values then do not go together any more. Raises TaskError.
    """
    start = time.monotonic()
    smaller, batched = scale.with_small_batch(source, name, _BATCHED)
    smaller, shrunk = scale.fitting(smaller, name, _AT_MOST)
    notes = tuple(f"Examined smaller than it is. {note}" for note in batched + shrunk)
    try:
        findings, probe = _examined(smaller, name, eval, start + budget)
    except TaskError:
        if smaller == source:
            raise
        notes, (findings, probe) = (), _examined(source, name, eval, time.monotonic() + budget)
    notes += tuple(probe.notes)
    if probe.skipped:
        notes += (f"Not examined within {budget:g} s: {', '.join(probe.skipped)}.",)
    seconds = time.monotonic() - start
    return Examination(name=Path(name).stem, findings=findings, notes=notes, seconds=seconds)


def _examined(source: str, name: str, eval: bool, deadline: float) -> tuple[tuple[Finding, ...], _Probe]:
    """What is found by a deadline, and who found it."""
    held = required(load.load_source(source, name, traced=True).with_plain_arguments(), eval=eval)
    probe = _Probe(load.load_source(source, name), held, eval, deadline)
    with quiet(), torch.no_grad():
        return tuple(probe.findings()), probe


class _Probe:
    """One reference with its draws and the outputs that it gave for them."""

    def __init__(self, reference: ReferenceModule, held: dict[int, Any], eval: bool, deadline: float) -> None:
        reference = replace(reference.with_plain_arguments(), held=held)
        places = complex_places(flat((), reference.inputs(_SEEDS[0])))
        self.reference = reference = replace(reference, pairs=places)
        self.eval = eval
        self.deadline = deadline
        self.keep_state = False
        self.skipped: list[str] = []
        self.notes: list[str] = []
        self.model = reference.model(_MODEL_SEED, eval=eval)
        self.inputs = [reference.inputs(seed) for seed in _SEEDS]
        self.outputs: list[Outputs] = []
        self.updated: list[int] | None = None  # which tensors among the arguments forward writes to

    def findings(self) -> Iterator[Finding]:
        """Run the probes, cheap and telling ones first."""
        first = self.call(self.model, self.inputs[0])
        self.outputs = [first]
        if not draws.finite(first):
            yield _finding("TK111", "The output has infinities or NaNs for the file's own inputs.")
            return
        if not same(first, self.call(self.model, self.inputs[0])):
            self.model = self.reference.model(_MODEL_SEED, eval=self.eval)
            self.keep_state = True
            if not same(first, self.call(self.model, self.inputs[0])):
                yield _finding("TK108", "The same call gives other values than before: they are random, or left unset.")
                self.notes.append("Nothing else was examined: a random output hides it.")
                return
            message = (
                "The reference is stateful: forward changes the module, and the same call then gives other values."
            )
            yield _finding("TK114", message, "warning")
        yield from self.within_budget("what passes without computing", self.trivial)
        if not _same_values(self.inputs[0], self.inputs[1]):
            yield from self.within_budget("the effect of each argument", self.arguments)
        else:
            yield _finding("TK113", "get_inputs gives the same values under every seed.", "warning")
        yield from self.within_budget("the effect of the weights", self.weights)
        yield from self.within_budget("training against eval mode", self.modes)

    def call(self, model: nn.Module, inputs: Sequence[Any]) -> Outputs:
        """Flat outputs, and after them what forward writes to arguments: to those that it wrote to in the first call.

        The inputs are copied therefore, and so is a module that it changes. Random numbers that a judge knows, since
        kernels draw the same, are the same in every call.
        """
        model = copy.deepcopy(model) if self.keep_state else model
        copies = transform(list(inputs), torch.clone)
        with load.blame(self.reference.name, "forward, given what get_inputs gives,"), drawn_from(_CALL_SEED):
            found = list(torch.utils._pytree.tree_leaves(model(*copies)))
        given = [value for value in flat((), copies) if isinstance(value, torch.Tensor)]
        if self.updated is None:
            self.updated = [place for place, value in enumerate(given) if value._version]
        return found + [given[place] for place in self.updated]

    def within_budget(self, what: str, probe: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
        if self.late:
            self.skipped.append(what)
        else:
            yield from probe()

    @property
    def late(self) -> bool:
        return time.monotonic() > self.deadline

    # --- what passes without computing -------------------------------------------------------------------

    def trivial(self) -> Iterator[Finding]:
        self.outputs += [self.call(self.model, values) for values in self.inputs[1:]]
        found = self.trivial_answer(None)
        if found:
            yield _finding(*found)
            return
        found = self.trivial_answer(1e-2)
        if found:
            yield _finding("TK112", f"At the tolerance of half precision, 1e-2: {found[1]}", "warning")
        yield from self.equal_along()

    def trivial_answer(self, tolerance: float | None) -> tuple[str, str] | None:
        """The least that passes for every draw: zeros, one number, or another draw's outputs."""
        guess, *judged = self.outputs
        size = max((float(o.abs().max()) for o in guess if _is_numeric(o)), default=0.0)
        if all(same([torch.zeros_like(o) for o in out], out, tolerance) for out in self.outputs):
            return "TK102", f"Zeros pass: no output is larger than {size:.1g}."
        if any(o.numel() > 1 for o in guess) and all(
            same([_level(g).expand_as(o) for g, o in zip(guess, out, strict=True)], out, tolerance)
            for out in self.outputs
        ):
            return "TK101", "One number passes for every element and every input."
        if not _same_values(self.inputs[0], self.inputs[1]) and all(same(guess, o, tolerance) for o in judged):
            return "TK103", "The outputs for other inputs pass: nothing shows that inputs are read."
        return None

    def equal_along(self) -> Iterator[Finding]:
        for i, output in enumerate(self.outputs[0]):
            for d in range(output.dim()):
                wide = output.shape[d] > 1 and output.is_floating_point()
                if wide and same([output.narrow(d, 0, 1).expand_as(output)], [output]):
                    where = f"Output {i}" if len(self.outputs[0]) > 1 else "The output"
                    yield _finding("TK110", f"{where} is the same all along dimension {d}.", "warning")

    # --- what has no effect ------------------------------------------------------------------------------

    def arguments(self) -> Iterator[Finding]:
        if len(self.inputs[0]) < 2 or len(self.outputs) < 2 or same(self.outputs[0], self.outputs[1]):
            return
        names = self.reference.argument_names(self.inputs[0])
        for i, name in enumerate(names):
            mixed = [*self.inputs[0]]
            mixed[i] = self.inputs[1][i]
            if not _same_values([mixed[i]], [self.inputs[0][i]]) and same(
                self.outputs[0], self.call(self.model, mixed)
            ):
                yield _finding("TK104", f"The argument {name} has no effect: another draw of it gives the same output.")

    def weights(self) -> Iterator[Finding]:
        parameters = dict(self.model.named_parameters())
        uniform = [n for n, p in parameters.items() if p.numel() > 1 and bool((p == p.flatten()[0]).all())]
        if uniform:
            yield _finding(
                "TK107",
                f"Parameters that are one number as initialised: {_listed(uniform)}; a kernel that ignores "
                "them passes, unless they are drawn anew.",
                "warning",
            )
        if not parameters:
            return
        drawn = draws.redraw_state(self.model, _MODEL_SEED + 1)
        other = self.reference.model(_MODEL_SEED, eval=self.eval)
        original = {n: v.clone() for n, v in other.state_dict().items()}
        other.load_state_dict(drawn)
        if same(self.outputs[0], self.call(other, self.inputs[0])):
            yield _finding("TK105", "The weights have no effect: other weights give the same outputs.")
            return
        dead = []
        for name in parameters:
            if self.late:
                self.skipped.append(f"the effect of {name} and what follows it")
                break
            other.load_state_dict({**original, name: drawn[name]})
            if same(self.outputs[0], self.call(other, self.inputs[0])):
                dead.append(name)
        if dead:
            yield _finding("TK106", f"Parameters without effect on the output: {_listed(dead)}.")

    def modes(self) -> Iterator[Finding]:
        other = self.reference.model(_MODEL_SEED).train(not self.model.training)
        if not same(self.outputs[0], self.call(other, self.inputs[0])):
            mode = "training" if self.model.training else "eval"
            parts = sorted({type(m).__name__ for m in other.modules() if _has_modes(m)})
            because = f" ({', '.join(parts)})" if parts else ""
            yield _finding(
                "TK109", f"Training and eval mode differ{because}; the task is taken in {mode} mode.", "warning"
            )


# --- comparing -------------------------------------------------------------------------------------------


def same(first: Outputs, second: Outputs, tolerance: float | None = None) -> bool:
    """Whether `first` passes for `second` at KernelBench's tolerance, or at one given; integers exactly."""
    for a, b in zip(first, second, strict=True):
        if not isinstance(b, torch.Tensor):
            if a != b:
                return False
            continue
        if a.shape != b.shape:
            return False
        if not b.is_floating_point():
            passes = torch.equal(a, b)
        else:
            limit = tolerance or (1e-2 if b.dtype in (torch.float16, torch.bfloat16) else 1e-4)
            passes = torch.allclose(a.to(b.dtype), b, rtol=limit, atol=limit, equal_nan=True)
        if not passes:
            return False
    return True


def _same_values(first: Sequence[Any], second: Sequence[Any]) -> bool:
    one, other = flat((), first), flat((), second)
    return all(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in zip(one, other, strict=True))


def _level(output: torch.Tensor) -> torch.Tensor:
    """The number that stands for all of an output best: the middle of its range."""
    if not output.numel():
        return output.new_zeros(())
    if not output.is_floating_point():
        return output.flatten()[0]
    low, high = output.aminmax()
    return (low + high) / 2


def _is_numeric(output: Any) -> bool:
    return isinstance(output, torch.Tensor) and output.dtype != torch.bool and output.numel() > 0


def _has_modes(module: nn.Module) -> bool:
    return isinstance(module, (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)) or (
        isinstance(module, nn.modules.instancenorm._InstanceNorm) and module.track_running_stats
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:5])} and {len(names) - 5} others"


def _finding(code: str, message: str, severity: Literal["error", "warning"] = "error") -> Finding:
    return Finding(code=code, message=message, severity=severity)

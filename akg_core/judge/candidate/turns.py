"""Calls of a model that are timed from outside, in turns: the part that is done in the candidate's own process.

Nothing here decides or measures anything: see `akg_core.worker.timekeeper`, which also says what a turn is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from akg_core.judge.candidate.holdings import entries
from akg_core.judge.candidate.timed_model import inputs_of
from akg_core.judge.compare.bits import flatten
from akg_core.judge.reference.memory import keep_freed
from akg_core.records import Case, TimingPlan
from akg_core.seeds import following
from akg_core.task.arguments import flat
from akg_core.worker.answers import described
from akg_core.worker.tensors import fresh, load, span
from akg_core.worker.timekeeper import END, GO, Turns

_KEPT_BYTES = 256 << 20  # of inputs and answers, up to which memory that is freed is kept for what comes next

# Held since before a kernel was loaded.
_address, _strides = torch.Tensor.data_ptr, torch.Tensor.stride
_shape = vars(torch._C.TensorBase)["shape"].__get__
_sets: dict[tuple[int, Any, Any], list[list[Any]]] = {}


def take_turns(subject: Any, case: Case, plan: TimingPlan, turns: Turns) -> None:
    """Call the subject's model when the clock outside says so, each time on memory of its own.

    Without samples it is called once, so that it is warm.
    """
    state = subject.enter(case)
    called = _called(subject.model, entries(subject.model, case.left))
    sets = _memory(subject, case, plan.calls)
    answer = described(called(sets[0]))
    if not plan.samples:
        return
    words = _words(answer, plan.sized)
    turns.ready([[_address(tensor) for tensor in _tensors(one)] for one in sets], answer)
    results: list[Any] = []
    seed = next(iter(case.seeds), 0)
    while (told := _next(turns, case, seed)) != END:
        results.clear()
        if told == GO:
            results += [called(given) for given in sets]
            seed = following(seed, len(sets))
            turns.done([word for result in results for word in words(result)])
        else:
            called(sets[0])
            if state:
                subject.enter(case)
            turns.done()


def _called(model: Any, left: Sequence[tuple[Mapping[str, Any], str]]) -> Callable[[list[Any]], Any]:
    """From arguments to what the model gives, beside which stands what it then holds where it leaves something."""
    if not left:
        return lambda given: model(*given)
    return lambda given: (model(*given), [holder[key] for holder, key in left])


def _next(turns: Turns, case: Case, seed: int) -> bytes:
    """What is to be done next, with torch's generator of the host set to a seed where forward draws."""
    if case.seeds:
        torch.default_generator.manual_seed(seed)
    return turns.next()


def _memory(subject: Any, case: Case, calls: int) -> list[list[Any]]:
    """Inputs for so many calls, of one case at a time."""
    key = (id(subject), case.inputs, case.state)
    if key not in _sets:
        _sets.clear()
    sets = _sets.setdefault(key, [])
    if len(sets) < calls:
        given = load(inputs_of(case), subject.device)
        sets += [fresh(given) for _ in range(calls - len(sets))]
        if calls * sum(span(each) * each.element_size() for each in _tensors(given)) < _KEPT_BYTES:
            keep_freed()
    return sets[:calls]


def _tensors(arguments: list[Any]) -> Iterator[torch.Tensor]:
    return (value for value in flat((), arguments) if isinstance(value, torch.Tensor))


def _words(answer: dict[str, Any], sized: Sequence[int]) -> Callable[[Any], list[int]]:
    """From an answer like this one to where its tensors lie, soon, and the sizes of those that are `sized`.

    As `akg_core.worker.kept_answers` reads them.
    """
    if answer["tree"] == {"tensor": 0} and not sized:
        return lambda result: [_address(result)]
    if not sized:
        return lambda result: [_address(leaf) for leaf in _leaves(result)]
    dims = [len(tensor["shape"]) if number in sized else 0 for number, tensor in enumerate(answer["tensors"])]
    return lambda result: [
        word
        for leaf, count in zip(_leaves(result), dims, strict=True)
        for word in (_address(leaf), *_size(leaf, count))
    ]


def _leaves(result: Any) -> list[torch.Tensor]:
    return [leaf for leaf in flatten(result).values() if isinstance(leaf, torch.Tensor)]


def _size(tensor: torch.Tensor, dims: int) -> list[int]:
    """Shape and strides, with so many of each."""
    return [size for sizes in (_shape(tensor), _strides(tensor)) for size in (*sizes, *[0] * dims)[:dims]]

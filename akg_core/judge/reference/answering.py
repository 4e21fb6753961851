"""What the reference answers on a case: by eager PyTorch, and in float64.

Worker side, in the reference process. An answer stays in the process's memory, or is made again when it is asked for.
"""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from akg_core.device import HOST, Device
from akg_core.errors import OutOfMemory
from akg_core.judge.compare.bits import named, same_bits
from akg_core.judge.compare.case import Expected, alike, flatten
from akg_core.judge.compare.sharing import peculiar, places, shared
from akg_core.judge.compare.ties import Tie, searched, ties
from akg_core.judge.records import Draw
from akg_core.judge.reference.by_rows import NotApart, parts
from akg_core.judge.reference.drawing import Reference, State, drawn, every, state_of
from akg_core.judge.reference.host_checks import checked
from akg_core.judge.reference.locality import Locality
from akg_core.judge.reference.memory import is_kept, nbytes
from akg_core.judge.reference.memory_estimate import await_room, bytes_to_answer
from akg_core.judge.reference.precise import double_model, doubled, in_double, is_of_dtypes
from akg_core.judge.reference.steps import Decided, Steps, has_steps
from akg_core.judge.reference.tie_order import TieOrder, leaves_open, one_after_another, open_to_ties, runs, writes_open
from akg_core.judge.reference.updates import touched
from akg_core.seeds import GENERATOR, following
from akg_core.task.graph import counts, fixed, random_nodes, size, sums
from akg_core.task.randomness import drawn_from
from akg_core.task.source.load import blame, sentence
from akg_core.worker.tensors import fresh
from akg_core.worker.threads import spin_little_beside_others, threads
from akg_core.worker.usage import cores


def answer_case(reference: Reference, draw: Draw, inputs: list[Any], state: State, precise: bool = True) -> None:
    """Run the reference on a case, by eager PyTorch and when `precise` in float64, and keep what comes out."""
    spin_little_beside_others()
    arguments = fresh(inputs)

    def eagerly(given: list[Any]) -> tuple[float, Any]:
        reference.restore(state)
        with torch.no_grad(), seeded(reference, draw), checked(reference.device.name):
            return reference.device.seconds(functools.partial(reference.model, *given))

    def exactly() -> dict[str, Any] | None:
        return _precise(reference, draw, inputs, state, result, left)

    def again() -> tuple[float, Any]:
        return eagerly(fresh(inputs))

    reference.eager_seconds, answer = eagerly(arguments)
    result = flatten(fresh(answer))
    after = named(arguments, state_of(reference.model, reference.task.interface))
    shares = _shares(flatten(answer), named(arguments, every(reference.model)), reference.device.name)
    left, kept = touched(named(inputs, state), after, reference.task.interface, arguments)
    if draw.case.seeds:
        left[GENERATOR] = torch.tensor(following(draw.case.seeds[0]), device=reference.device.name)
    del answer, arguments, after
    exact = None
    if precise:
        _, exact = reference.device.seconds(exactly)
    if exact is not None:
        exact = {name: exact[name] for name in (*result, *left) if name in exact}
    pointed = ties(result, again, exactly if exact is not None else None)
    unsettled = dict[str, torch.Tensor]()
    if leaves_open(reference.task.graph):
        unsettled = _open(reference, draw, result | left, again, pointed, exactly if exact is not None else None)
    paths = [*result]
    sized = frozenset(paths[at] for at in counts(reference.task.graph))
    reference.expected[draw.name] = Expected(
        result,
        left,
        exact,
        pointed,
        kept,
        unsettled,
        shares,
        sized,
        has_steps=has_steps(reference.task),
        summed=frozenset(paths[at] for at in sums(reference.task.graph) if at < len(paths)),
    )


def _shares(answer: dict[str, Any], given: dict[str, Any], device: str) -> list[list[str]] | None:
    """In whose memory an answer lies; None where that cannot be told, for it is no plain memory."""
    with contextlib.suppress(TypeError):
        return shared(places(answer), places(given)) + peculiar(answer, device)
    return None


def _open(
    reference: Reference,
    draw: Draw,
    result: dict[str, Any],
    again: Callable[[], tuple[float, Any]],
    pointed: Mapping[str, Tie],
    exactly: Callable[[], dict[str, Any] | None] | None,
) -> dict[str, torch.Tensor]:
    """Elements, of what the call leaves in the state too, that depend on which of equal values comes first. Indices
    that are `pointed` are judged by the values, and depend on it where these do. Others are whole numbers made of
    indices, of which values that are equal in float64 alone are asked as well."""

    def outcome() -> dict[str, Any]:
        answer = dict[str, Any]()
        values = searched(lambda: answer.update(flatten(fresh(again()[1]))), pointed)
        answer |= named([], fresh(state_of(reference.model, reference.task.interface)))
        return {name: each for name, each in answer.items() if name not in pointed} | values

    due = {name: pointed[name].values if name in pointed else each for name, each in result.items()}
    found = open_to_ties([due, *runs(outcome)])
    whole = [name for name, each in due.items() if name not in pointed and _is_whole(each)]
    if whole and exactly:
        precise = runs(lambda: {name: each for name, each in (exactly() or {}).items() if name in whole})
        for name, places in open_to_ties(precise).items():
            found[name] = found[name] | places if name in found else places
    found |= {name: tie.rows(found[name]).reshape(result[name].shape) for name, tie in pointed.items() if name in found}
    if found:
        reference.unsettled[draw.name] = max(float(where.double().mean()) for where in found.values())
    return found


def _is_whole(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and not (leaf.is_floating_point() or leaf.is_complex())


def expected_of(reference: Reference, draw: Draw, precise: bool = True) -> Expected:
    """The answer to a case: the one that is kept, or made again; in float64, too, when `precise`."""
    known = reference.expected.get(draw.name)
    if known is None or (precise and known.exact is None and not reference.narrow):
        del known  # and what is kept of it, before more is made
        reference.expected.pop(draw.name, None)
        await_room(reference.device, bytes_to_answer(reference.task))
        with threads(cores()):
            answer_case(reference, draw, *drawn(reference, draw), precise=precise)
    return reference.expected[draw.name]


def forget_large(reference: Reference, name: str) -> None:
    """Give up an answer that is not to be kept."""
    if name in reference.expected and not is_kept(reference.expected[name], reference.device):
        forget(reference, name)


def forget(reference: Reference, name: str) -> None:
    """Give up an answer, which is made again when it is compared."""
    for known in (reference.expected, reference.noise, reference.runs):
        known.pop(name, None)
    reference.decided = None
    gc.collect()  # what lies in cycles holds memory until then


def _precise(
    reference: Reference, draw: Draw, inputs: list[Any], state: State, result: dict[str, Any], changed: dict[str, Any]
) -> dict[str, Any] | None:
    """What `answer_in_double` says; by parts of rows, where a device has too little memory for all beside `result`."""
    is_short = reference.device.free_bytes() < bytes_to_answer(reference.task)
    if not (is_short and reference.local.depth):
        with contextlib.suppress(OutOfMemory):
            return answer_in_double(reference, draw, inputs, state)
    reference.device.release_unused()
    found, cut = dict[str, Any](), of_inputs(reference, result)

    def eagerly(given: list[Any]) -> dict[str, Any]:
        reference.restore(state)
        with torch.no_grad(), _disable_current_modes():  # equal values come in the order that they have in `result`
            return flatten(reference.model(*fresh(given)))

    with contextlib.suppress(NotApart):
        for rows, given in parts(separable(reference, changed), inputs, 2 * nbytes(cut.values()), eagerly, cut):
            exact = answer_in_double(reference, draw, given, state)
            if exact is None:
                return None
            for name, due in cut.items():
                if name not in found:
                    wide = torch.float64 if due.is_floating_point() else due.dtype
                    found[name] = torch.empty(due.shape, dtype=wide, device=due.device)
                found[name][rows] = exact[name]
        return result | found
    found.clear()
    return answer_in_double(reference, draw, inputs, state)


def answer_in_double(
    reference: Reference, draw: Draw, inputs: list[Any], state: State, noise: float = 0.0, seed: int = 0
) -> dict[str, Any] | None:
    """Outputs, arguments and state after a call in float64, with noise when asked; None when it does not run so.

    With noise, the first of equal values comes first in some runs, and the last in others: what is too small to be told
    apart is equal there.

    Raises TaskError when it fails there for another reason than its dtypes.
    """
    decided = _decided(reference, draw, inputs, state) if noise and has_steps(reference.task) else ()
    reference.restore(state)
    ordered = (
        TieOrder(last=seed // 2 % 2 > 0) if noise and leaves_open(reference.task.graph) else contextlib.nullcontext()
    )
    try:
        with in_double(noise, seed, held=reference.held, decided=decided), ordered:  # copies made inside carry noise
            model = double_model(reference.model)
            arguments = doubled(inputs)
            with seeded(reference, draw, compared=False):
                result = flatten(model(*arguments))
    except Exception as error:
        if is_of_dtypes(error, reference.module):
            reference.narrow = sentence(error)
            return None
        with blame(reference.task.name, "forward, run in float64,"):
            raise
    return result | named(arguments, state_of(model, reference.task.interface))


def _decided(reference: Reference, draw: Draw, inputs: list[Any], state: State) -> Decided:
    """The steps of a run that no rounding decides, by one of eager's and one in float64; those asked for last are
    kept."""
    if not (reference.decided and reference.decided[0] == draw.name and reference.decided[1] is inputs):
        reference.restore(state)
        with torch.no_grad(), seeded(reference, draw), Steps() as eager:
            reference.model(*fresh(inputs))
        reference.restore(state)
        with in_double(held=reference.held):
            model, arguments = double_model(reference.model), doubled(inputs)
            with seeded(reference, draw, compared=False), Steps(eager) as exact:
                model(*arguments)
        reference.decided = (draw.name, inputs, exact.decided)
    return reference.decided[2]


@contextlib.contextmanager
def seeded(reference: Reference, draw: Draw, *, compared: bool = True, other: int = 0) -> Iterator[None]:
    """Inside, a reference draws the random numbers of a case, and what is not known of them from `other` than its seed.

    Of several writes to one place the last stays, so that two runs give the same.

    Its operators must draw as the captured graph has them, and PyTorch as we do; if not, nothing can be judged.
    """
    _seed(reference.device, draw.seed + other)
    in_order = one_after_another() if writes_open(reference.task.graph) else contextlib.nullcontext()
    if not draw.case.seeds:
        with in_order:
            yield
        return
    with in_order, drawn_from(draw.case.seeds[0], compared) as drawing:
        yield
    symbols = reference.task.symbols | draw.sizes
    due = [tuple(size(dim, symbols) for dim in node.shapes[0]) for node in random_nodes(reference.task.graph)]
    if drawing.shapes != due:
        reference.draws_otherwise = f"it draws {len(drawing.shapes)} times, in other shapes than its captured graph"
    reference.draws_otherwise = reference.draws_otherwise or drawing.odd


def _seed(device: Device, seed: int) -> None:
    """What `torch.manual_seed` does for the host and this device; for all others that takes a millisecond."""
    torch.default_generator.manual_seed(seed)
    if device.name != HOST.name:
        torch.get_device_module(device.name).manual_seed_all(seed)


def of_inputs(reference: Reference, leaves: dict[str, Any]) -> dict[str, Any]:
    """Those leaves of an answer that inputs go into, and floats: whole numbers of sizes alone are the same in float64,
    and others of some rows."""
    numbers = fixed(reference.task.graph)
    return {name: leaf for at, (name, leaf) in enumerate(leaves.items()) if at not in numbers or not _is_whole(leaf)}


def separable(reference: Reference, changed: dict[str, Any]) -> Locality:
    """The rows that a run may be cut into: none where a call leaves something behind."""
    return Locality() if changed else reference.local


def is_random(reference: Reference, draw: Draw, inputs: list[Any], state: State) -> bool:
    """Whether another seed of torch gives another answer to the same inputs."""
    reference.restore(state)
    arguments = fresh(inputs)
    with torch.no_grad(), seeded(reference, draw, other=1):
        seconds, answer = reference.device.seconds(lambda: reference.model(*arguments))
    reference.eager_seconds = min(reference.eager_seconds, seconds)
    first, other = reference.expected[draw.name].result, flatten(fresh(answer))
    if reference.draws_otherwise:
        return True
    return not same_bits(first, other) and not alike(first, other)

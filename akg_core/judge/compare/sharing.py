"""In whose memory an answer lies: a tensor of its own, that of an input, of the state, or of another answer.

A user who writes to an answer, or to an input later, changes what shares its memory. So an answer shares it only where
the reference's does, and lies on another device, asks for gradients or is a parameter only where that does or is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from akg_core.judge.compare.bits import flatten
from akg_core.records import HOST
from akg_core.worker.answers import described

_HELD_BYTES = 64 << 20
EARLIER = "an earlier answer"
_ELSEWHERE, _PARAMETER, _DIFFERENTIATED = "lies on another device", "is a parameter", "asks for gradients"
_INFERENCE = "was made in inference mode, so that no gradient goes through it"
_uses: Callable[[int], int] | None = getattr(torch._C, "_storage_Use_Count", None)

Place = tuple[str, int, int]
"""A name, the first byte, and the first one behind."""


def places(tensors: Mapping[str, Any]) -> list[Place]:
    """Where tensors lie, each under its name; other values have no place. They are read as `described` reads them."""
    named = {name: value for name, value in tensors.items() if isinstance(value, torch.Tensor)}
    table = described(list(named.values()))["tensors"]
    return [(name, told["address"], told["address"] + told["nbytes"]) for name, told in zip(named, table, strict=True)]


def shared(answer: Iterable[Place], named: Iterable[Place], earlier: Iterable[Place] = ()) -> list[list[str]]:
    """Which tensors of an answer lie in whose memory: pairs of names, of an output and of what it shares with.

    `named`: arguments and state. `earlier`: answers that are still held.
    """
    others, found = list(named), list[list[str]]()
    held = [(EARLIER, begin, end) for _, begin, end in earlier]
    for name, begin, end in answer:
        here = [[name, other] for other, first, behind in others if begin < behind and first < end]
        if not here:  # else earlier answers may lie in the state as well
            here = [[name, other] for other, first, behind in held if begin < behind and first < end][:1]
        found += here
        others.append((name, begin, end))
    return found


def peculiar(tensors: Mapping[str, Any], device: str) -> list[list[str]]:
    """What tensors are beside plain ones on a device, by torch's name of it, as pairs like those of `shared`."""
    found = {name: value for name, value in tensors.items() if isinstance(value, torch.Tensor)}
    asked = {
        _ELSEWHERE: lambda value: value.device.type != device,
        _PARAMETER: lambda value: type(value) is torch.nn.Parameter,
        _DIFFERENTIATED: lambda value: value.requires_grad,
        _INFERENCE: lambda value: value.is_inference(),
    }
    return [[name, what] for name, value in found.items() for what, ask in asked.items() if ask(value)]


def unwanted(mine: Iterable[tuple[str, str]], due: Iterable[Sequence[str]]) -> tuple[str, str] | None:
    """The first output that shares memory which it must not, or is peculiar, and how; None when there is none."""
    known = set(map(tuple, due))
    for name, what in mine:
        if (name, what) not in known:
            is_told = what in (_ELSEWHERE, _PARAMETER, _DIFFERENTIATED, _INFERENCE)
            return name, f"it {what}" if is_told else f"it lies in the memory of {what}"
    return None


class Earlier:
    """Answers that are held while later ones are made, so that their memory is nobody's else: where they lie.

    Where they are large, only those that whoever made them holds as well.
    """

    def __init__(self) -> None:
        self._held: list[tuple[list[torch.Tensor], list[Place]]] = []

    @property
    def places(self) -> list[Place]:
        return [place for _, found in self._held for place in found]

    def take(self, answer: Any) -> None:
        """Hold an answer, too."""
        leaves = flatten(answer)
        tensors = [value.detach() for value in leaves.values() if isinstance(value, torch.Tensor)]
        self._held.append((tensors, places(leaves)))

    def kept(self, others: Sequence[torch.Tensor]) -> int:
        """At how many places of torch's memory there are answers that somebody else holds as well, but for the memory
        of `others`."""
        pairs = (pair for each in self._held for pair in zip(*each, strict=True))
        held = [(tensor.untyped_storage()._cdata, place) for tensor, place in pairs]
        storages = [storage for storage, _ in held]
        known = {tensor.untyped_storage()._cdata for tensor in others}
        used = {storage for storage in {*storages} - known if _is_used(storage, storages)}
        return len({place[1:] for storage, place in held if storage in used})

    @property
    def is_foreign(self) -> bool:
        """Whether there are answers in memory that torch did not allocate, of which it cannot tell who holds it."""
        return any(_is_foreign(tensor) for tensors, _ in self._held for tensor in tensors)

    def let_go(self) -> None:
        """Hold no longer what takes much memory, unless somebody else does."""
        kept, size = list[tuple[list[torch.Tensor], list[Place]]](), 0
        for tensors, found in reversed(self._held):
            size += sum(end - begin for _, begin, end in found)
            if size <= _HELD_BYTES or is_held_elsewhere(tensors):
                kept.insert(0, (tensors, found))
        self._held = kept


def is_held_elsewhere(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether somebody else than whoever holds these tensors holds any of their memory, as far as that can be told.

    Who has given torch memory that is not its own (a storage that cannot grow) may hold it.
    """
    if any(map(_is_foreign, tensors)):
        return True
    storages = [tensor.untyped_storage()._cdata for tensor in tensors]
    return any(_is_used(storage, storages) for storage in storages)


def _is_foreign(tensor: torch.Tensor) -> bool:
    """Whether a tensor of the host's lies in memory that torch was given."""
    return tensor.device.type == HOST and not tensor.untyped_storage().resizable()


def _is_used(storage: int, storages: Sequence[int]) -> bool:
    """Whether a storage, which tensors of ours hold as often as it is among these, is held by others."""
    return _uses is not None and _uses(storage) > storages.count(storage) + 1  # and by who asks

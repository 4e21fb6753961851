"""What is said of a task beside its graph: what a kernel of it refuses, what stays as it is, what forward does besides.

Worker side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from akg_core.records import Argument, Graph, Interface
from akg_core.task.arguments import flat
from akg_core.task.export.example import Example
from akg_core.task.graph import random_nodes, spelled
from akg_core.task.source.load import ReferenceModule

_LONGEST = 60  # characters of a value in a note
_SHOWN = 6  # names in a note, before the others are counted


def guarded(interface: Interface) -> Iterator[str]:
    """What is said of the sizes and of the floats that a kernel refuses; of many conditions the shortest."""
    for what, conditions in (("sizes", interface.guards), ("arguments", interface.asked)):
        said = [each.removeprefix("(").removesuffix(")") for each in conditions[:_SHOWN]]
        more = [f"and {len(conditions) - _SHOWN} more"] if len(conditions) > _SHOWN else []
        if conditions:
            yield f"A kernel refuses {what} unless {'; '.join([*said, *more])}: there forward is another."


def redrawn(reference: ReferenceModule, interface: Interface) -> Iterator[str]:
    """What is said of arguments that are held, where get_inputs gives others each time."""
    first, other = (flat(interface.arguments, reference.inputs(seed)) for seed in (0, 1))
    for argument, one, two in zip(interface.arguments, first, other, strict=True):
        if argument.is_held and not torch.equal(one, two):
            name = spelled(argument.path or (argument.name,))
            yield f"get_inputs draws {name} anew each time, so that a kernel refuses most of its draws."


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def notes_of(example: Example, arguments: Sequence[Argument], graph: Graph, vary: bool) -> list[str]:
    """What a user should know of a graph, of which sizes vary or could not."""
    notes = []
    if any(example.varying) and not vary:
        notes.append("The sizes were captured as they are: tracing with varying sizes failed.")
    elif vary:
        for argument, varying in zip(arguments, example.varying, strict=True):
            for d in sorted(varying) if argument.kind == "tensor" else ():
                if isinstance(argument.shape[d], int):
                    notes.append(f"Dimension {d} of {argument.name} stays {argument.shape[d]}: forward depends on it.")
    notes += [
        f"The argument {spelled(leaf.path)} is fixed to {leaf.value!r}."
        for leaf, a in zip(example.leaves, arguments, strict=True)
        if a.kind == "constant" and a.given
    ]
    notes += [
        f"Sizes follow from what {spelled(a.path or (a.name,))} holds: kernels are for {_brief(a.value)} alone."
        for a in arguments
        if a.is_held
    ]
    for node in random_nodes(graph):
        notes.append(
            f"forward draws random numbers with {node.wrote or node.op}" + (f" ({node.where})." if node.where else ".")
        )
    if updated := [*graph.mutations, *(spelled(a.path or (a.name,)) for a in arguments if a.mutated)]:
        more = [f"and {len(updated) - _SHOWN} others"] if len(updated) > _SHOWN + 1 else updated[_SHOWN:]
        notes.append(f"forward updates {', '.join([*updated[:_SHOWN], *more])}.")
    return notes

"""The cases that a file itself asks for, the entries of `get_inputs_dyn_list`: their sizes, in the names of those that
vary, and which of them the graph is not for.

Worker side only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from akg_core.records import Argument, Interface
from akg_core.task.arguments import portable
from akg_core.task.export.ranks import lacking, led, without
from akg_core.task.graph import answers, is_for, size


def cases_of(
    entries: Iterable[Sequence[Any]], symbols: Mapping[str, int], interface: Interface
) -> tuple[tuple[dict[str, int], ...], tuple[int, ...]]:
    """The sizes that the `entries`, with a value for each argument, have as far as `symbols` names them, each once;
    and the numbers of the entries for which the graph does not hold: another size, another constant, a guard, or what
    was asked of floats."""
    found, refused = [], []
    for number, entry in enumerate(entries):
        values = entry
        arguments, case = interface.arguments, dict(symbols)
        if (absent := lacking(arguments, values)) in interface.absent:
            case, values = without(arguments, symbols, absent), led(arguments, values, absent)
        pairs = [*zip(arguments, values, strict=False)]
        for argument, value in pairs:
            if isinstance(value, torch.Tensor):
                dims = zip(argument.shape, value.shape, strict=False)
                case |= {dim: int(length) for dim, length in dims if isinstance(dim, str) and dim in symbols}
            elif argument.kind == "size" and type(value) is int:
                case |= {str(dim): value for dim in argument.shape if dim in symbols}
        found.append(case)
        meets = is_for(interface, case) and answers(interface, values)
        if not (meets and all(_suits(argument, value, case) for argument, value in pairs)):
            refused.append(number)
    return tuple(case for place, case in enumerate(found) if case not in found[:place]), tuple(refused)


def _suits(argument: Argument, value: Any, case: dict[str, int]) -> bool:
    """Whether an argument may be this value, where `case` gives the sizes that vary."""
    if argument.kind == "tensor":
        shape = tuple(size(dim, case) for dim in argument.shape)
        suits = isinstance(value, torch.Tensor) and tuple(value.shape) == shape
        return suits and (not argument.is_held or value.tolist() == argument.value)
    if argument.kind == "size":
        return type(value) is int and value == size(argument.shape[0], case)
    return argument.kind != "constant" or argument.value == portable(value)


def refusing(refused: int, entries: int) -> tuple[str, ...]:
    """What is said of entries for which the graph does not hold."""
    return (f"Of {entries} cases that get_inputs_dyn_list has, it refuses {refused}.",) if refused else ()

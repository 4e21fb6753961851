"""Other values of the arguments that are Python's own numbers, or tensors by whose content sizes are chosen: a kernel
that has the file's built in is wrong there.

A kernel is made for the numbers that the file gives. At others it may refuse, by an exception, or be right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from akg_core.records import Task
from akg_core.task import arguments

_MOST = 3  # arguments of which another value is asked


def other_numbers(task: Task) -> list[dict[str, Any]]:
    """One other value for each of the first arguments that are whole numbers, flags, or lists of such, or hold them."""
    constants = [a for a in task.interface.arguments if a.is_held or (a.kind == "constant" and a.given)]
    found = [{a.name: other} for a in constants if (other := _other(a.value)) is not None]
    return found[:_MOST]


def given_numbers(task: Task, inputs: Sequence[Any], numbers: Mapping[str, Any]) -> list[Any]:
    """Arguments of `forward` with these values."""
    values = arguments.flat(task.interface.arguments, inputs)
    for place, argument in enumerate(task.interface.arguments):
        if argument.name in numbers:
            other = numbers[argument.name]
            values[place] = arguments.filled(values[place], other) if argument.is_held else other
    return arguments.rebuilt(inputs, values)


def _other(value: Any) -> Any:
    """Another flag, or a number nearby, towards zero: what is a place or a size stays one; None for what is neither."""
    if type(value) is bool:
        return not value
    if type(value) is int:
        return value - 1 if value else 1
    if type(value) in (list, tuple) and value and (first := _other(value[0])) is not None:
        return type(value)((first, *value[1:]))
    return None

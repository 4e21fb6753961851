"""Sizes at and beyond what a captured graph assumes of them: where a kernel that does not look is wrong unnoticed.

A size within is one at which every guard of the interface holds. Beyond one, a kernel must refuse, or be right. So it
must where one dimension alone is 1, along which eager PyTorch may broadcast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from akg_core.records import Interface, Task
from akg_core.task.graph import holds, is_for, size

_NEAR = 32  # how far from a size one is looked for at which the graph holds
_MOST = 6  # sizes beyond guards


def place(argument: str, dim: int) -> str:
    """How a size that one dimension of one argument has for itself is named, in place of what its shape says."""
    return f"{argument}[{dim}]"


def is_beyond(interface: Interface, sizes: Mapping[str, int]) -> bool:
    """Whether the captured graph says nothing of these sizes."""
    symbols = {name: value for name, value in sizes.items() if name.isidentifier()}
    return len(symbols) < len(sizes) or not is_for(interface, symbols)


def within(task: Task, sizes: dict[str, int]) -> dict[str, int] | None:
    """The sizes, or some near them, at which the graph holds; None where there are none so near."""
    guards = task.interface.guards
    named = [name for name in sizes if any(name in _names(guard) for guard in guards)]
    for near in _steps(sizes, named):
        if holds(guards, near):
            return near
    return None


def edges(task: Task) -> list[dict[str, int]]:
    """For guards one after the other the nearest sizes beyond, and the last within; then dimensions of 1 alone."""
    found: list[dict[str, int]] = []
    for guard in task.interface.guards:
        for name in _names(guard):
            for value in _around(guard, task.symbols[name]):
                sizes = {**task.symbols, name: value}
                if not holds((guard,), sizes) and _exists(task.interface, sizes):
                    found.append(sizes)
                    break
    found = [sizes for i, sizes in enumerate(found) if sizes not in found[:i]][:_MOST]
    for beyond in found[:]:
        (name,) = (name for name in beyond if beyond[name] != task.symbols[name])
        step = 1 if task.symbols[name] > beyond[name] else -1
        last = next((v for v in range(beyond[name], task.symbols[name], step) if _holds(task, name, v)), None)
        if last is not None and {**beyond, name: last} not in found:
            found.append({**beyond, name: last})
    return found + list(_alone(task))


def _alone(task: Task) -> Iterator[dict[str, int]]:
    """A size that others decide, 1 in one dimension alone."""
    seen: set[str] = set()
    for argument in task.interface.arguments:
        for dim, text in enumerate(argument.shape if argument.kind == "tensor" else ()):
            follows = isinstance(text, str) and (text in seen or not text.isidentifier())
            if follows and size(text, task.symbols) > 1:
                yield {**task.symbols, place(argument.name, dim): 1}
                return
            seen.add(str(text))


def _holds(task: Task, name: str, value: int) -> bool:
    return holds(task.interface.guards, {**task.symbols, name: value})


def _around(guard: str, example: int) -> list[int]:
    """Values to try for a size, those near its example first: most guards are broken by one more, or by a bound."""
    numbers = sorted({int(number) for number in re.findall(r"\b\d+", guard)})
    bounds = [n + step for n in numbers for step in (-1, 0, 1)]
    return [v for v in (example + 1, example - 1, *bounds, 1, 2 * example, example // 2) if 0 < v <= 4 * example + 64]


def _exists(interface: Interface, sizes: dict[str, int]) -> bool:
    """Whether every dimension of the arguments is a size there."""
    dims = (dim for argument in interface.arguments for dim in argument.shape)
    return all(size(dim, sizes) >= 1 for dim in dims)


def _steps(sizes: dict[str, int], named: list[str]) -> Iterator[dict[str, int]]:
    """The sizes themselves, and others ever farther away, upwards and downwards, one at a time and all together."""
    yield sizes
    for distance in range(1, _NEAR):
        for sign in (1, -1):
            for group in (*([name] for name in named), named):
                yield {**sizes, **{name: max(1, sizes[name] + sign * distance) for name in group}}


def _names(guard: str) -> list[str]:
    return [*dict.fromkeys(re.findall(r"\bs\d+\b", guard))]

"""Sizes of a dynamic task that its file does not show."""

from __future__ import annotations

import random
from collections.abc import Callable

from akg_core.records import Task
from akg_core.task.inputs import edges


def hidden_sizes(task: Task, seed: int = 0) -> list[dict[str, int]]:
    """Values of a dynamic task's symbols other than its example, in the order in which to try them.

    Odd sizes, sizes next to the example's, multiples that keep divisibility, a tiny one, a power of two, larger ones
    than a kernel may have made room for, and for the first symbol alone one that 16 bits do not hold. Some may not suit
    the reference; the caller keeps those that run. Empty for a task of fixed sizes.
    """
    if not task.symbols:
        return []
    draw = random.Random(seed)
    changes: tuple[Callable[[int], int], ...] = (
        lambda v: max(2, int(v * draw.uniform(0.3, 0.9)) | 1),
        lambda v: v + 1,
        lambda v: max(2, v // 2),
        lambda v: 3,
        lambda v: 1 << v.bit_length(),
        lambda v: 4 * v + 3,
    )
    changed = [{name: change(value) for name, value in task.symbols.items()} for change in changes]
    first = next(iter(task.symbols))
    changed.append(task.symbols | {first: (1 << 16) + task.symbols[first]})
    candidates = [near for sizes in changed if (near := edges.within(task, sizes))]
    return [c for i, c in enumerate(candidates) if c != task.symbols and c not in candidates[:i]]

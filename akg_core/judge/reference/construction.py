"""By which seed a module is constructed where a kernel is judged: what a constructor draws is nobody's to know.

Parameters are redrawn, and others of the module's tensors are not: buffers, and plain attributes, which no state dict
holds. A kernel that has the numbers of one construction built in is right only where it is constructed by that seed.
Pure Python: the process that judges asks, too.
"""

from __future__ import annotations

import functools
import hashlib

from akg_core.records import Task

_ROUNDS = 20_000  # which take some 10 ms: a constructor sees this seed, and all draws follow from the verdict's


def made_by(task: Task, seed: int) -> int:
    """The seed of torch when reference and kernel are constructed, in a verdict of this seed; 0 where a kernel holds
    for that alone."""
    return 0 if task.interface.settled else _derived(seed)


@functools.cache
def _derived(seed: int) -> int:
    made = hashlib.pbkdf2_hmac("sha256", str(seed).encode(), b"construction", _ROUNDS, 8)
    return int.from_bytes(made, "big") >> 1

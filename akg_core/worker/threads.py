"""With how many threads torch works in this process. Kernels for the host go by the same number."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

_SMALL_BYTES = 4 << 20


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Work with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads_for(size: int) -> contextlib.AbstractContextManager[None]:
    """Work with one thread on so few bytes that more would cost more than they do, above all beside other processes."""
    return threads(1) if size < _SMALL_BYTES else contextlib.nullcontext()

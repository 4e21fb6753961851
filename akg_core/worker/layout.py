"""How files of tensors are laid out, for those too that write them without the library of tensors."""

from __future__ import annotations

import json
import struct
from typing import Any

LENGTH = struct.Struct("<Q")
_ALIGNMENT = 64


def header(content: dict[str, Any]) -> bytes:
    """What stands before the tensors' bytes: its length, and the tree and table of `tensors` as JSON."""
    text = json.dumps(content).encode()
    text += b" " * (aligned(LENGTH.size + len(text)) - LENGTH.size - len(text))
    return LENGTH.pack(len(text)) + text


def aligned(size: int) -> int:
    """The bytes that a tensor of `size` bytes takes, so that the next begins on a boundary."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT

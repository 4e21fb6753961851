"""Messages between processes: JSON with its length in front, over a connected socket."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("!Q")
PREFIX = _LENGTH.size


def encode(message: Any) -> bytes:
    """One framed message. Raises TypeError for what JSON cannot hold."""
    body = json.dumps(message).encode()
    return _LENGTH.pack(len(body)) + body


def length(prefix: bytes) -> int:
    """The size of the body that follows a prefix."""
    return int(_LENGTH.unpack(prefix)[0])


def receive(connection: socket.socket, most: int | None = None) -> Any:
    """The next message, or None when the other end has closed. Raises ValueError for one of more bytes than `most`."""
    prefix = _exactly(connection, PREFIX)
    if prefix and most is not None and length(prefix) > most:
        raise ValueError(f"a message of {length(prefix)} bytes is longer than {most}")
    body = _exactly(connection, length(prefix)) if prefix else None
    return None if body is None else json.loads(body)


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(size - len(data), 1 << 20))
        if not piece:
            return None
        data += piece
    return bytes(data)

"""Imported by a warm parent, has the system refuse it a new process once."""

import os

_fork = os.fork


def fork() -> int:
    os.fork = _fork
    raise BlockingIOError("Resource temporarily unavailable")


os.fork = fork

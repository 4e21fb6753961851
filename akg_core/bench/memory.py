"""Memory that contests are judged in side by side, each in a thread: a device's in bytes, the host's in parts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Memory:
    """What is held of it. Who asks first holds first, so that one who asks for much is not passed by for good."""

    def __init__(self) -> None:
        self._held = 0
        self._asking: list[object] = []
        self._changed = threading.Condition()

    @contextmanager
    def held(self, need: int, room: int) -> Iterator[None]:
        """Inside, so much is held, beside others as far as these fit into `room` together, or alone."""
        me = object()
        with self._changed:
            self._asking.append(me)
            self._changed.wait_for(lambda: self._asking[0] is me and not (self._held and self._held + need > room))
            self._asking.remove(me)
            self._held += need
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._held -= need
                self._changed.notify_all()

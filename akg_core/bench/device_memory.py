"""The memory of a device in which contests are judged side by side, each in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class DeviceMemory:
    """What is held of it. Who asks first holds first, so that one who asks for much is not passed by for good."""

    def __init__(self) -> None:
        self._held = 0
        self._asking: list[object] = []
        self._changed = threading.Condition()

    @contextmanager
    def held(self, need: int, room: int) -> Iterator[None]:
        """Inside, `need` bytes are held, beside others' as far as these fit into `room` bytes together, or alone."""
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

"""The folders of pools. A pool holds its own locked, so that one that is not locked belongs to nobody any more.

The warm parent of a pool removes its folder, however the pool's process ends. Where that parent has been killed too, or
was never started, the next pool of this user does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import tempfile
from pathlib import Path

from akg_core.worker import cgroup

_PREFIX = "akg-pool-"


def make() -> tuple[Path, int]:
    """A new folder, and the descriptor that holds it: no other process may have it."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        with contextlib.suppress(FileNotFoundError):  # another may sweep it before it is locked
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(held, fcntl.LOCK_EX)
            if folder.exists():
                return folder, held
            os.close(held)


def sweep() -> None:
    """Remove this user's folders that nobody holds, and end what is left in their control groups."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(held).st_uid == os.geteuid():
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    cgroup.remove_all(folder.name)
                    remove(folder)
            finally:
                os.close(held)


def remove(folder: Path) -> None:
    """Remove a folder, with those in it that their owner may not list either, however deep they lie in each other.

    What lies in a folder is lifted beside it, so that no path grows beyond what a system takes. Errors are passed over.
    """
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        with contextlib.suppress(OSError):
            here.chmod(0o700)
            with os.scandir(here) as found:
                entries = list(found)
            for entry in entries:
                _lift(entry, folder, waiting)
        if here != folder:
            with contextlib.suppress(OSError):
                here.rmdir()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _lift(entry: os.DirEntry[str], folder: Path, waiting: list[Path]) -> None:
    """Remove what is no folder; put a folder right into `folder`, under a name that nobody else has, among those that
    are waiting to be removed.
    """
    with contextlib.suppress(OSError):
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)  # noqa: PTH108
            return
        above = folder / secrets.token_hex(16)
        os.chmod(entry.path, 0o700)  # noqa: PTH101
        os.rename(entry.path, above)  # noqa: PTH104
        waiting.append(above)

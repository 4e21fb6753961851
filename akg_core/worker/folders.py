"""The folders of pools. A pool holds its own locked, so that one that is not locked belongs to nobody any more.

The warm parent of a pool removes its folder, however the pool's process ends. Where that parent has been killed too, or
was never started, the next pool of this user does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
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
    """Remove a folder, with those in it that their owner may not list either."""
    for path, names, _ in os.walk(folder):
        for name in names:
            if not Path(path, name).is_symlink():
                Path(path, name).chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)

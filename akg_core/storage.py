"""Where things are kept: files that are whole at every moment, and the user's cache folder."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from akg_core.errors import UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel


def write_whole(path: Path, content: str | BaseModel) -> None:
    """Write text, or a record as JSON, to `path` in one step: who is killed leaves the file as it was before.

    What one that was killed had written beside it until then goes with the next step.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".{glob.escape(path.name)}.*"):
        if not Path("/proc", left.suffix.lstrip(".")).exists():
            left.unlink(missing_ok=True)
    text = content if isinstance(content, str) else json.dumps(content.model_dump(mode="json"), indent=1) + "\n"
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


@contextlib.contextmanager
def sole_use(folder: Path) -> Iterator[int]:
    """Have a folder, which is made, for oneself while a `with` body runs. Raises UsageError when somebody has it.

    It yields a descriptor: a process that inherits it has the folder, too, should it outlive this one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"Another akg-core works in {folder}.", "Wait until it has ended.") from None
        yield handle
    finally:
        os.close(handle)


def prune(folder: Path, most: int, in_use_seconds: float = 0.0) -> None:
    """Keep the `most` lately used folders in a folder, and whatever was used within so many seconds."""
    with contextlib.suppress(OSError):
        folders = [entry for entry in os.scandir(folder) if entry.is_dir() and entry.name[0] != "."]
        used = {entry.path: entry.stat().st_mtime for entry in folders}
        latest = time.time() - in_use_seconds
        for path in sorted(used, key=used.__getitem__)[: max(0, len(used) - most)]:
            if used[path] <= latest:
                shutil.rmtree(path, ignore_errors=True)


def cache_folder() -> Path:
    """Where to keep what need not be found out twice: the user's cache folder, or a temporary one if none can write."""
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "akg-core"
    temporary = Path(tempfile.gettempdir()) / f"akg-core-{os.getuid()}"
    for folder in (kept, temporary):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return temporary

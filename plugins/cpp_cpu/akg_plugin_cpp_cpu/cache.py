"""Folders of files kept by content under the user's cache folder. A folder appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from akg_plugin_cpp_cpu.probe import cache_folder


def kept(shelf: str, name: str) -> Path | None:
    """The file `name` of the folder `shelf`, marked as used now; None when it is not kept."""
    path = cache_folder() / shelf / name
    if not path.is_file():
        return None
    with contextlib.suppress(OSError):
        os.utime(path.parent)
    return path


def keep(shelf: str, files: Mapping[str, Path]) -> None:
    """Copy `files` into the folder `shelf`. A cache that cannot be written is no error."""
    with contextlib.suppress(OSError):
        folder = cache_folder() / shelf
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as scratch:
            whole = Path(scratch) / "whole"
            whole.mkdir()
            for name, path in files.items():
                shutil.copyfile(path, whole / name)
            whole.rename(folder)  # fails, rightly, when another process was first

"""The folder of a run: every file is written as soon as it is known, whole or not at all."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel

    from akg_core.records import KernelSource


RESULTS = ("build.log", "verdict.json", "timing.json", "result.json")


def write_whole(path: Path, content: str | BaseModel) -> None:
    """Write text, or a record as JSON, to `path` in one step: who is killed leaves the file as it was before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content.model_dump(mode="json"), indent=1) + "\n"
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


class RunFolder:
    """`runs/<id>/`: task.json, reference.py, sketch.py, schedule.json, kernel/, build.log, verdict.json, timing.json,
    result.json.

    A folder that is used again loses the results of the earlier run, so that none is taken for the new one's.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.kernel = self.path / "kernel"
        self.path.mkdir(parents=True, exist_ok=True)
        for name in RESULTS:
            (self.path / name).unlink(missing_ok=True)

    @classmethod
    def fresh(cls, name: str, root: Path = Path("runs")) -> RunFolder:
        """A folder of its own under `root`, called after `name` and the time."""
        stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
        for count in range(1, 1000):
            path = root / (stem if count == 1 else f"{stem}-{count}")
            try:
                path.mkdir(parents=True)
                return cls(path)
            except FileExistsError:
                continue
        raise FileExistsError(f"{root / stem} and its like all exist")

    def write(self, name: str, content: str | BaseModel) -> Path:
        """Write text, or a record as JSON, to `name` in the folder."""
        path = self.path / name
        write_whole(path, content)
        return path

    def write_source(self, source: KernelSource, reference: str) -> None:
        """Write generated files into kernel/, with the reference that `ModelNew` is built on beside them."""
        for name, text in source.files.items():
            self.write(f"kernel/{name}", text)
        self.write("kernel/reference.py", reference)

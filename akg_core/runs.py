"""The folder of a run: every file is written as soon as it is known, whole or not at all."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from akg_core.built_from import require_as_judged
from akg_core.errors import UsageError
from akg_core.records import Argument, Interface, KernelSource
from akg_core.storage import write_whole

if TYPE_CHECKING:
    from pydantic import BaseModel


RESULTS = ("build.log", "verdict.json", "timing.json", "result.json")


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

    def adopt(self, folder: Path) -> None:
        """Take over the sketch, the schedule and the kernel that were made in another folder like this."""
        shutil.rmtree(self.kernel, ignore_errors=True)
        shutil.copytree(folder, self.path, dirs_exist_ok=True)

    def write_source(self, source: KernelSource, reference: str) -> None:
        """Write generated files into kernel/, with the reference that `ModelNew` is built on, in place of all in it."""
        shutil.rmtree(self.kernel, ignore_errors=True)
        for name, text in source.files.items():
            self.write(f"kernel/{name}", text)
        self.write("kernel/reference.py", reference)


def arguments_of(run: Path) -> tuple[Argument, ...]:
    """The arguments of a run's task, none where it has no task.json; raises UsageError for one that is damaged."""
    path = run / "task.json"
    try:
        task = json.loads(path.read_text(encoding="utf-8"))  # of which an earlier version wrote other fields, too
        return Interface(**task["interface"]).arguments
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, ValueError, LookupError, TypeError):
        raise UsageError(f"{str(path)!r} is damaged.", "Run the task again.") from None


def require_correct(run: Path) -> None:
    """Raise UsageError unless a run's result.json says that its kernel, as it is, is correct."""
    path, judged = run / "result.json", dict[str, str]()
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        verdict, judged = result["verdict"], dict(result.get("judged", {}))
        status, reason = (verdict["status"], verdict.get("reason", "")) if verdict else ("", "")
    except FileNotFoundError:
        status = reason = ""
    except (OSError, ValueError, LookupError, TypeError):
        raise UsageError(f"{str(path)!r} is damaged.", "Run the task again.") from None
    if not status:
        raise UsageError(f"The kernel of {run} was never judged.", "Judge it with `akg-core verify`, or run it again.")
    if status != "correct":
        said = f"The kernel of {run} is not exported: its verdict is {status!r}. {reason}".rstrip()
        raise UsageError(said, "Mend the kernel, or make another by running the task again.")
    require_as_judged(run / "kernel", judged)

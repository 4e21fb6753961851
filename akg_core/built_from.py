"""Which sources a compiler built a kernel from, recorded beside it: none is judged unbuilt, or by an old library.

And which files were judged, so that nothing else is handed on as correct.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from akg_core.errors import UsageError
from akg_core.python_text import module_of
from akg_core.records import Artifact, KernelSource
from akg_core.storage import write_whole

NAME = "built_from.json"
BUILT = (".so", ".o", ".a", ".cubin", ".ptx")  # how names of what compilers make end


def record(source: KernelSource, folder: Path) -> None:
    """Write the SHA-256 of each file of `source` that is no Python, by name, to `folder`, where it has been built."""
    digests = {name: _digest(folder / name) for name in source.files if not name.endswith(".py")}
    if digests:
        write_whole(folder / NAME, json.dumps(digests, indent=1) + "\n")


def require_unchanged(folder: Path) -> None:
    """Raise UsageError where a source in `folder` is another than what was built; without a record nobody knows."""
    path = folder / NAME
    try:
        digests = json.loads(path.read_text(encoding="utf-8")).items()
    except FileNotFoundError:
        return
    except (OSError, ValueError, AttributeError):
        raise UsageError(f"{str(path)!r} is damaged.", "Build the kernel again, and delete the file.") from None
    for name, digest in digests:
        if _digest(folder / name) != digest:
            cure = f"Build it again, then delete {NAME}, which names the sources of the earlier build."
            raise UsageError(f"The kernel in {folder} was not built from this {name}, which has changed since.", cure)


def require_built(artifact: Artifact) -> None:
    """Raise UsageError where the entry file names what is built of a source beside it, and that is not there."""
    sources = {path.stem for path in artifact.folder.iterdir() if path.suffix not in BUILT}
    tree = module_of((artifact.folder / artifact.entry).read_text(encoding="utf-8-sig"))
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    for node in constants:
        name = str(node.value)
        stem, suffix = Path(name).stem, Path(name).suffix
        is_built = suffix in BUILT and Path(name).name == name and {stem, stem.removeprefix("lib")} & sources
        if is_built and not (artifact.folder / name).exists():
            said = f"The kernel in {artifact.folder} is not built: {artifact.entry}, line {node.lineno}, needs {name}."
            raise UsageError(said, f"Build it, copy {name} beside it, or have `akg-core run` make the kernel again.")


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of a kernel's folder, by its path in it, apart from what Python keeps there."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name != "__pycache__")
    return {path.relative_to(folder).as_posix(): _digest(path) for path in files}


def require_as_judged(folder: Path, judged: Mapping[str, str]) -> None:
    """Raise UsageError where a file of a kernel in `folder` is another than the one that was judged."""
    for name, digest in judged.items():
        if _digest(folder / name) != digest:
            said = f"The kernel in {folder} is not what was judged: {name} has changed since."
            raise UsageError(said, f"Run the task again, or export {folder} itself, as it is.")


def _digest(path: Path) -> str:
    """SHA-256 of a file; "" where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""

"""What `akg-core new-plugin` writes: a plugin that keeps the contract already, and says what is to be filled in."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

import akg_core
from akg_core.errors import UsageError

GAP = "FILL IN"
"""Stands in every line of a new plugin that its author has to replace."""
_TEMPLATES = Path(__file__).parent / "plugin"
_WORD = re.compile(r"[a-z][a-z0-9_]*")


def write_plugin(folder: Path, *, name: str, dsl: str, backend: str) -> list[str]:
    """Write a new plugin into `folder`; the names of its files. Raises UsageError for a bad word or a folder in use."""
    for option, word in (("NAME", name), ("--dsl", dsl), ("--backend", backend)):
        if not _WORD.fullmatch(word):
            raise UsageError(f"{option} {word!r} is not a word of small letters, digits and underscores.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{str(folder)!r} is there already.", "Give another folder with --out.")
    words = {
        "name": name,
        "dsl": dsl,
        "backend": backend,
        "package": f"akg_plugin_{name}",
        "distribution": f"akg-plugin-{name.replace('_', '-')}",
        "code": re.sub("[^A-Z]", "", name.upper())[:6] or "X",
        "version": akg_core.__version__,
    }
    files = []
    for template in sorted(path for path in _TEMPLATES.rglob("*") if path.is_file()):
        relative = template.relative_to(_TEMPLATES).as_posix().removesuffix(".tmpl")
        path = folder / relative.replace("package/", f"{words['package']}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(template.read_text(encoding="utf-8")).substitute(words), encoding="utf-8")
        files.append(path.relative_to(folder).as_posix())
    return files


def gaps(folder: Path) -> list[str]:
    """What is still to be filled in, as "file:line: what"."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".md", ".toml")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            _, mark, what = line.partition(f"{GAP}:")
            if mark:
                found.append(f"{path.relative_to(folder).as_posix()}:{number}: {what.removesuffix('-->').strip()}")
    return found

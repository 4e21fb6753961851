"""The toy plugin of docs/write-a-plugin.md: its files, and copies of it installed as pip would leave them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import akg_core

PAGE = Path(__file__).parents[2] / "docs" / "write-a-plugin.md"
_BLOCK = re.compile(r"^(```|~~~)(\w+) ([\w./-]+)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)

Edits = Mapping[str, tuple[str, str]]
"""By file, a text that must be there and what stands in its place."""


def files() -> dict[str, str]:
    """The page's blocks by the names of their files; blocks of one name follow each other."""
    found: dict[str, str] = {}
    page = PAGE.read_text(encoding="utf-8")
    for _, _, name, text in _BLOCK.findall(page):
        found[name] = f"{found[name]}\n\n{text}" if name in found else text
    return found


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files into a folder."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def install(folder: Path, name: str, edits: Edits | None = None) -> None:
    """A copy of the toy as the plugin `name`, edited, as it lies in site-packages."""
    package = f"akg_plugin_{name}"
    texts = files()
    for file, (old, new) in (edits or {}).items():
        assert texts[file].count(old) == 1, f"{old!r} must stand once in {file}"
        texts[file] = texts[file].replace(old, new)
    placed = {}
    for file, text in texts.items():
        at = file.replace("akg_plugin_toy", package).replace("docs/", f"{package}/docs/")
        placed[at] = text.replace("akg_plugin_toy", package).replace('"toy"', f'"{name}"')
    write(folder, {file: text for file, text in placed.items() if file.startswith(package)})
    write(folder, distribution(name, f"{package}.plugin"))


def distribution(name: str, module: str, core: str = f"akg-core=={akg_core.__version__}") -> dict[str, str]:
    """The metadata of an installed plugin; `core` is what it requires."""
    project = f"akg-plugin-{name.replace('_', '-')}"
    info = f"{project.replace('-', '_')}-0.1.0.dist-info"
    return {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project}\nVersion: 0.1.0\nRequires-Dist: {core}\n",
        f"{info}/entry_points.txt": f"[akg]\n{name} = {module}\n",
    }

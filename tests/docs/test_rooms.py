"""The rooms of the house lie in one direction: what serves others knows nothing of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import akg_core

CORE = Path(akg_core.__file__).parent


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, wherever in it, by their full names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ["akg_core", *path.parent.relative_to(CORE).parts]
            base = package[: len(package) + 1 - node.level] if node.level else []
            whole = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{whole}.{alias.name}" for alias in node.names)


def test_every_way_to_import_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.docs.test_rooms.CORE", tmp_path)
    text = "import akg_core.judge.bits\ndef f():\n    from akg_core import judge\n    from ..judge import bits\n"
    (tmp_path / "worker").mkdir()
    path = tmp_path / "worker" / "one.py"
    path.write_text(text)
    assert list(imported(path)) == ["akg_core.judge.bits", "akg_core.judge", "akg_core.judge.bits"]


@pytest.mark.parametrize("path", sorted((CORE / "worker").glob("*.py")), ids=lambda path: path.name)
def test_workers_know_nothing_of_judging(path):
    assert not [name for name in imported(path) if name.startswith("akg_core.judge")]

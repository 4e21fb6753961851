"""The rooms of the house lie in one direction: what serves others knows nothing of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
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


def module_of(path: Path) -> str:
    """The module that a file of core is."""
    return ".".join(["akg_core", *path.relative_to(CORE).with_suffix("").parts]).removesuffix(".__init__")


@cache
def imports_of_core() -> dict[str, set[str]]:
    """The modules of core that each of them imports, wherever in it."""
    files = {module_of(path): path for path in CORE.rglob("*.py")}
    imports: dict[str, set[str]] = {}
    for name, path in files.items():
        told = {part for whole in imported(path) for part in (whole, whole.rpartition(".")[0])}
        inner = {part for part in told & files.keys() if part != name}
        # of a package and a module in it, the module is what is meant
        imports[name] = {part for part in inner if not any(other.startswith(f"{part}.") for other in inner)}
    return imports


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


def test_no_module_of_core_imports_what_imports_it():
    """Imports for types and those inside of functions count too."""
    order = [*TopologicalSorter(imports_of_core()).static_order()]  # raises CycleError with the circle
    places = [order.index(f"akg_core.{name}") for name in ("polynomial", "sketch.affine", "pipeline.pipeline")]
    assert places == sorted(places)


@pytest.mark.parametrize("room", sorted({module.rpartition(".")[0] for module in imports_of_core()} - {""}))
def test_no_room_imports_what_imports_it(room: str):
    """Neither by one of its modules."""

    def inside(module: str) -> str | None:
        """Which part of the room a module is or lies in."""
        return module.removeprefix(f"{room}.").partition(".")[0] if module.startswith(f"{room}.") else None

    parts: dict[str, set[str]] = {}
    for module, told in imports_of_core().items():
        if part := inside(module):
            parts.setdefault(part, set()).update(other for each in told if (other := inside(each)) not in (None, part))
    assert [*TopologicalSorter(parts).static_order()]


ROOMS = ("design", "judge", "lower", "pipeline", "sketch", "stages", "task", "worker")
PACKAGES = sorted({path.parent for room in ROOMS for path in (CORE / room).rglob("*.py")})


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(CORE)))
def test_a_package_says_what_each_of_its_modules_is(package: Path):
    """What is looked for is found from the first lines of a folder; families of operators say it by their names."""
    said = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    if package.name != "operators":
        missing = {path.stem for path in package.glob("[a-z]*.py")} - {*re.findall(r"\w+", said)}
        assert not missing, f"{package.relative_to(CORE)}/__init__.py says nothing of {sorted(missing)}"
    assert said

"""Plugins, and what new ones begin with, import of akg-core what `akg_core.plugin` hands on, and nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from tests.conformance import toy

ROOT = Path(__file__).parents[2]
SOURCES = {
    ".".join(path.relative_to(pyproject.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for pyproject in sorted((ROOT / "plugins").rglob("pyproject.toml"))
    for path in sorted(pyproject.parent.glob("akg_*/**/*.py"))
}
TEMPLATES = sorted((ROOT / "akg_core/templates/plugin").rglob("*.py.tmpl"))
TEXTS = {
    **{path.relative_to(ROOT).as_posix(): path.read_text() for path in [*SOURCES.values(), *TEMPLATES]},
    **{f"docs/write-a-plugin.md: {name}": text for name, text in toy.files().items() if name.endswith(".py")},
}
GROUPS = ["akg_core.plugin", *(f"akg_core.plugin.{path.stem}" for path in (ROOT / "akg_core/plugin").glob("[a-z]*.py"))]


def imported(text: str) -> Iterator[tuple[str, str]]:
    """Each module and name that a text imports of akg-core, and where text is made, of what it makes.

    A module that is handed on may be imported whole: then it is what the text takes of it.
    """
    groups: dict[str, str] = {}
    tree = ast.parse(text.replace("$package", "package"))
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "akg_core")
            case ast.ImportFrom(module=str(module), level=0) if module.split(".")[0] == "akg_core":
                whole = {alias.name: f"{module}.{alias.name}" for alias in node.names}
                groups |= {name: group for name, group in whole.items() if group in GROUPS}
                yield from ((module, name) for name, group in whole.items() if group not in GROUPS)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in groups:
                yield groups[name], attribute


def test_there_are_sources_to_read():
    names = " ".join(TEXTS)
    assert all(part in names for part in ("cpp_cpu/emit/", "emit.py.tmpl", "akg_plugin_toy/emit.py", "akg_triton/emit"))
    assert {"akg_core.plugin.sketch", "akg_core.plugin.lower", "akg_core.plugin.harness"} <= {*GROUPS}


@pytest.mark.parametrize("name", TEXTS)
def test_a_plugin_imports_what_is_handed_on(name: str):
    for module, what in imported(TEXTS[name]):
        allowed = ["akg_core.testing"] if "tests/" in name else GROUPS
        assert module in allowed, f"{name} imports {module}; plugins import akg_core.plugin"
        assert what in import_module(module).__all__, f"{name}: {module} hands on no {what}"


def test_no_module_of_a_plugin_imports_what_imports_it():
    imports: dict[str, set[str]] = {}
    for name, path in SOURCES.items():
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        told = [(node.module or "", f"{node.module}.{alias.name}") for node in nodes for alias in node.names]
        imports[name] = {inner if inner in SOURCES else module for module, inner in told} & SOURCES.keys()
    order = [*TopologicalSorter(imports).static_order()]  # raises CycleError with the circle
    assert order.index("akg_plugin_triton_cuda.ahead") < order.index("akg_plugin_triton_cuda.compile")


@pytest.mark.parametrize("plugin", sorted(path.name for path in (ROOT / "plugins").iterdir() if path.name != "shared"))
def test_every_plugin_has_its_stages_in_files_of_the_same_names(plugin: str):
    """Those of a language that several chips share, launch and check_source, may be in `plugins/shared`."""
    modules = {name.split(".")[1] for name in SOURCES if name.startswith(f"akg_plugin_{plugin}.")}
    assert modules >= {"plugin", "probe", "emit", "compile", "explain", "harness"}
    assert all((ROOT / "plugins" / plugin / part).exists() for part in ("docs", "tests", "README.md", "LICENSE"))


def test_a_plugin_that_does_otherwise_is_found():
    found = list(imported("import akg_core.records\ndef f():\n    from akg_core.sketch import ast\n"))
    assert found == [("akg_core.records", ""), ("akg_core.sketch", "ast")]


@pytest.mark.parametrize("group", GROUPS)
def test_each_group_says_what_it_is_for_and_hands_on_what_it_lists(group: str):
    module = import_module(group)
    assert module.__doc__ and sorted(module.__all__) == sorted({*module.__all__})
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("group", sorted({*GROUPS} - {"akg_core.plugin.harness"}))
def test_importing_a_group_starts_nothing_heavy(group: str):
    code = f"import sys, {group}; assert not {{'torch', 'numpy', 'sqlalchemy'}} & sys.modules.keys()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr

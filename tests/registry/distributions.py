"""Fake installed distributions: a module and a dist-info folder on sys.path, as pip would leave them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import akg_core

GOOD = """
from akg_core.hookspecs import hookimpl
from akg_core.records import Availability, PluginInfo

@hookimpl
def akg_plugin_info():
    return PluginInfo(name={name!r}, dsl="toy", backends=("cpu",), dtypes=("f32",), source_suffix=".toy")

@hookimpl
def akg_probe(target):
    return Availability(can_compile=True, can_run=False, reason="no device", details={{"who": {name!r}}})
"""


def install(
    folder: Path, name: str, source: str | None = None, *, distribution: str = "", core: str | None = None
) -> str:
    """Install plugin `name` into `folder` and give its module; `core` is what it requires (default: this version)."""
    distribution = distribution or f"akg-plugin-{name.replace('_', '-')}"
    core = f"akg-core=={akg_core.__version__}" if core is None else core
    module = distribution.replace("-", "_")
    (folder / f"{module}.py").write_text(dedent(GOOD.format(name=name) if source is None else source))
    info = folder / f"{module}-0.7.dist-info"
    info.mkdir(parents=True)
    requires = f"Requires-Dist: {core}\n" if core else ""
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 0.7\n{requires}")
    (info / "entry_points.txt").write_text(f"[akg]\n{name} = {module}\n")
    return module


def good(name: str, extra: str = "") -> str:
    """The source of a plugin that keeps the contract, with `extra` functions after it."""
    return GOOD.format(name=name) + indent(dedent(extra), "")

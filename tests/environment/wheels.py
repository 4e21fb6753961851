"""A toolchain as a wheel, and the toy as a plugin that needs it, with another version of it beside core."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.conformance import toy

NAME = "tiled"
_METADATA = "Metadata-Version: 2.1\nName: tiler\nVersion: {version}\n"
_WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_EMITS = "def akg_emit(sketch, schedule, target):\n"
_COMPILES = "def akg_compile(source, target, workdir):\n"
_RUNS = "def akg_run(artifact, target, cases):\n"
_TIMES = "def akg_profile(artifact, target, case, plan):\n"
_ASKED = "import tiler, sys; assert tiler.VERSION == {version!r}, (tiler.VERSION, sys.path)"


def wheel(folder: Path, version: str) -> Path:
    """A wheel of the toolchain."""
    path = folder / f"tiler-{version}-py3-none-any.whl"
    info = f"tiler-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiler.py", f"VERSION = {version!r}\n")
        archive.writestr(f"{info}/METADATA", _METADATA.format(version=version))
        archive.writestr(f"{info}/WHEEL", _WHEEL)
        archive.writestr(f"{info}/RECORD", f"tiler.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path


def install_beside(site: Path, version: str) -> None:
    """The package of the same name that lies beside core."""
    with zipfile.ZipFile(wheel(site, version)) as archive:
        archive.extractall(site)


def install_plugin(site: Path, *requirements: str, pythons: tuple[str, ...] = (), core: str, theirs: str) -> None:
    """The plugin, whose hooks fail where they find another toolchain than the one that is meant for them."""
    environment = f"Environment(requirements={requirements!r}, toolchain='tiler', pythons={pythons!r})"
    toy.install(site, NAME)
    path = site / f"akg_plugin_{NAME}" / "plugin.py"
    text = path.read_text()
    edits = {
        'source_suffix=".tiles"': f'source_suffix=".tiles", environment={environment}',
        "can_run=True)": "can_run=True, details={'seen': __import__('tiler').VERSION})",
        "CompileResult, PluginInfo": "CompileResult, Environment, PluginInfo",
    }
    edits |= {head: f"{head}    {_ASKED.format(version=core)}\n" for head in [_EMITS]}
    edits |= {head: f"{head}    {_ASKED.format(version=theirs)}\n" for head in (_COMPILES, _RUNS, _TIMES)}
    for old, new in edits.items():
        assert text.count(old) == 1, f"{old!r} must stand once in the toy's plugin.py"
        text = text.replace(old, new)
    path.write_text(text)

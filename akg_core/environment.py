"""Environments of toolchains that must not live beside others: made once by venv and pip, in the user's cache folder.

Each plugin has a folder there, and in it one environment for what it requires now and for core's Python. An environment
is whole when its record lies in it, which is written last; what else lies there was left behind, and goes. Of one that
was made by other means, such as on a machine without a package index, only the record lies there, which names it.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from akg_core.errors import AkgError, ToolchainError
from akg_core.foreign import sentence
from akg_core.records import Environment, Record
from akg_core.storage import cache_folder, sole_use, write_whole

_RECORD, _LOG = "environment.json", "setup.log"
_HEAVY = "torch"  # of core's dependencies the one that a plugin chooses, and requires, for another Python
_ABI = "import sysconfig; print(sysconfig.get_config_var('SOABI'))"
_LOOK = (
    "import json, sys; from importlib import metadata; "
    "found = {n: [d.version for d in metadata.distributions(name=n)] for n in sys.argv[1:]}; "
    "print(json.dumps([sys.path, {n: v[0] for n, v in found.items() if v}]))"
)


class Made(Record):
    """An environment that is there: its Python, where that finds modules by itself, and the toolchain's version."""

    python: Path
    path: tuple[str, ...]
    version: str

    @property
    def folder(self) -> Path:
        """Where all of it lies."""
        return self.python.parents[1]

    def search_path(self) -> list[str]:
        """Where its workers find modules: the environment's come first, then what this Python finds besides its own.

        So core, its dependencies and the plugin are found, and of what the environment has only the environment's.
        """
        return [*self.path, *(entry for entry in sys.path if entry not in {"", *self.path, *_standard_library()})]


def find(plugin: str, environment: Environment) -> Made | None:
    """The environment that was made for what a plugin requires now, if that is whole."""
    try:
        made = Made.model_validate_json((_folder(plugin, environment) / _RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return made if made.python.exists() else None


def require(plugin: str, environment: Environment) -> Made:
    """Like `find`; raises ToolchainError, with what to type, where there is none."""
    if found := find(plugin, environment):
        return found
    old = any(_root(plugin).glob(f"*/{_RECORD}"))
    said = "was made for other requirements or another Python" if old else "is not set up"
    raise ToolchainError(f"The environment of {plugin} {said}.", f"`akg-core setup {plugin}` makes it.")


def set_up(plugin: str, environment: Environment) -> Made:
    """Make the environment, unless it is there, and remove earlier ones of the plugin.

    Raises ToolchainError for what venv or pip cannot do, UsageError while another call is at it.
    """
    root, folder = _root(plugin), _folder(plugin, environment)
    with sole_use(root) as held:
        if found := find(plugin, environment):
            return found
        _remove(folder)
        try:
            with (root / _LOG).open("w", encoding="utf-8") as log:
                made = _make(plugin, environment, folder, log, held)
            write_whole(folder / _RECORD, made)
        except BaseException:
            _remove(folder)
            raise
        for other in root.iterdir():
            if other.is_dir() and other != folder:
                _remove(other)
    return made


def adopt(plugin: str, environment: Environment, python: Path) -> Made:
    """Take the environment of a Python that is there, instead of one that is made, and remove what was made earlier.

    It must have the toolchain, and of whatever else is required no version that does not fit. What it lacks besides may
    be here by other means: that is for the plugin's probe to say. Raises ToolchainError where it does not fit.
    """
    python = python.absolute()  # a link is followed by nobody: by where it lies, Python knows the environment
    required = {requirement.name: requirement for requirement in map(Requirement, environment.requirements)}
    try:
        abi = subprocess.run([python, "-I", "-c", _ABI], check=True, capture_output=True, text=True).stdout.strip()
        path, versions = _look(python, (environment.toolchain, *required))
    except (OSError, subprocess.CalledProcessError) as error:
        raise ToolchainError(f"{python} is no Python that runs.", "Name the python of an environment.") from error
    said = ""
    if abi != sysconfig.get_config_var("SOABI"):
        said = f"does not load what was compiled for {sys.executable}, by which akg-core runs"
    elif environment.toolchain not in versions:
        said = f"does not find {environment.toolchain}"
    for name, requirement in required.items():
        if name in versions and not requirement.specifier.contains(versions[name], prereleases=True):
            said = f"has {name} {versions[name]}, but {requirement} is required"
    if said:
        raise ToolchainError(f"{python} {said}.", f"Install {', '.join(map(str, required.values()))} there.")
    root, folder = _root(plugin), _folder(plugin, environment)
    with sole_use(root):
        for other in root.iterdir():
            if not python.is_relative_to(other):
                _remove(other)
        folder.mkdir(exist_ok=True)
        made = Made(python=python, path=path, version=versions[environment.toolchain])
        write_whole(folder / _RECORD, made)
    return made


def remove(plugin: str) -> bool:
    """Remove whatever was made for a plugin, installed or not; whether there was anything."""
    if plugin not in (path.name for path in _environments().glob("*")):
        return False
    root = _root(plugin)
    with sole_use(root):
        for folder in root.iterdir():
            _remove(folder)
        shutil.rmtree(root)
    return True


def _make(plugin: str, environment: Environment, folder: Path, log: TextIO, held: int) -> Made:
    """The environment in `folder`; what venv and pip say goes to the log. They hold on to the lock `held`."""
    python, same = _base(plugin, environment)
    required = [*environment.requirements, *([] if same else _of_core(plugin, environment))]
    inside = folder / "bin" / "python"
    for command in (
        [python, "-m", "venv", "--without-pip", str(folder)],
        *_pip(str(inside), "--disable-pip-version-check", "--no-input", "install", *required),
    ):
        print("$", *command, file=log, flush=True)
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_variables(), pass_fds=(held,)
        )
        if ended.returncode:
            raise _failed(plugin, _last_words(Path(log.name)), log)
    path, versions = _look(inside, (environment.toolchain,))
    if not versions:
        raise _failed(plugin, f"what it requires does not bring {environment.toolchain}", log)
    return Made(python=inside, path=path, version=versions[environment.toolchain])


def _look(python: Path, distributions: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Where a Python finds modules by itself, and the versions of those distributions that it finds there."""
    looked = subprocess.run([python, "-I", "-c", _LOOK, *distributions], check=True, capture_output=True)
    path, versions = json.loads(looked.stdout)
    return tuple(path), versions


def _pip(python: str, *words: str) -> list[list[str]]:
    """The commands by which pip works on an environment: core's, which takes no place there, else one of its own."""
    if importlib.util.find_spec("pip"):
        return [[sys.executable, "-m", "pip", "--python", python, *words]]
    return [[python, "-m", "ensurepip"], [python, "-m", "pip", *words]]


def _variables() -> dict[str, str]:
    """The variables of this process, but for those that would have another Python find modules of this one's."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def _base(plugin: str, environment: Environment) -> tuple[str, bool]:
    """The Python to make an environment from, and whether it loads what was compiled for core's."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if not environment.pythons or own in environment.pythons:
        return sys.executable, True
    for version in environment.pythons:
        if python := shutil.which(f"python{version}"):
            asked = subprocess.run([python, "-I", "-c", _ABI], capture_output=True, text=True)
            if asked.returncode == 0:
                return python, asked.stdout.strip() == sysconfig.get_config_var("SOABI")
    names = " or ".join(f"python{version}" for version in environment.pythons)
    raise ToolchainError(f"The toolchain of {plugin} needs {names}, which is not here.", "Install it, on PATH.")


def _of_core(plugin: str, environment: Environment) -> list[str]:
    """What core itself depends on, for a Python that does not load what was compiled for core's."""
    named = {canonicalize_name(Requirement(text).name) for text in environment.requirements}
    if _HEAVY not in named:
        said = f"{plugin} requires no {_HEAVY}, and its Python does not load what lies beside akg-core."
        raise ToolchainError(said, "This is a defect of the plugin.")
    needed = map(Requirement, importlib.metadata.requires("akg-core") or ())
    return [str(each) for each in needed if not each.marker and canonicalize_name(each.name) not in named]


def _failed(plugin: str, said: str, log: TextIO) -> AkgError:
    text = sentence(said).rstrip(".") or "no message"
    return ToolchainError(f"The environment of {plugin} could not be made: {text}.", f"All of it is in {log.name}.")


def _last_words(log: Path) -> str:
    """What failed, of all that was said: the first line that calls itself an error, else the last."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("ERROR:")), lines[-1])


def _standard_library() -> set[str]:
    """Where this Python finds its standard library, which is not that of another."""
    library = sysconfig.get_path("stdlib")
    archive = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    compiled = sysconfig.get_config_var("DESTSHARED") or f"{library}/lib-dynload"
    return {library, compiled, str(Path(library).with_name(archive))}


def _environments() -> Path:
    return cache_folder() / "environments"


def _root(plugin: str) -> Path:
    return _environments() / plugin


def _folder(plugin: str, environment: Environment) -> Path:
    """Where the environment for what a plugin requires lies, made for this Python."""
    key = f"{environment.model_dump_json()} {sysconfig.get_config_var('SOABI')} {sys.base_prefix}"
    return _root(plugin) / hashlib.sha256(key.encode()).hexdigest()[:16]


def _remove(folder: Path) -> None:
    """Remove a folder that must not look whole while it goes."""
    if folder.is_dir():
        (folder / _RECORD).unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)

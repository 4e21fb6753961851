"""`akg-core setup`: environments are made once, whole or not at all, and go."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path

import pytest
from pydantic import ValidationError

from akg_core import environment
from akg_core.errors import ToolchainError, UsageError
from akg_core.records import Environment
from akg_core.storage import sole_use
from tests.environment import wheels
from tests.environment.conftest import THEIRS

SETUP = ("setup", wheels.NAME)


def whole(environments: Path) -> list[Path]:
    return sorted(path.parent for path in environments.glob("*/environment.json"))


def test_an_environment_is_made_once(akg, plugin, wheel, environments):
    plugin(wheel)
    code, said = akg(*SETUP)
    assert code == 0 and f"The environment of tiled was made: tiler {THEIRS} in {environments}" in said
    (made,) = whole(environments)
    written = made.stat().st_mtime_ns
    code, said = akg(*SETUP, "--json")
    told = json.loads(said)
    assert code == 0 and (told["state"], told["version"]) == ("there", THEIRS)
    assert told["here"]["cpu"]["details"] == {"tiler": THEIRS, "seen": THEIRS}
    assert whole(environments) == [made] and made.stat().st_mtime_ns == written

    code, said = akg(*SETUP, "--remove")
    assert code == 0 and "was removed" in said and not environments.exists()
    assert akg(*SETUP, "--remove") == (0, "There is no environment of tiled.\n")


def test_a_changed_pin_makes_it_anew_and_the_old_one_goes(akg, plugin, wheel, environments, tmp_path):
    old = wheels.wheel(tmp_path, "1.9")
    plugin(old)
    assert akg(*SETUP, "--json")[0] == 0
    (before,) = whole(environments)
    plugin(wheel)
    code, said = akg("plugins")
    assert code == 0 and "The environment of tiled was made for other requirements or another Python." in said
    assert "`akg-core setup tiled` makes it." in said
    assert f"tiler {THEIRS}" in akg(*SETUP)[1]
    (after,) = whole(environments)
    assert after != before and not before.exists()


def test_a_plugin_whose_toolchain_lives_beside_core_needs_none(akg):
    assert akg("setup", "cpp_cpu") == (0, "cpp_cpu needs no environment of its own: there is nothing to set up.\n")
    code, said = akg("setup", "nowhere")
    assert code == 2 and "There is no plugin 'nowhere'." in said


def test_what_pip_cannot_do_is_a_sentence_and_leaves_nothing(akg, plugin, environments):
    plugin("tiler==7.7")
    code, said = akg(*SETUP)
    assert code == 2 and "The environment of tiled could not be made: Could not find a version that satisfies" in said
    log = environments / "setup.log"
    assert f"All of it is in {log}." in said and "tiler==7.7" in log.read_text()
    assert not [path for path in environments.iterdir() if path.is_dir()]


def test_requirements_that_do_not_bring_the_toolchain_are_told(plugin, site, wheel):
    needed = Environment(requirements=(f"tiler @ {wheel.as_uri()}",), toolchain="weaver")
    with pytest.raises(ToolchainError, match="what it requires does not bring weaver"):
        environment.set_up("tiled", needed)
    assert environment.find("tiled", needed) is None


def test_an_interrupted_call_leaves_nothing_that_looks_whole(akg, plugin, wheel, environments, monkeypatch):
    plugin(wheel)
    run = subprocess.run

    def interrupted(command, **options):
        if "pip" in command:
            raise KeyboardInterrupt
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", interrupted)
    assert akg(*SETUP)[0] == 130
    monkeypatch.setattr(subprocess, "run", run)
    assert not [path for path in environments.iterdir() if path.is_dir()]


def test_what_was_killed_is_made_anew(akg, plugin, wheel, environments):
    plugin(wheel)
    needed = Environment(requirements=(f"tiler @ {wheel.as_uri()}",), toolchain="tiler")
    killed = (
        "import os, subprocess; from akg_core import environment, records\n"
        "run = subprocess.run\n"
        "def end(command, **options): run(command, **options); os.kill(os.getpid(), 9)\n"
        "subprocess.run = end\n"
        f"environment.set_up('tiled', records.Environment.model_validate_json({needed.model_dump_json()!r}))\n"
    )
    assert subprocess.run([sys.executable, "-c", killed]).returncode == -9
    (left,) = (path for path in environments.iterdir() if path.is_dir())
    assert (left / "bin" / "python").exists() and environment.find("tiled", needed) is None
    (left / "bin" / "left behind").touch()
    code, _ = akg("run", "nothing.py", "--plugin", "tiled")
    assert code == 2
    assert akg(*SETUP)[0] == 0
    assert whole(environments) == [left] and not (left / "bin" / "left behind").exists()


def test_what_outlives_a_killed_call_is_waited_for(plugin, wheel, environments):
    plugin(wheel)
    needed = Environment(requirements=(f"tiler @ {wheel.as_uri()}",), toolchain="tiler")
    killed = (
        "import os, subprocess; from akg_core import environment, records\n"
        "def outlive(command, **options):\n"
        "    child = subprocess.Popen(['sleep', '600'], **{**options, 'stdout': subprocess.DEVNULL})\n"
        "    print(child.pid, flush=True); os.kill(os.getpid(), 9)\n"
        "subprocess.run = outlive\n"
        f"environment.set_up('tiled', records.Environment.model_validate_json({needed.model_dump_json()!r}))\n"
    )
    ended = subprocess.run([sys.executable, "-c", killed], stdout=subprocess.PIPE)
    try:
        with pytest.raises(UsageError, match="Another akg-core works in"):
            environment.set_up("tiled", needed)
    finally:
        os.kill(int(ended.stdout), signal.SIGKILL)
    for _ in range(100):
        try:
            assert environment.set_up("tiled", needed).version == THEIRS
            return
        except UsageError:
            time.sleep(0.05)
    pytest.fail("the lock was never let go of")


def test_without_a_pip_beside_core_the_environment_has_its_own(plugin, site, wheel, monkeypatch):
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    needed = Environment(requirements=(f"tiler @ {wheel.as_uri()}",), toolchain="tiler")
    made = environment.set_up("tiled", needed)
    assert made.version == THEIRS and (made.folder / "bin" / "pip3").exists()


def test_one_call_at_a_time(plugin, site, wheel, environments):
    needed = Environment(requirements=(f"tiler @ {wheel.as_uri()}",), toolchain="tiler")
    with sole_use(environments), pytest.raises(UsageError, match="Another akg-core works in"):
        environment.set_up("tiled", needed)
    assert list(environments.iterdir()) == []


def test_a_python_that_is_not_here_is_named(akg, plugin, wheel):
    plugin(wheel, pythons=("3.1", "3.2"))
    code, said = akg(*SETUP)
    assert code == 2 and "The toolchain of tiled needs python3.1 or python3.2, which is not here." in said


def test_cores_own_python_is_taken_where_it_is_among_those_that_do(plugin, site):
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    needed = Environment(requirements=("tiler",), toolchain="tiler", pythons=("3.1", own))
    assert environment._base("tiled", needed) == (sys.executable, True)


def test_another_python_gets_what_core_depends_on_and_the_torch_that_the_plugin_requires():
    def given(*more: str) -> set[str]:
        needed = Environment(requirements=("tiler", *more), toolchain="tiler")
        return {text.partition(">")[0] for text in environment._of_core("tiled", needed)}

    assert {"pydantic", "pluggy", "packaging", "numpy"} <= given("torch==2.7")
    assert not given("Torch") & {"torch", "pytest", "tiler"} and "numpy" not in given("torch", "NumPy<2")
    with pytest.raises(ToolchainError, match="tiled requires no torch, and its Python does not load"):
        given()


@pytest.mark.parametrize("text", ["--index-url=nowhere", "-r pins.txt", "tiler = 2"])
def test_what_is_no_requirement_is_refused(text):
    with pytest.raises(ValidationError):
        Environment(requirements=(text,), toolchain="tiler")


def an_environment(folder: Path, *wheels: Path) -> Path:
    """The Python of an environment that is made by other means, with what is in the wheels."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    asked = [python, "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    for each in wheels:
        with zipfile.ZipFile(each) as archive:
            archive.extractall(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    return python


def test_an_environment_that_is_there_is_taken_and_left_alone(akg, plugin, wheel, environments, tmp_path):
    plugin(f"tiler=={THEIRS}", "what-the-machine-has-otherwise>=2")
    python = an_environment(tmp_path / "theirs", wheel)
    code, said = akg(*SETUP, "--python", str(python), "--json")
    told = json.loads(said)
    assert code == 0 and (told["state"], told["python"], told["version"]) == ("adopted", str(python), THEIRS)
    assert told["here"]["cpu"]["details"] == {"tiler": THEIRS, "seen": THEIRS}
    assert f"The environment of tiled is there already: tiler {THEIRS} in {python.parents[1]}." in akg(*SETUP)[1]
    assert akg(*SETUP, "--remove")[0] == 0 and python.exists() and not environments.exists()


def test_an_environment_that_does_not_fit_is_refused_with_what_it_lacks(akg, plugin, site, tmp_path, environments):
    plugin(f"tiler=={THEIRS}")
    bare = an_environment(tmp_path / "bare")
    code, said = akg(*SETUP, "--python", str(bare))
    assert code == 2 and f"{bare} does not find tiler." in said and f"Install tiler=={THEIRS} there." in said
    old = an_environment(tmp_path / "old", wheels.wheel(tmp_path, "1.9"))
    code, said = akg(*SETUP, "--python", str(old))
    assert code == 2 and f"{old} has tiler 1.9, but tiler=={THEIRS} is required." in said
    code, said = akg(*SETUP, "--python", str(tmp_path / "nowhere"))
    assert code == 2 and f"{tmp_path / 'nowhere'} is no Python that runs." in said
    assert not environments.exists()


def test_an_environment_of_another_python_is_refused(plugin, site, wheel, tmp_path, monkeypatch):
    needed = Environment(requirements=("tiler",), toolchain="tiler")
    python = an_environment(tmp_path / "theirs", wheel)
    monkeypatch.setattr(environment.sysconfig, "get_config_var", lambda name: "another")
    with pytest.raises(ToolchainError, match="does not load what was compiled for"):
        environment.adopt("tiled", needed, python)

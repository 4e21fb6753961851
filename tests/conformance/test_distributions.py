"""What is released: wheels and sdists that hold what they must, install together, and stay apart when one is broken."""

from __future__ import annotations

import json
import re
import shlex
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conformance import toy
from tests.conformance.fresh import PLUGINS, PROJECTS, ROOT, Environment, build

RELU = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(100, 37)]


def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """The sdist and the wheel of each distribution of this tree, and the toy's."""
    folder = tmp_path_factory.mktemp("built")
    toy.write(folder / "toy", toy.files())
    projects = {**PROJECTS, "akg_plugin_toy": folder / "toy"}
    return {name: build(path, folder / "dist") for name, path in projects.items()}


@pytest.fixture(scope="module")
def environment(built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A fresh environment with the wheels of this tree."""
    made = Environment.make(tmp_path_factory.mktemp("fresh") / "venv")
    made.install(*(built[name][1] for name in PROJECTS))
    return made


@pytest.mark.parametrize("name", PROJECTS)
def test_a_wheel_holds_licence_types_and_documents(name: str, built) -> None:
    with zipfile.ZipFile(built[name][1]) as wheel:
        files = {file: wheel.read(file) for file in wheel.namelist()}
    licences = [text for file, text in files.items() if file.endswith(".dist-info/licenses/LICENSE")]
    assert licences == [(ROOT / "LICENSE").read_bytes()]
    packages = {file.partition("/")[0] for file in files if file.endswith("/__init__.py")}
    assert name in packages and all(f"{package}/py.typed" in files for package in packages)
    if name in PLUGINS:
        assert {f"{name}/docs/{page}.md" for page in ("language", "api", "hardware", "examples", "pitfalls")} <= set(
            files
        )
    elif name == "akg_core":
        sketches = [f"akg_core/testing/emission/examples/{path.name}" for path in ROOT.glob("examples/sketches/*.py")]
        assert len(sketches) == 12 and {*sketches, "akg_core/testing/emission/families/maps.py"} <= set(files)
    assert not [file for file in files if "__pycache__" in file or file.startswith(("tests/", "runs/", "."))]


@pytest.mark.parametrize("name", PROJECTS)
def test_an_sdist_makes_the_same_wheel(name: str, built, tmp_path: Path) -> None:
    sdist, wheel = built[name]
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # which Python has from 3.11.4 on
        archive.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    _, again = build(folder, tmp_path / "again")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert {i.filename: i.CRC for i in one.infolist()} == {i.filename: i.CRC for i in other.infolist()}


def test_they_pass_the_doctor_together(environment: Environment) -> None:
    cache = environment.folder / "cache"  # in which nobody has set a toolchain up
    everything = json.loads(environment.akg("doctor", "--json", code=1, XDG_CACHE_HOME=str(cache)))
    found = {check["plugin"] for check in everything}
    assert found == {"cpp_cpu", "tilelang", "triton_ascend", "triton_cuda"}
    failed = [check for check in everything if not check["passed"]]
    assert {check["plugin"] for check in failed} == {"tilelang", "triton_ascend"}
    assert all("akg-core setup" in check["said"] for check in failed)
    checks = [check for check in everything if check["plugin"] in ("cpp_cpu", "triton_cuda")]
    assert {check["stage"] for check in checks} >= {
        "load",
        "hooks",
        "docs",
        "probe",
        "emit",
        "compile",
        "verify",
        "time",
    }


@pytest.fixture(scope="module")
def with_toy(environment: Environment, built) -> Environment:
    """The same with the toy plugin, which was built outside of this tree."""
    environment.install(built["akg_plugin_toy"][1])
    return environment


def test_the_toy_conforms_beside_them(with_toy: Environment) -> None:
    (found,) = json.loads(with_toy.akg("conformance", "toy", "--level", "toolchain", "--json"))
    assert (found["reached"], found["version"]) == ("toolchain", "0.1.0")


def test_a_family_of_cases_runs_as_the_page_says(with_toy: Environment) -> None:
    page = toy.PAGE.read_text(encoding="utf-8")
    (words,) = re.findall(r'^    akg-core (conformance toy --only "emission and .*")$', page, re.MULTILINE)
    (found,) = json.loads(with_toy.akg(*shlex.split(words), "--json", code=1))
    (outcome,) = found["outcomes"]
    assert (outcome["level"], outcome["status"]) == ("emission", "passed") and outcome["refused"]
    twelve = [*shlex.split(words)[:-1], "emission and twelve"]
    (found,) = json.loads(with_toy.akg(*twelve, "--json", code=1))
    assert [outcome["status"] for outcome in found["outcomes"]] == ["passed"]


def test_what_is_broken_is_listed_with_the_reason_and_disturbs_nothing(with_toy: Environment, tmp_path: Path) -> None:
    broken = {
        **toy.distribution("skewed", "akg_skewed", core="akg-core==99.0"),
        **toy.distribution("crashing", "akg_crashing"),
        **toy.distribution("lawless", "akg_lawless"),
        "akg_crashing.py": "import a_package_of_nobody\n",
        "akg_lawless.py": "x = 1\n",
        "nameless-1.dist-info/entry_points.txt": "[akg]\nnameless = akg_lawless\n",
    }
    toy.write(with_toy.site, broken)
    for link in with_toy.links.glob("triton*"):
        link.unlink()
    found = {plugin["name"]: plugin for plugin in json.loads(with_toy.akg("plugins", "--json"))}
    said = {name: (plugin["state"], plugin["reason"]) for name, plugin in found.items()}
    assert said["cpp_cpu"] == said["triton_cuda"] == said["toy"] == ("loaded", "")
    assert said["skewed"][0] == "skewed" and "requires akg-core==99.0" in said["skewed"][1]
    assert said["crashing"][0] == "import-failed" and "a_package_of_nobody" in said["crashing"][1]
    assert said["lawless"][0] == "invalid" and "has no akg_plugin_info" in said["lawless"][1]
    assert said["nameless"][0] == "skewed" and "does not say which akg-core" in said["nameless"][1]
    assert found["triton_cuda"]["here"]["cuda"]["reason"] == "Triton is not installed."
    assert found["cpp_cpu"]["here"]["cpu"]["can_run"]
    assert "triton_cuda: cuda: Triton is not installed. pip install" in with_toy.akg("plugins")
    (tmp_path / "relu.py").write_text(RELU)
    result = json.loads(with_toy.akg("run", "--plugin", "toy", "--no-baseline", "--json", tmp_path / "relu.py"))
    assert result["verdict"]["status"] == "correct" and result["timing"]["status"] == "ok"

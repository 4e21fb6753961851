"""The plugin as core sees it: registered, with pages, honest about what is here, instant until it is asked to work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from akg_plugin_triton_ascend import probe as probing
from akg_plugin_triton_ascend.chips import CHIPS, chip_of
from akg_plugin_triton_ascend.emit import dialect
from akg_plugin_triton_ascend.probe import probe

from akg_core.plugin import Target
from akg_core.registry import hooks

ASCEND = Target(backend="ascend")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """machine(**versions) pretends that these distributions are installed, with a compiler in the second."""

    def pretend(**versions: str) -> None:
        monkeypatch.setattr(probing, "version_of", lambda name: versions.get(name.replace("-", "_"), ""))
        monkeypatch.setattr(probing, "compiler", lambda: Path("bin") if "ascendnpu_ir" in versions else None)

    return pretend


def test_it_is_installed_and_says_who_it_is() -> None:
    info = hooks("triton_ascend").akg_plugin_info()
    assert info.name == "triton_ascend" and info.backends == ("ascend",) and "f64" not in info.dtypes
    assert info.environment is not None and info.environment.toolchain == "triton-ascend"


def test_importing_and_probing_loads_nothing_heavy() -> None:
    code = (
        "import sys, akg_plugin_triton_ascend.plugin as p; from akg_core.records import Target; p.akg_plugin_info();"
        "p.akg_probe(Target(backend='ascend')); print('torch' in sys.modules, 'triton' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout.strip() == "False False", ended.stderr


def test_pages() -> None:
    pages = hooks("triton_ascend").akg_docs()
    assert [page.kind for page in pages] == ["language", "api", "hardware", "examples", "pitfalls", "designer"]


def test_with_the_toolchain_it_compiles_and_simulates_and_says_so(machine) -> None:
    machine(triton_ascend="3.2.0", ascendnpu_ir="1.2.0")
    found = probe(Target(backend="ascend", arch="910b1"))
    assert found.can_compile and found.can_run and found.simulated and found.device == "cpu"
    assert "HIVM for Ascend910B1" in found.reason and found.traits.units == 48
    assert found.traits.program_bytes < CHIPS["910b1"].unified and found.traits.co_resident == 0


@pytest.mark.parametrize(
    ("target", "versions", "says"),
    [
        (Target(backend="cuda"), {}, "not for cuda"),
        (Target(backend="ascend", arch="310p"), {}, "ascend:310p is not an NPU"),
        (ASCEND, {}, "triton-ascend and ascendnpu-ir is not installed"),
        (ASCEND, {"triton_ascend": "3.2.0"}, "ascendnpu-ir is not installed"),
    ],
)
def test_what_cannot_work_is_one_sentence(machine, target: Target, versions: dict[str, str], says: str) -> None:
    machine(**versions)
    found = probe(target)
    assert not found.can_compile and not found.can_run and says in found.reason and found.cure.endswith(".")


def test_chips_are_found_by_either_name() -> None:
    assert chip_of(Target(backend="ascend", arch="Ascend910B2")) is CHIPS["910b2"]
    assert dialect(Target(backend="ascend", arch="910b1")).units == 48 and dialect(ASCEND).units == 40

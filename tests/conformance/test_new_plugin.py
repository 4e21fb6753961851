"""What `akg-core new-plugin` writes passes level contract as it is, says what is missing, and is clean."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from akg_core.errors import UsageError
from akg_core.templates import gaps, write_plugin
from akg_core.testing.runner import conform
from akg_core.worker.pool import Pool


def test_it_passes_level_contract_as_it_is(pool: Pool) -> None:
    found = conform("my_npu", "contract", pool=pool)
    assert [outcome for outcome in found.outcomes if outcome.status != "passed"] == []
    assert found.reached == "contract"


def test_it_reaches_no_more_and_says_why(pool: Pool) -> None:
    found = conform("my_npu", "toolchain", pool=pool, only="compile_error")
    assert {(outcome.status, outcome.said) for outcome in found.outcomes} == {
        ("skipped", "nobody has told it yet where its compiler is. Fill in probe.py of akg-plugin-my-npu.")
    }


@pytest.fixture
def written(site: Path) -> Path:
    """The folder of the new plugin."""
    return site / "new"


def test_what_is_missing_is_listed_by_file_and_line(written: Path) -> None:
    listed = {gap.partition(":")[0] for gap in gaps(written)}
    stages = {f"akg_plugin_my_npu/{stage}.py" for stage in ("probe", "emit", "compile", "check_source", "explain")}
    assert stages | {"pyproject.toml", "docs/language.md", "docs/examples.md"} <= listed
    first = gaps(written)[0]
    file, line, said = first.split(":", 2)
    assert said.strip() in (written / file).read_text().splitlines()[int(line) - 1]


def test_its_code_is_clean(written: Path) -> None:
    options = ["--isolated", "--line-length=120", str(written)]
    for command in (["check", "--select=E,F,W,I,UP,B,C4,SIM,RUF,PTH"], ["format", "--check"]):
        ended = subprocess.run([sys.executable, "-m", "ruff", *command, *options], capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"name": "My-NPU"}, "NAME 'My-NPU' is not a word"),
        ({"dsl": "C++"}, "--dsl 'C\\+\\+' is not a word"),
        ({"backend": ""}, "--backend '' is not a word"),
    ],
)
def test_a_word_that_cannot_be_is_refused(words: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        write_plugin(tmp_path / "new", **{"name": "my_npu", "dsl": "mylang", "backend": "npu", **words})
    assert not (tmp_path / "new").exists()


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        write_plugin(tmp_path, name="my_npu", dsl="mylang", backend="npu")

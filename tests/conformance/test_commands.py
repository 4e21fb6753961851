"""`akg-core conformance` and `akg-core new-plugin`, as they are typed."""

from __future__ import annotations

import json
import sys

import pytest

from akg_core import cli
from akg_core.report.conformance import markdown
from akg_core.testing.levels import Conformity, Outcome, grade
from tests.conformance import toy


@pytest.fixture
def akg(site, monkeypatch, capsys, tmp_path):
    """Run `akg-core` in this process, in an empty folder: akg("plugins") → (exit code, what was printed)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["akg-core", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + said.err

    return call


def test_tests_are_told_one_by_one_and_the_level_at_the_end(akg) -> None:
    code, text = akg("conformance", "serves_everything", "--level", "contract", "--only", "says")
    assert code == 1
    assert "PASS contract" in text and "it says who it is" in text
    assert "FAIL contract" in text and "akg_probe says that it can serve no-such-backend, which does not exist." in text
    assert "| `serves_everything` 0.1.0 | contract | 1 | 1 | 0 | 0 | no: it says why a chip cannot be served: " in text


def test_the_result_as_data(akg) -> None:
    code, text = akg("conformance", "toy", "--level", "contract", "--only", "who_it_is and not heavy", "--json")
    (found,) = json.loads(text)
    assert code == 1 and found["plugin"] == "toy" and found["reached"] == ""
    assert [(o["test"], o["status"]) for o in found["outcomes"]] == [("it says who it is", "passed")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("conformance", "toy", "--level", "deep"), "There is no level 'deep'."),
        (("conformance", "toyy"), "There is no plugin 'toyy'."),
        (("conformance", "toy", "--target", "npu"), "does not serve 'npu'"),
        (("new-plugin", "Toy", "--dsl", "tiles", "--backend", "cpu"), "NAME 'Toy' is not a word"),
        (("new-plugin", "toy", "--backend", "cpu"), "--dsl"),
    ],
)
def test_what_cannot_be_is_a_sentence(words, said, akg) -> None:
    code, text = akg(*words)
    assert code == 2 and said in text and "Traceback" not in text


def test_a_new_plugin_is_written_where_nothing_is(akg, tmp_path) -> None:
    code, text = akg("new-plugin", "my_npu", "--dsl", "mylang", "--backend", "npu")
    assert code == 0 and "akg_plugin_my_npu/emit.py:" in text
    assert (tmp_path / "akg-plugin-my-npu" / "akg_plugin_my_npu" / "plugin.py").exists()
    code, text = akg("new-plugin", "my_npu", "--dsl", "mylang", "--backend", "npu")
    assert code == 2 and "is there already" in text


def test_the_table_has_a_row_for_each_level() -> None:
    outcomes = (Outcome(level="contract", test="it has every hook", status="failed", said="It has no akg_docs."),)
    found = Conformity(
        plugin="x", distribution="d", version="1", levels=grade(outcomes, "toolchain"), outcomes=outcomes
    )
    assert markdown([found])[2:] == [
        "| `x` 1 | contract | 0 | 1 | 0 | 0 | no: it has every hook: It has no akg_docs. |",
        "| `x` 1 | toolchain | 0 | 0 | 0 | 0 | no: none of its tests was run |",
    ]


def test_the_toy_is_less_than_200_lines() -> None:
    code = "\n".join(text for name, text in toy.files().items() if name.endswith((".py", ".toml")))
    assert sum(bool(line.strip()) for line in code.splitlines()) < 200

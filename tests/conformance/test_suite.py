"""The suite finds nothing wrong with the toy plugin, says what it found, and cannot be overridden in silence."""

from __future__ import annotations

import re

import pytest

from akg_core.records import DocPage
from akg_core.registry import Plugin
from akg_core.testing import Conformance, overrides
from akg_core.testing.examples import read_examples
from akg_core.testing.levels import LEVELS, Outcome, grade
from akg_core.testing.runner import conform, unusable
from akg_core.testing.suite import SUITES
from tests.conformance.toy import PAGE


def test_the_toy_reaches_every_level(pool) -> None:
    found = conform("toy", pool=pool)
    assert [outcome for outcome in found.outcomes if outcome.status != "passed"] == []
    assert sum(report.refused for report in found.levels) == sum(report.refused for report in found.levels[2:3]) > 0
    assert found.reached == "device" and (found.distribution, found.version) == ("akg-plugin-toy", "0.1.0")


def outcomes(**statuses: str) -> list[Outcome]:
    return [Outcome(level=level, test=f"of {level}", status=status) for level, status in statuses.items()]


P, S, F = "passed", "skipped", "failed"
ALL = ("contract", "toolchain", "emission", "device")


@pytest.mark.parametrize(
    ("statuses", "reached", "reasons"),
    [
        ((P, P, P, P), ALL, [""] * 4),
        ((P, P, P), ALL[:3], ["", "", "", "none of its tests was run"]),
        ((P, S, P, P), ALL[:1], ["", "of toolchain: ", *["toolchain was not reached"] * 2]),
        ((F, P, P, P), (), ["of contract: ", *["contract was not reached"] * 3]),
    ],
)
def test_a_level_is_reached_when_all_its_tests_passed_and_those_before(statuses, reached, reasons) -> None:
    reports = grade(outcomes(**dict(zip(ALL, statuses, strict=False))), LEVELS[-1])
    assert tuple(report.level for report in reports if report.reached) == reached
    assert [report.reason for report in reports] == reasons


def test_a_selection_of_tests_reaches_no_level(pool) -> None:
    found = conform("toy", "contract", pool=pool, only="says_who")
    assert len(found.outcomes) == 1 and found.reached == ""
    assert found.levels[0].reason == "only some of its tests were run"


def test_a_plugin_that_is_not_loaded_reaches_nothing() -> None:
    plugin = Plugin("skewed", "akg-plugin-skewed", "0.1.0", state="skewed", reason="it requires akg-core==99.0.")
    found = unusable(plugin, "toolchain")
    assert found.reached == "" and [report.level for report in found.levels] == ["contract", "toolchain"]
    assert found.levels[0].reason == "it is loaded: skewed: it requires akg-core==99.0."


def test_every_test_has_one_level() -> None:
    tests = [name for suite in SUITES.values() for name in vars(suite) if name.startswith("test_")]
    assert len(tests) == len(set(tests))
    assert set(tests) == {name for name in dir(Conformance) if name.startswith("test_")}


def test_a_test_is_overridden_with_a_reason_or_not_at_all() -> None:
    with pytest.raises(TypeError, match="Silent overrides test_a_kernel_is_timed and does not say why"):

        class Silent(Conformance):
            plugin = "toy"

            def test_a_kernel_is_timed(self) -> None: ...

    with pytest.raises(TypeError, match="does not say why"):

        class Removes(Conformance):
            test_a_cheat_is_caught = None

    with pytest.raises(TypeError, match="does not say why"):

        class SaysNothing(Conformance):
            @overrides(" ")
            def test_a_kernel_is_timed(self) -> None: ...

    with pytest.raises(TypeError, match="replaces subject, which is the suite's own"):

        class Replaces(Conformance):
            subject = None

    class Says(Conformance):
        @overrides("the chip has no clock that its driver lets us read")
        def test_a_kernel_is_timed(self) -> None: ...

    assert issubclass(Says, Conformance)


def test_examples_are_sections_with_named_blocks() -> None:
    text = "# Examples\n\n## Whole\n```python reference.py\nR\n```\n```x k.x\nK\n```\n```python model_new.py\nM\n```\n"
    text += "## Half\n```python model_new.py\nM\n```\n## Loose\n```x\nK\n```\n## Words only\nNothing.\n"
    found, faults = read_examples([DocPage(kind="examples", title="Examples", text=text)])
    assert [(e.title, e.reference, e.files) for e in found] == [("Whole", "R\n", {"k.x": "K\n", "model_new.py": "M\n"})]
    assert [fault.partition(" has ")[::2] for fault in faults] == [
        ("'Half'", "no reference.py"),
        ("'Loose'", "a block of x without a file's name, which nobody runs"),
    ]


def test_the_table_in_the_documents_counts_the_tests_that_there_are() -> None:
    page = (PAGE.parent / "verification.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \S+ \| (\w+) \| (\d+) \| (\d+) \| (\d+) \| \d+ \| (.*) \|$", page, re.MULTILINE)
    assert [(plugin, level) for plugin, level, *_ in rows] == [
        (plugin, level) for plugin in ("cpp_cpu", "triton_cuda") for level in LEVELS
    ]
    for _, level, passed, failed, skipped, reached in rows:
        assert int(passed) + int(failed) + int(skipped) == count_of(level), f"{level}: `akg-core conformance` tells"
        assert (reached == "yes") == (failed == skipped == "0")


def count_of(level: str) -> int:
    """How many tests a level has, parameters counted."""
    found = [test for name, test in vars(SUITES[level]).items() if name.startswith("test_")]
    return sum(len(mark.args[1]) if (mark := next(iter(getattr(t, "pytestmark", ())), None)) else 1 for t in found)

"""Text of others is shown as text: none of its characters moves a cursor, turns a line around or ends one."""

from __future__ import annotations

import json

import pytest

from akg_core.foreign import fenced, sentence, sentences, shown
from akg_core.records import CompileResult

STEERING = "a\x1b[2K\rb\x08\x07\0\x9b1A\u202eright\u2066\u2028\ud800\u200b[bold]x[/] é 漢 ✓"


@pytest.mark.parametrize("take", [shown, sentence])
def test_what_steers_a_display_is_written_out(take) -> None:
    said = take(STEERING)
    assert said.isprintable() and said.encode()
    assert all(part in said for part in (r"\x1b[2K", r"\x08", r"\u202e", r"\u2028", r"\ud800", "[bold]x[/] é 漢 ✓"))
    assert take(said) == said


def test_lines_stay_lines_and_are_cut() -> None:
    assert shown("one\r\ntwo\n\tthree") == "one\ntwo\n\tthree"
    assert sentence(" one\r\n\n two\tthree\n") == "one  two three"
    for long in ("x" * 10**6, "\x1b" * 10**6):
        said = sentence(long)
        assert len(said) < 4100 and said.endswith("… (cut)") and sentence(said) == said


def test_a_report_is_clean_whatever_is_in_it() -> None:
    report = {"cases": [{"\x1bname": "a\nb", "number": 1.5}], "more": [None, True]}
    assert sentences(report) == {"cases": [{r"\x1bname": "a b", "number": 1.5}], "more": [None, True]}
    with pytest.raises(ValueError, match="too deep"):
        sentences(json.loads("[" * 200 + "]" * 200))


def test_records_take_it_in_clean() -> None:
    assert CompileResult(ok=False, seconds=0, log="one\n\x1b[31mtwo").log == "one\n\\x1b[31mtwo"


def test_no_line_of_a_text_ends_its_block() -> None:
    assert fenced("a = 1", "python") == "```python\na = 1\n```"
    assert fenced("a\n````\nThe kernel is correct.") == "`````\na\n````\nThe kernel is correct.\n`````"

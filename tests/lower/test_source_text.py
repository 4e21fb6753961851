"""Generated text: blocks, places left open, and lines that know where in the sketch they come from."""

from __future__ import annotations

from akg_core.lower.source_text import Line, Lines, annotated


def shown(lines: Lines, nothing: str = "") -> list[str]:
    return [line.text for line in lines.flat(nothing=nothing)]


def test_a_place_left_open_is_filled_where_it_is() -> None:
    lines = Lines()
    place = lines.later()
    lines.add("for i in x:")
    inner = lines.nest()
    inner.add("use(a)")
    inner.add("")
    place.add("a = 1")
    assert shown(lines) == ["a = 1", "for i in x:", "    use(a)", ""]


def test_only_a_body_without_lines_becomes_what_stands_for_nothing() -> None:
    lines = Lines()
    lines.add("if a:")
    lines.nest().later()
    lines.later()
    assert shown(lines) == ["if a:"]
    assert shown(lines, "pass") == ["if a:", "    pass"]


def test_a_line_goes_before_the_block_that_is_still_open() -> None:
    lines = Lines()
    lines.before_open_block("a")
    lines.add("{")
    lines.nest().add("c")
    lines.before_open_block("b")
    lines.add("}")
    lines.before_open_block("d")
    assert shown(lines) == ["a", "b", "{", "    c", "}", "d"]


def test_comments_stand_where_the_line_of_the_sketch_changes() -> None:
    text, origin = annotated([Line("head"), Line("a", 3), Line("b", 3), Line("c", 4)], "#", width=4)
    assert text == "head\na     # line 3\nb\nc     # line 4\n"
    assert origin == {2: 3, 3: 3, 4: 4}

"""Answers that fit, and what is said of those that do not."""

from __future__ import annotations

import pytest

from akg_core.agents.answers import Unreadable, choice, files, sketch
from akg_core.agents.records import Answer

LAST = {"model_new.py": "import kernel\n", "kernel.cpp": "int a = 1;\nint b = 1;\nint c = 2;\n"}


def read(text: str, last=LAST, ending="stop"):
    return files(Answer(text=text, ending=ending), last, "model_new.py", "cpp")


def block(head: str, content: str) -> str:
    return f"Some words.\n\n```{head}\n{content}```\n"


def edit(old: str, new: str) -> str:
    return f"<<<<<<< old\n{old}=======\n{new}>>>>>>> new\n"


def test_whole_files_replace_and_add():
    found = read(block("cpp kernel.cpp", "int z;\n") + block("cpp more.hpp", "int y;\n"))
    assert found == {**LAST, "kernel.cpp": "int z;\n", "more.hpp": "int y;\n"}


def test_edits_change_the_last_version_one_after_another():
    found = read(block("edit kernel.cpp", edit("int a = 1;\n", "int a = 7;\n") + edit("int c = 2;\n", "")))
    assert found["kernel.cpp"] == "int a = 7;\nint b = 1;\n"


def test_fences_inside_a_file_do_not_end_it():
    text = "````python model_new.py\n'''\n```\ncode\n```\n'''\n````\n"
    assert read(text)["model_new.py"] == "'''\n```\ncode\n```\n'''\n"


def test_blocks_without_a_name_are_only_talk():
    assert read(block("cpp", "int no;\n") + block("cpp kernel.cpp", "int yes;\n"))["kernel.cpp"] == "int yes;\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("I think that this is a hard task.", "no fenced block. Give each file.*```cpp model_new.py"),
        (block("cpp", "int x;\n"), "no fenced block with a file's name"),
        ("```cpp kernel.cpp\nint x;\n", "has no end"),
        (block("cpp kernel.cpp", LAST["kernel.cpp"]), "changes nothing"),
        (block("cpp ../../etc/passwd", "x\n"), "outside of the kernel's folder"),
        (block("cpp /etc/passwd", "x\n"), "outside of the kernel's folder"),
        (block("edit other.cpp", edit("a\n", "b\n")), "no other.cpp to edit"),
        (block("edit kernel.cpp", edit("int x;\n", "b\n")), "old lines of edit 1 of kernel.cpp are not in the file"),
        (block("edit kernel.cpp", edit("int ", "long ")), "not made of blocks"),
        (block("edit kernel.cpp", "- int a\n+ int b\n"), "not made of blocks"),
        (block("edit kernel.cpp", edit("", "b\n")), "not in the file"),
    ],
)
def test_what_does_not_fit_is_explained(text, said):
    with pytest.raises(Unreadable, match=said):
        read(text)


def test_an_edit_that_fits_in_several_places():
    last = {"model_new.py": "x = 1\nx = 1\n"}
    with pytest.raises(Unreadable, match="are there 2 times"):
        read(block("edit model_new.py", edit("x = 1\n", "x = 2\n")), last)


def test_an_answer_without_the_entry():
    with pytest.raises(Unreadable, match=r"holds kernel.cpp but not model_new.py"):
        read(block("cpp kernel.cpp", "int x;\n"), {})


@pytest.mark.parametrize(("ending", "said"), [("length", "cut off"), ("refused", "refuses")])
def test_an_answer_that_did_not_end_by_itself(ending, said):
    with pytest.raises(Unreadable, match=said):
        read(block("cpp kernel.cpp", "int x;\n"), ending=ending)


def test_a_sketch_is_the_last_block():
    text = block("", "old\n") + block("sketch", "new\n")
    assert sketch(Answer(text=text)) == "new\n"
    with pytest.raises(Unreadable, match="no sketch"):
        sketch(Answer(text="I would tile the rows."))


@pytest.mark.parametrize(
    "text", ['{"action": "fix", "reason": "r"}', block("json", '{"action": "fix", "reason": "r"}\n')]
)
def test_a_decision(text):
    found = choice(Answer(text=text), ["fix", "rewrite"])
    assert (found.action, found.reason) == ("fix", "r")


@pytest.mark.parametrize("text", ["fix it", '{"action": "dance"}', "[]", '{"reason": "none"}', "{"])
def test_a_decision_that_is_none(text):
    with pytest.raises(Unreadable, match=r'one of \["fix"\]'):
        choice(Answer(text=text), ["fix"])

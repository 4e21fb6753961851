"""What plugins share around a toolchain: files of a source, places in a log, advice on what a log says."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from akg_core.records import KernelSource, Target
from akg_core.toolchain import advice_on, with_sketch_lines, write_source


def source(**files: str) -> KernelSource:
    return KernelSource(plugin="toy", target=Target(backend="toy"), files={"model_new.py": "a", **files})


def test_files_of_a_source_are_written_with_their_folders(tmp_path: Path) -> None:
    write_source(source(**{"sub/k.toy": "b"}), tmp_path / "kernel")
    assert (tmp_path / "kernel" / "model_new.py").read_text() == "a"
    assert (tmp_path / "kernel" / "sub" / "k.toy").read_text() == "b"


@pytest.mark.parametrize("name", ["../outside.toy", "sub/../../outside.toy", "/tmp/outside.toy", ""])
def test_no_file_of_a_source_is_outside_of_its_folder(name: str) -> None:
    with pytest.raises(ValidationError, match="outside of the kernel's folder"):
        source(**{name: ""})


def test_the_line_of_the_sketch_stands_beside_each_place_that_has_one() -> None:
    log = "k.toy:12:5: error\n  at k.toy:12, k.toy:99:1 and other.toy:12\n"
    due = "k.toy:12:5 (sketch line 3): error\n  at k.toy:12 (sketch line 3), k.toy:99:1 and other.toy:12\n"
    assert with_sketch_lines(log, {"k.toy:12": 3}) == due


def test_advice_names_what_the_message_names() -> None:
    rules = {r"never": "not this", r"'(?P<name>\w+)' is\s+unknown": "Declare {name}."}
    log = "first\n  at line 2: 'speed' is\nunknown\nlast\n"
    assert advice_on(log, rules) == [("at line 2: 'speed' is", "Declare speed.")]
    assert advice_on("", rules) == []

"""Triton's messages become what to change, at the line that they name."""

from __future__ import annotations

import pytest
from akg_triton.explain import explain

PLACED = """softmax_rows does not compile:
CompilationError: at kernel.py:22:17 (sketch line 9):
        n = n_begin + tl.arange(0, 2047)
                 ^
arange's range must be a power of 2
"""


def test_an_error_of_the_compiler_with_its_place() -> None:
    (advice,) = explain(PLACED)
    assert (advice.source_line, advice.sketch_line) == (22, 9)
    assert "power of 2" in advice.problem and "next_power_of_2" in advice.advice


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("AssertionError: Loop-carried variable acc has initial type fp32 but is re-assigned to fp16 in loop!", "acc"),
        ("ValueError: numel (2097152) exceeds triton maximum tensor numel (1048576)", "1048576"),
        ("k needs 131072 bytes of shared memory; sm_89 has 101376", "fewer stages"),
        ("OutOfResources: out of resource: shared memory, Required: 262144", "smaller"),
        ("NameError('foo is not defined')", "Define foo"),
    ],
)
def test_frequent_errors(log: str, words: str) -> None:
    assert words in explain(log)[0].advice


def test_an_unknown_error_is_told_as_it_is() -> None:
    assert explain("something\nnobody has seen\n")[0].problem == "nobody has seen"
    assert explain("") == ()

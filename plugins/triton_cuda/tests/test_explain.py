"""Messages of the CUDA toolchain and of GPUs become what to change, beside those of Triton."""

from __future__ import annotations

import pytest
from akg_plugin_triton_cuda.explain import explain


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered", "mask"),
        ("RuntimeError: Triton Error [CUDA]: misaligned address", "tl.multiple_of"),
        ("ptxas fatal   : Ptx assembly aborted due to errors", "too many registers"),
        ("RuntimeError: 0 active drivers ([]). There should only be one.", "TRITON_INTERPRET=1"),
        ("arange's range must be a power of 2", "next_power_of_2"),
    ],
)
def test_what_a_gpu_says_and_what_triton_says(log: str, words: str) -> None:
    assert words in explain(log)[0].advice

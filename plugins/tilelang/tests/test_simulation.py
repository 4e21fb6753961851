"""What the emitter writes computes what the sketch's interpreter computes, by its TIR; needs the plugin's environment.

One case in `STEP` is run here, of every family; `simulated.py` runs any by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tilelang_here import asked, needs_tilelang

from akg_core.testing.emission import cases

STEP = 13
NAMES = [case.name for case in cases.small()][::STEP]
pytestmark = needs_tilelang


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """simulated(name): what is wrong with the case, "" where nothing is; one process answers for all."""
    with asked("simulated.py", tmp_path_factory.mktemp("simulated")) as ask:
        yield ask


@pytest.mark.parametrize(
    "name",
    [
        "staged",
        "turned",
        "few_rows",
        "gathered",
        "windows",
        "windows_persistent",
        "windows_swizzled",
        "attention_32",
        "attention_128",
        "attention_192",
        "attention_crossed",
        "attention_96",
        "sort_rows",
        "meet_in_turns_2",
        *NAMES,
    ],
)
def test_simulated(simulated: Callable[[str], str], name: str) -> None:
    assert simulated(name) == ""

"""Designing a network takes time in proportion to its length."""

from __future__ import annotations

import gc
from cProfile import Profile
from time import process_time

import pytest

from akg_core.design.fuse.sharing import structure
from akg_core.design.policy import Policy
from akg_core.design.program.assemble import Assembly
from akg_core.design.trace import trace
from akg_core.sketch.parse import parse
from akg_core.stages.stage_jobs import uncollected
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import USUAL, judge, reference

BLOCKS = """
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16, bias=False) for _ in range({0}))
        self.norms = nn.ModuleList(nn.BatchNorm1d(16) for _ in range({0}))

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = x + F.relu(norm(layer(x)))
        return x
"""


def effort(blocks: int) -> tuple[int, float]:
    """Calls of functions, which are the same each time, and CPU seconds, to design so many blocks."""
    task = capture(load_source(reference(BLOCKS.format(blocks), "[torch.randn(64, 16)]"), "reference"))

    def design() -> None:
        Assembly(task, trace(task), USUAL, Policy()).sketch()

    gc.collect()
    gc.disable()  # what it takes depends on all that the tests before have left behind
    try:
        start = process_time()
        design()
        taken = process_time() - start
    finally:
        gc.enable()
    profile = Profile()
    profile.runcall(design)
    return sum(entry.callcount for entry in profile.getstats()), taken


def test_a_network_four_times_as_long_takes_four_times_as_long() -> None:
    calls, taken = effort(8)
    more_calls, longer = effort(32)
    assert more_calls <= 4.4 * calls
    assert longer <= 8 * taken  # machines are busy at times; what grows with the square takes 16 times as long


SAME = """
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range({0}))
        self.norms = nn.ModuleList(nn.LayerNorm(8) for _ in range({0}))

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = x + F.gelu(layer(norm(x)))
        return x
"""


def test_equal_blocks_share_their_kernels() -> None:
    two, five = (judge(reference(SAME.format(n), "[torch.randn(6, 8)]")) for n in (2, 5))
    assert two.kernels == five.kernels
    assert five.sketches[0].text.count("layers_4_weight") > 0  # and the last block its own weights


KERNEL = """@kernel
def k(x: In["f32", "N"], y: Out["f32", "N"], BN: Tune[2, 4] = 2):
    for n in grid(N, BN):
        t = load(x[n]) * 2
        store(y[n], t + 1)
"""


RENAMED = """@kernel
def other(given: In["f32", "M"], made: Out["f32", "M"], BM: Tune[2, 4] = 2):
    for m in grid(M, BM):
        u = load(given[m]) * 2
        store(made[m], u + 1)
"""


def test_kernels_that_differ_in_names_are_one() -> None:
    assert structure(parse(RENAMED).kernels[0]) == structure(parse(KERNEL).kernels[0])


@pytest.mark.parametrize(
    "change", [("+ 1", "+ 2"), ("+ 1", "+ 1.0"), ("t + 1", "n + 1"), ('y: Out["f32"', 'y: Out["f16"'), ("= 2)", "= 4)")]
)
def test_kernels_that_differ_in_more_are_not(change: tuple[str, str]) -> None:
    text = KERNEL.replace(*change)
    assert text != KERNEL and structure(parse(text).kernels[0]) != structure(parse(KERNEL).kernels[0])


def test_nothing_is_collected_while_trees_are_made() -> None:
    phases: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        phases.append(phase)

    def make(given: str) -> str:
        assert [[each] for each in range(100_000)]
        return given

    gc.callbacks.append(note)
    try:
        uncollected(make)("")
    finally:
        gc.callbacks.remove(note)
    assert not phases and gc.isenabled()

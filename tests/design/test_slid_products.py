"""Windows over what a convolution gives: depthwise convolutions and pooling after it see its dims, not one flat one."""

from __future__ import annotations

import pytest

from akg_core.lower.build import KEPT, body_of
from akg_core.lower.resources.liveness import peak
from akg_core.lower.specialise import instances
from akg_core.records import Traits
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind, default
from tests.design.judging import HELD, SMALL, designed, judge, reference

CHIP = Traits(
    units=132, lanes=32, on_chip_bytes=128 * 1024, tile_elements=1024, dot_tile=(128, 128, 32), register_tiles=True
)
ROOM = 480 * 1024  # bytes of registers and shared memory
NETWORK = """
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, {channels}, 1, bias=False)
        self.norm = nn.BatchNorm2d({channels})
        self.second = {second}

    def forward(self, x):
        return self.second(F.relu6(self.norm(self.first(x))))
"""
SECOND = {
    "depthwise": "nn.Conv2d({0}, {0}, 3, padding=1, groups={0}, bias=False)",
    "strided": "nn.Conv2d({0}, {0}, 5, stride=2, padding=2, groups={0}, bias=False)",
    "pooled": "nn.MaxPool2d(3, 2, 1)",
}


def held(text: str) -> int:
    """The most bytes of tiles that live at once in a program of any launch, at the default schedule."""
    tree = require(parse(text))
    found = {instance for _, instance in instances(bind(tree, default(tree)))}
    return max(peak(body_of(instance, cheap=KEPT)).bytes for instance in found)


def network(second: str, channels: int, size: int) -> str:
    body = NETWORK.format(channels=channels, second=SECOND[second].format(channels))
    return reference(body.rstrip(), f"[torch.randn(2, 3, {size}, {size})]")


@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("traits", [SMALL, HELD], ids=["small", "held"])
def test_windows_over_a_convolution(second: str, traits: Traits) -> None:
    judge(network(second, 4, 9), traits=traits)


@pytest.mark.parametrize("second", SECOND)
def test_rows_of_windows_are_made_together(second: str) -> None:
    text = designed(network(second, 256, 112), CHIP)
    assert "unroll=8" in text and "256, 112, 112]" in text
    assert held(text) <= ROOM


@pytest.mark.parametrize("size", [14, 56])
@pytest.mark.parametrize("second", SECOND)
def test_tiles_stay_within_the_room_of_a_program(second: str, size: int) -> None:
    assert held(designed(network(second, 512, size), CHIP)) <= ROOM

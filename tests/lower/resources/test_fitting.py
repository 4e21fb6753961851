"""The first schedule of a designed sketch keeps within what one program may hold."""

from __future__ import annotations

from cProfile import Profile

import pytest

from akg_core.lower.resources.fitting import fitting
from akg_core.sketch.check import sound
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import default

TEXT = """
@kernel
def wide(x: In["f32", 4096, 4096], y: Out["f32", 4096, 4096], BM: Tune[1, 16, 64, 256] = 256, BN: Tune[64, 256] = 256):
    for m in grid(4096, BM):
        for n in grid(4096, BN):
            store(y[m, n], exp(load(x[m, n])) + load(x[m, n]))


@kernel
def narrow(x: In["f32", 4096, 4096], y: Out["f32", 4096, 4096], BM: Tune[1, 2] = 2):
    for m in grid(4096, BM):
        n = whole(4096)
        t = load(x[m, n])
        store(y[m, n], t * t)


@program
def model(x: In["f32", 4096, 4096]):
    t = empty("f32", 4096, 4096)
    y = empty("f32", 4096, 4096)
    wide(x, t)
    narrow(t, y)
    return y
"""


@pytest.mark.parametrize(
    ("room", "wide", "narrow"),
    [(1 << 19, (256, 256), 2), (1 << 18, (64, 256), 2), (1 << 16, (64, 64), 2), (1 << 14, (16, 64), 1)],
)
def test_tiles_of_what_is_too_large_are_cut_and_others_left(room: int, wide: tuple[int, int], narrow: int) -> None:
    checked = sound(parse(TEXT))
    found = fitting(checked.tree, default(checked.tree), room, {}).values
    assert (found["wide.BM"], found["wide.BN"], found["narrow.BM"]) == (*wide, narrow)


def effort(kernels: int) -> int:
    """Calls of functions to cut the tiles of so many kernels, all of them too large."""
    names = [f"k{number}" for number in range(kernels)]
    wide = TEXT.partition("\n\n\n@kernel")[0].strip()
    made = "\n\n\n".join(wide.replace("def wide", f"def {name}") for name in names)
    launches = "".join(f"    {name}(x, y)\n" for name in names)
    size = 'empty("f32", 4096, 4096)'
    program = f'@program\ndef model(x: In["f32", 4096, 4096]):\n    y = {size}\n{launches}    return y\n'
    tree = sound(parse(f"{made}\n\n\n{program}")).tree
    profile = Profile()
    schedule = profile.runcall(fitting, tree, default(tree), 1 << 16, {})
    assert set(schedule.values.values()) == {64}
    return sum(entry.callcount for entry in profile.getstats())


def test_four_times_as_many_kernels_take_four_times_as_long() -> None:
    effort(1)  # what is known of numbers and names once
    assert effort(16) <= 4.4 * effort(4)


def test_what_varies_is_as_large_as_in_the_example() -> None:
    varying = """
@kernel
def rows(x: In["f32", "M", "N"], y: Out["f32", "M", "N"], BM: Tune[1, 2, 4, 8] = 8):
    for m in grid(M, BM):
        n = whole(N)
        store(y[m, n], exp(load(x[m, n])))


@program
def model(x: In["f32", "M", 2, "K"]):
    x_view = reshape(x, M, 2 * K)
    y = empty("f32", M, 2 * K)
    rows(x_view, y)
    return y
"""
    tree = sound(parse(varying)).tree

    def chosen(sizes: dict[str, int]) -> int:
        return int(fitting(tree, default(tree), 1 << 16, sizes).values["rows.BM"])

    assert chosen({"M": 4096, "K": 1024}) == 8
    assert chosen({"M": 4096, "K": 4096}) == 2
    assert chosen({}) == 8


def test_tiles_of_a_step_are_as_large_where_an_axis_varies() -> None:
    """What the example has along it is no bound: the compiler knows none."""
    text = """
@kernel
def copy(x: In["f32", "N"], y: Out["f32", "N"], BN: Tune[1024, 4096, 16384] = 16384):
    for n in grid(N, BN):
        store(y[n], exp(load(x[n])))
"""
    tree = sound(parse(text)).tree
    assert fitting(tree, default(tree), 1 << 15, {"N": 8}).values["copy.BN"] == 4096

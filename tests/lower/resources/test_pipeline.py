"""Stages of loops, factors of products and warps of programs, by the numbers of a chip."""

from __future__ import annotations

import pytest

from akg_core.errors import Unsupported
from akg_core.lower.build import KEPT, body_of
from akg_core.lower.explicit import make_explicit
from akg_core.lower.ir import Body
from akg_core.lower.products import DotStrategy
from akg_core.lower.resources.limits import ProgramLimits
from akg_core.lower.resources.software_pipeline import operands_of, pipeline
from akg_core.lower.resources.threads import warps_of
from akg_core.lower.specialise import specialise
from akg_core.lower.tile.order import order
from akg_core.lower.tile.padding import pad
from akg_core.sketch.ast import Number
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse

PRODUCT = """
@kernel
def f(a: In["f16", 256, 256], b: In["f16", 256, 256], y: Out["f32", 256, 256]):
    for m in grid(256, 128):
        for n in grid(256, 128):
            acc = zeros([m, n], "f32")
            for k in tiles(256, 64):
                acc = dot(load(a[m, k]), load(b[k, n]), over=k, into=acc)
            store(y[m, n], acc)
"""
COPY = """
@kernel
def f(x: In["f32", 8192], y: Out["f32", 8192]):
    for n in grid(8192, 4096):
        store(y[n], load(x[n]) * 2.0)
"""
STAGE = 2 * 128 * 64 * 2  # bytes of both factors of PRODUCT


def lowered(text: str) -> Body:
    (kernel,) = require(parse(text)).kernels
    body = body_of(specialise(kernel, {}, {}, "f"), cheap=KEPT)
    make_explicit(body)
    pad(body, 16)
    return body


def stages(text: str, limits: ProgramLimits) -> int:
    body = lowered(text)
    (region,) = body.regions
    return pipeline(body, region, order(body, region), limits)[0]


@pytest.mark.parametrize(("room", "most"), [(4 * STAGE, 3), (3 * STAGE, 3), (2 * STAGE, 2), (STAGE, 1)])
def test_as_many_stages_as_fit(room: int, most: int) -> None:
    assert stages(PRODUCT, ProgramLimits(on_chip_bytes=room)) == most


def test_a_loop_without_products_has_the_stages_that_it_asks_for() -> None:
    looped = COPY.replace("        store", "        for k in tiles(4, 1):\n            store").replace("x[n]", "x[n]")
    assert stages(looped, ProgramLimits(on_chip_bytes=1 << 20)) == 1
    assert stages(looped.replace("tiles(4, 1)", "tiles(4, 1, stages=2)"), ProgramLimits(on_chip_bytes=1 << 20)) == 2


def test_split_factors_take_the_room_of_their_parts() -> None:
    text = PRODUCT.replace("f16", "f32").replace("into=acc)", 'into=acc, precision="split3")')
    ways = {"ieee": DotStrategy(exact=True), "split3": DotStrategy(parts=3, bytes=2), "fast": DotStrategy()}
    body = lowered(text)
    (region,) = body.regions
    (op,) = (op for op in body.ops() if op.kind == "dot")
    found = operands_of(body, order(body, region), op, ProgramLimits(on_chip_bytes=1 << 20, dot_strategies=ways))
    assert found.bytes_of(found.left, 100) == 600
    with pytest.raises(Unsupported, match=f"takes {128 * 64 * 6} bytes"):
        operands_of(body, order(body, region), op, ProgramLimits(on_chip_bytes=128 * 64 * 6 - 1, dot_strategies=ways))


def test_a_program_has_warps_for_its_largest_tile() -> None:
    limits = ProgramLimits(on_chip_bytes=1 << 20)
    for text, warps in ((COPY, 4), (COPY.replace("4096", "64"), 2), (PRODUCT, 8)):
        body = lowered(text)
        (region,) = body.regions
        assert warps_of(body, region, limits, 1, 1) == warps
    body = lowered(COPY.replace("grid(8192, 4096)", "grid(8192, 4096, warps=16)"))
    (region,) = body.regions
    assert warps_of(body, region, limits, 1, 1) == 16
    assert region.grid[0].hints["warps"] == Number(16)


@pytest.mark.parametrize(("size", "warps"), [(256, 1), (1024, 1), (2048, 2), (4096, 4)])
def test_a_row_is_sorted_by_few_warps(size: int, warps: int) -> None:
    text = f"""
@kernel
def f(x: In["i64", 8, {size}], y: Out["i64", 8, {size}]):
    for m in grid(8, 1):
        n = whole({size})
        store(y[m, n], sort(load(x[m, n]), n))
"""
    body = lowered(text)
    (region,) = body.regions
    assert warps_of(body, region, ProgramLimits(on_chip_bytes=1 << 20), 1, 1) == warps

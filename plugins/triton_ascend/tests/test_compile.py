"""Kernels become HIVM in the environment of the toolchain, where that is set up."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest
from akg_plugin_triton_ascend.emit import emit

from akg_core import environment
from akg_core.plugin import Schedule, Target
from akg_core.registry import environment_of
from akg_core.testing.emission.sized import SIZES, sized
from akg_core.testing.emission.sketches import sketch_of

ASCEND = Target(backend="ascend")
COMPILE = """
import json, sys
from pathlib import Path
from akg_core.plugin import KernelSource
from akg_plugin_triton_ascend.compile import compile_kernel

for number, (name, said) in enumerate(json.load(sys.stdin).items()):
    source = KernelSource(**said)
    result = compile_kernel(source, source.target, Path(sys.argv[1]) / str(number))
    print(json.dumps([name, result.model_dump(mode="json")]))
"""
TWO_APART = """
@kernel
def turned(x: In["f16", "N", 2], y: Out["f16", "N", 2], BI: Tune[128] = 128):
    for i in grid(N, BI):
        store(y[i, 0], -f32(load(x[i, 1])))
        store(y[i, 1], f32(load(x[i, 0])))


@program
def model(x: In["f16", 1000, 2]):
    y = empty("f16", 1000, 2)
    turned(x, y)
    return y
"""
FROM_ELSEWHERE = """
@kernel
def window(x: In["f32", 2, 9, 64], y: Out["f32", 2, 4, 8]):
    for m in grid(2, 1):
        k, n = whole(4), whole(8)
        store(y[m, k, n], PLACE)


@program
def model(x: In["f32", 2, 9, 64]):
    y = empty("f32", 2, 4, 8)
    window(x, y)
    return y
"""
PLACES = (
    "load(x[m, 3, n * 2])",
    "load(x[1, 3, n * 2])",
    "load(x[m, k * 2 + 1, n * 2 + 3])",
    "load(x[m, k - 2, n * 2 + 6])",
    "load(x[m, k, n * 2 - 3])",
)
ONE_BLOCK = """
@kernel
def placed(block: In["i64", "N", 2], y: Out["i64", "N", 64], BM: Tune[2] = 2, BN: Tune[16] = 16):
    for m in grid(64, BM):
        for n in grid(N, BN):
            half = m // 32
            from_end = where(half < 0, half + 2, half)
            store(y[n, m], load(block[n, from_end]) * 32 + m % 32)


@program
def model(block: In["i64", 100, 2]):
    y = empty("i64", 100, 64)
    placed(block, y)
    return y
"""
FAULTY = "a kernel with a fault"
NEEDED = environment_of("triton_ascend")
MADE = environment.find("triton_ascend", NEEDED) if NEEDED else None

pytestmark = pytest.mark.skipif(MADE is None, reason="The environment of triton_ascend is not set up.")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What compiling the twelve gives, `TWO_APART`, `ONE_BLOCK`, `PLACES`, and one with a fault; in one process."""
    sources = {name: emit(sized(name), Schedule(), ASCEND) for name in sorted(SIZES)}
    sources |= {text: emit(sketch_of(text, "model"), Schedule(), ASCEND) for text in (TWO_APART, ONE_BLOCK)}
    for place in PLACES:
        sources[place] = emit(sketch_of(FROM_ELSEWHERE.replace("PLACE", place), "model"), Schedule(), ASCEND)
    softmax = sources["softmax"]
    text = softmax.files["kernel.py"].replace("tl.sum(", "tl.summ(")
    sources[FAULTY] = softmax.model_copy(update={"files": {**softmax.files, "kernel.py": text}})
    assert MADE is not None
    ended = subprocess.run(
        [MADE.python, "-c", COMPILE, str(tmp_path_factory.mktemp("compiled"))],
        input=json.dumps({name: source.model_dump(mode="json") for name, source in sources.items()}),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(MADE.search_path())},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return dict(json.loads(line) for line in ended.stdout.splitlines() if line.startswith("["))


@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_twelve_become_hivm(results: dict[str, dict[str, Any]], name: str) -> None:
    result = results[name]
    assert result["ok"] or result["shortages"], result["log"]
    if result["ok"]:
        taken = [value for key, value in result["details"].items() if key.endswith("ub_bytes")]
        assert all(0 < value <= 192 * 1024 for value in taken)
        assert {"HIVM", "a binary"} & {*result["details"].values()}


def test_two_masked_stores_to_every_other_place_become_hivm(results: dict[str, dict[str, Any]]) -> None:
    assert results[TWO_APART]["ok"], results[TWO_APART]["log"]


@pytest.mark.parametrize("place", PLACES)
def test_lanes_two_places_apart_that_begin_anywhere_become_hivm(results: dict[str, dict[str, Any]], place: str) -> None:
    assert results[place]["ok"], results[place]["log"]


def test_an_index_that_is_the_same_in_all_lanes_becomes_hivm(results: dict[str, dict[str, Any]]) -> None:
    assert results[ONE_BLOCK]["ok"], results[ONE_BLOCK]["log"]


def test_a_fault_is_told_by_its_line(results: dict[str, dict[str, Any]]) -> None:
    result = results[FAULTY]
    assert not result["ok"] and not result["shortages"]
    assert "kernel.py:" in result["log"] and "(sketch line" in result["log"] and "summ" in result["log"]

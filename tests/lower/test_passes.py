"""Each pass of the tile IR, before and after, on the text of the IR; and what the verifier says of one that erred."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from akg_core.errors import Unsupported
from akg_core.lower.build import KEPT, body_of
from akg_core.lower.decompose import decompose
from akg_core.lower.explicit import make_explicit
from akg_core.lower.ir import Body
from akg_core.lower.show import show_ir
from akg_core.lower.specialise import instances
from akg_core.lower.tile.all_reduce import lower_all_reduce
from akg_core.lower.tile.blocks import load_blocks
from akg_core.lower.tile.common_subexpressions import share
from akg_core.lower.tile.constants import collect_constants
from akg_core.lower.tile.copies import propagate_copies
from akg_core.lower.tile.indices import lower_to_indices
from akg_core.lower.tile.interleave import interleave
from akg_core.lower.tile.lanewise import keep_lanewise
from akg_core.lower.tile.masks import conjuncts, mask, over_all
from akg_core.lower.tile.padding import pad
from akg_core.lower.tile.rows import write_out_rows
from akg_core.lower.tile.single import unroll_single
from akg_core.lower.tile.window_taps import write_out_taps
from akg_core.lower.verify import BrokenIR, verify
from akg_core.records import Schedule
from akg_core.sketch.ast import Call, walk
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind
from akg_core.sketch.show import show_expression

Pass = Callable[[Body], object]

SUM = """
@kernel
def f(x: In["f32", 8, 100], y: Out["f32", 8]):
    for m in grid(8, 1):
        total = zeros([m], "f32")
        for n in tiles(100, 32):
            total = total + reduce_sum(load(x[m, n]) * 2.0, n)
        store(y[m], total)
"""
ONE = """
@kernel
def f(x: In["f32", 100], y: Out["f32", 100]):
    for m in grid(100, 128):
        for n in tiles(1, 4):
            store(y[m], load(x[m + begin(n)]))
"""
POOL = """
@kernel
def f(x: In["f32", 8, 66], y: Out["f32", 8, 64]):
    for m in grid(8, 1):
        for p in grid(64, 64):
            k = whole(3)
            store(y[m, p], reduce_max(load(x[m, p + k - 1]), k))
"""
NESTED = """
@kernel
def f(x: In["f32", 64, 128], y: Out["f32", 8]):
    for m in grid(64, 8):
        total = zeros([], "f32")
        for r in tiles(64, 1, start=begin(m), stop=end(m)):
            for n in tiles(128, 32):
                total = total + reduce_sum(load(x[r, n]), (r, n))
        store(y[begin(m) // 8], total)
"""
ROWS = """
@kernel
def f(x: In["f32", 9, 64], y: Out["f32", 8, 64]):
    for r in grid(8, 2):
        for n in tiles(8, 1, start=begin(r), stop=end(r), unroll=2):
            m = whole(64)
            store(y[n, m], load(x[n, m]) + load(x[n + 1, m]))
"""
PLANES = """
@kernel
def f(x: In["f32", 9, 9, 64], y: Out["f32", 8, 8, 64]):
    for r in grid(8, 2):
        for s in grid(8, 2):
            for n in tiles(8, 1, start=begin(r), stop=end(r), unroll=2):
                for k in tiles(8, 1, start=begin(s), stop=end(s), unroll=2):
                    m = whole(64)
                    store(y[n, k, m], load(x[n, k, m]) + load(x[n + 1, k + 1, m]))
"""
RESIDUES = """
@kernel
def f(x: In["f32", 8, 64], y: Out["f32", 4, 128]):
    for n in grid(64, 32):
        m = whole(8)
        store(y[m % 4, m // 4 + n * 2], load(x[m, n]))
"""
SILU = """
@kernel
def f(x: In["bf16", 8], y: Out["bf16", 8]):
    for n in grid(8, 8):
        store(y[n], silu(load(x[n])))
"""
MEETING = """
@kernel
def f(x: In["f32", 4, 64], y: Out["f32", 4, 64]):
    for m in grid(4, 1):
        for n in grid(64, 16, cooperative=True):
            t = load(x[m, n])
            most = all_reduce_max(reduce_max(t, n), n)
            store(y[m, n], t - most)
"""
TURNS = """
@kernel
def f(x: In["f32", 9, 64], w: In["f32", 64, 64], y: InOut["f32", 9, 64]):
    for p in grid(64, 16, cooperative=True):
        n = whole(64)
        held = load(w[n, p])
        for t in range(1, 9):
            store(y[t, p], load(x[t, p]) + reduce_sum(load(y[t - 1, n]) * held, n))
            barrier(p)

@program
def model(x: In["f32", 9, 64], w: In["f32", 64, 64]):
    y = zeros("f32", 9, 64)
    f(x, w, y)
    return y
"""
UPDATED = """
@kernel
def f(y: InOut["f32", 9, 64]):
    for r in grid(8, 2):
        for n in tiles(8, 1, start=begin(r), stop=end(r), unroll=2):
            m = whole(64)
            store(y[n, m], load(y[n, m]) + load(y[n + 1, m]))

@program
def model(x: In["f32", 9, 64]):
    y = zeros("f32", 9, 64)
    f(y)
    return y
"""


def built(text: str, *passes: Pass) -> Body:
    """The only kernel of a sketch, explicit, after these passes."""
    (_, instance), *_ = instances(bind(require(parse(text, "sketch"), "sketch"), Schedule()))
    body = body_of(instance, cheap=KEPT)
    make_explicit(body)
    for each in passes:
        each(body)
        verify(body)
    return body


def ops(text: str, *passes: Pass) -> str:
    """The ops of its region, as text."""
    lines = show_ir(built(text, *passes)).splitlines()
    axes = [number for number, line in enumerate(lines) if line.lstrip().startswith("axis ")]
    return dedent("\n".join(lines[max(axes) + 1 :]))


def expected(text: str) -> str:
    return dedent(text).strip()


def test_conversions_are_written_out() -> None:
    """bf16 functions are computed in f32 and rounded; a number has the dtype of what it meets."""
    assert ops(SILU) == "store y[n] = bf16(silu(f32(load(x[n]))))"
    half = SUM.replace('"f32", 8, 100', '"f16", 8, 100')
    assert "sum: f16 = reduce_sum over n of load(x[m, n]) * 2.0 in f32 from 0" in ops(half)
    assert "total: f32 = total + f32(sum)" in ops(half)


def test_what_a_language_lacks_is_decomposed() -> None:
    assert ops(SILU, lambda body: decompose(body, {"exp"})) == (
        "store y[n] = bf16(f32(load(x[n])) * (1.0 / (1.0 + exp(-f32(load(x[n]))))))"
    )
    assert ops(SILU, lambda body: decompose(body, {"silu"})) == ops(SILU)


def test_a_loop_of_one_tile_is_none() -> None:
    assert "for each tile" in ops(ONE) and ops(ONE, unroll_single) == "store y[m] = load(x[m])"


def test_lanes_are_powers_of_two_and_partial_where_some_do_not_exist() -> None:
    assert "n of 100 in tiles of 32 (32 lanes, partial)" in ops(SUM, pad)
    assert "n of 96 in tiles of 32 (32 lanes)" in ops(SUM.replace("100", "96"), pad)
    assert "n of 100 in tiles of 25 (32 lanes, partial)" in ops(SUM.replace("32)", "25)"), pad)
    assert "n of 100 in tiles of 24 (24 lanes, partial)" in ops(SUM.replace("32)", "24)"), lambda b: pad(b, granule=8))


def test_a_whole_axis_of_factors_of_half_precision_has_as_many_lanes_as_positions() -> None:
    text = """
@kernel
def f(x: In["f16", 64, 96], w: In["f16", 96, 64], y: Out["f32", 64, 64]):
    for m in grid(64, 64):
        k = whole(96)
        n = whole(64)
        store(y[m, n], dot(load(x[m, k]), load(w[k, n]), over=k))
"""

    def lanes(text: str, *given: int) -> int | None:
        (instance,) = (i for _, i in instances(require(parse(text, "f"), "f")))
        body = body_of(instance, frozenset(), KEPT)
        make_explicit(body)
        pad(body, *given)
        return body.axes["k"].lanes

    assert lanes(text, 16) == 128 and lanes(text, 16, 64) == 96
    assert lanes(text.replace("96", "72"), 16, 64) == 128, "no multiple of what matrix units take"
    assert lanes(text.replace("f16", "f32"), 16, 64) == 128
    for name in ("scan_sum", "reduce_sum"):
        combined = f"load(x[m, k]) * f16({name}(load(x[m, k]), k))"
        assert lanes(text.replace("load(x[m, k])", combined, 1), 16, 64) == 128


def test_what_is_put_in_order_is_whole_before_and_has_what_does_not_exist_last() -> None:
    text = """
@kernel
def f(x: In["i32", 8, 100], y: Out["i32", 8, 100]):
    for m in grid(8, 1):
        n = whole(100)
        store(y[m, n], sort(load(x[m, n]) * 2, n))
"""
    assert "sort: i32[n] = operand sorted over n" in ops(text)
    found = ops(text, make_explicit, pad, mask)
    assert "sorted over n" in found and "2147483647" in found
    promised = text.replace(", n))", ", n, bitonic=True))")
    assert "operand merged over n" in ops(promised)
    assert "sorted over n" in ops(promised, make_explicit, pad, mask)  # what fills the tile up would rise again
    assert "merged over n" in ops(promised.replace("100", "128"), make_explicit, pad, mask)


def test_masks_are_where_lanes_do_not_exist() -> None:
    assert ops(SUM, pad, share, mask) == expected("""
        total: f32 = 0.0
        for each tile of axis n of 100 in tiles of 32 (32 lanes, partial) from 0 to 100:
            x_tile: f32[n] = load(x[m, n], other=0, mask=exists(n))
            sum: f32 = reduce_sum over n of where(exists(n), x_tile * 2.0, 0) in f32 from 0
            total: f32 = total + sum
        store y[m] = total
    """)
    assert "where" not in ops(SUM.replace(" * 2.0", ""), pad, share, mask), "what is outside is 0 already"
    assert "where" not in ops(SUM.replace("load(x[m, n]) * 2.0", "abs(load(x[m, n]))"), pad, share, mask), (
        "so is its absolute value"
    )
    assert "exists" not in ops(SUM.replace("100", "96"), pad, share, mask)


def test_an_index_that_may_be_outside_is_compared() -> None:
    assert "mask=p + k - 1 >= 0" in ops(POOL, mask), "and below 66 for certain"


def test_a_mask_in_its_conditions_and_with_one_for_each_axis() -> None:
    body = built(POOL.replace("whole(3)", "whole(5)"), pad, mask)
    nodes = (node for op in body.ops() for node in walk(tuple(op.expressions())))
    (load,) = (node for node in nodes if isinstance(node, Call) and node.op == "load")
    where = dict(load.keywords)["mask"]
    assert list(map(show_expression, conjuncts(where))) == ["exists(k)", "p + k - 1 >= 0", "p + k - 1 < 66"]
    exists, *_ = conjuncts(where)
    assert show_expression(over_all(body, exists, ("p", "k"))) == "exists(k) and p < 64"
    assert conjuncts(None) == []


def test_tensors_that_are_loaded_and_stored() -> None:
    (region,) = built(TURNS).regions
    assert region.updated() == {"y"}
    assert [(op.loads(), op.touches()) for op in region.inside() if op.kind == "store"] == [({"x"}, {"x", "y"})]


def test_sums_are_kept_lane_by_lane() -> None:
    assert ops(SUM, pad, share, mask, lambda body: keep_lanewise(body, 1 << 14)) == expected("""
        total: f32 = 0.0
        total_lanes: f32[n] = 0
        for each tile of axis n of 100 in tiles of 32 (32 lanes, partial) from 0 to 100:
            x_tile: f32[n] = load(x[m, n], other=0, mask=exists(n))
            sum: f32[n] = where(exists(n), x_tile * 2.0, 0)
            total_lanes: f32[n] = total_lanes + sum
        total_folded: f32 = reduce_sum over n of total_lanes in f32 from 0
        total: f32 = total + total_folded
        store y[m] = total
    """)
    assert "lanes:" not in ops(SUM, pad, lambda body: keep_lanewise(body, 16)), "more lanes than there is workspace for"
    carried = SUM.replace("total + reduce", "total * total + reduce")
    assert "lanes:" not in ops(carried, pad, lambda body: keep_lanewise(body, 1 << 14)), "not linear"


def test_what_an_outer_loop_carries_is_not_folded_in_each_of_its_turns() -> None:
    assert "lanes:" not in ops(NESTED, pad, lambda body: keep_lanewise(body, 1 << 14))
    begin = '            total = zeros([], "f32")\n'
    begun = NESTED.replace("            for n", f"{begin}            for n").replace(
        "        store(y[begin(m) // 8]", "            store(y[r]"
    )
    begun = begun.replace('Out["f32", 8]', 'Out["f32", 64]')
    assert "lanes:" in ops(begun, pad, lambda body: keep_lanewise(body, 1 << 14)), "each turn begins anew"


def test_taps_are_written_out_and_read_neighbouring_places() -> None:
    assert ops(POOL, unroll_single, pad, write_out_taps, collect_constants) == expected("""
        k_part: f32[p] = load(x[m, p - 1])
        k_part_2: f32[p] = load(x[m, p])
        k_part_3: f32[p] = load(x[m, p + 1])
        max: f32[p] = maximum(maximum(k_part, k_part_2), k_part_3)
        store y[m, p] = max
    """)
    apart = POOL.replace("p + k - 1", "p * 3 + k").replace("66", "192")
    assert "reduce_max" in ops(apart, unroll_single, pad, write_out_taps), "taps that lie in a row stay an axis"


def test_rows_are_written_out_and_share_what_they_load() -> None:
    assert ops(ROWS, pad, write_out_rows, collect_constants, share) == expected("""
        n_0: i64 = r_begin
        x_tile: f32[m] = load(x[n_0, m])
        x_tile_2: f32[m] = load(x[n_0 + 1, m])
        store y[n_0, m] = x_tile + x_tile_2
        n_1: i64 = r_begin + 1
        x_tile_3: f32[m] = load(x[n_1 + 1, m])
        store y[n_1, m] = x_tile_2 + x_tile_3
    """)
    odd = ops(ROWS.replace("8,", "7,").replace("(8", "(7"), pad, write_out_rows, share, mask)
    assert "store y[n_1, m] = x_tile_2 + x_tile_3 where n_1 < 7" in odd


def test_rows_in_rows_are_known_as_well_as_rows() -> None:
    written = ops(PLANES, pad, write_out_rows, collect_constants, share, mask)
    assert "mask" not in written and "where" not in written, "each place is within its tensor"
    assert written.count("load(") == 7, "the last row's and plane's first place was read before"


def test_a_tensor_that_is_written_is_loaded_each_time() -> None:
    assert ops(UPDATED, pad, write_out_rows, share).count("load(") == 4


def test_residues_are_interleaved() -> None:
    def regroup(body: Body) -> None:
        interleave(body, pad(body))

    assert ops(RESIDUES, regroup) == expected("""
        n_apart_begin: i64 = n_begin * 2
        regrouped: f32[m_apart, n_apart] = load(x[m, n]) of n, m by n_apart, m_apart
        store y[m_apart, n_apart] = regrouped
    """)
    planes = RESIDUES.replace("4, 128]", "4, 4, 32]").replace("m // 4 + n * 2", "n // 16, m // 4 + n % 16 * 2")
    assert "store y[m_apart, n_apart // 2 // 16, n_apart % 32] = regrouped" in ops(planes, regroup)


def test_a_collective_combines_what_it_is_given() -> None:
    before, after = ops(MEETING), ops(MEETING, propagate_copies)
    assert before.count("most") > after.count("most") and "all_reduce_max over n of max" in after


def test_the_verifier_names_the_op_that_is_wrong() -> None:
    body = built(SUM)
    loop = body.regions[0].ops[1]
    loop.body.insert(0, loop.body.pop())  # reads what comes later
    with pytest.raises(BrokenIR, match=r"sum is read after it is there: not so at `total: f32 = total \+ sum`"):
        verify(body)
    body = built(ONE)
    body.regions[0].ops[0].axis = body.regions[0].grid[0]
    with pytest.raises(BrokenIR, match="is open"):
        verify(body)


def opened(body: Body) -> None:
    for region in body.regions:
        lower_to_indices(body, region, rows=8)


def test_tiles_become_numbers_and_loops_count() -> None:
    assert ops(SUM, pad, share, mask, opened) == expected("""
        m: i64 = begin of m at program()
        total: f32 = 0.0
        for n_begin: i64 from 0 to 100 by 32:
            n: i64[n] = positions of n at n_begin
            n_in: bool[n] = n < 100
            x_tile: f32[n] = load(x[m, n], other=0, mask=n_in)
            sum: f32 = reduce_sum over n of where(n_in, x_tile * 2.0, 0) in f32 from 0
            total: f32 = total + sum
        store y[m] = total
    """), "and what nobody asks for is not there"
    reverse = ops(SUM.replace("32):", "32, reverse=True):"), pad, share, mask, opened)
    assert (
        "for n_turn: i64 from 0 to n_turns by 1:" in reverse and "n_begin: i64 = (n_turns - 1 - n_turn) * 32" in reverse
    )


GRID = """
@kernel
def f(x: In["f32", 640, 640], y: Out["f32", 640, 640]):
    for m in grid(640, 8):
        for n in grid(640, 8):
            store(y[m, n], load(x[m, n]))
"""


def test_programs_walk_rows_together_and_take_place_after_place() -> None:
    assert "pid_m: i32 = swizzled_row(pid // 80, pid % 80, 80, 80, 8)" in ops(GRID, pad, opened)
    plain = ops(GRID.replace("grid(640, 8)", "grid(640, 8, swizzle=1)"), pad, opened)
    assert "pid_n: i32 = pid % 80" in plain and "pid_m: i32 = pid // 80" in plain
    persistent = ops(GRID.replace("grid(640, 8)", "grid(640, 8, swizzle=1, persistent=True)"), pad, opened)
    assert persistent.startswith("for pid: i32 from program() to 6400 by programs():")


BLOCKS = """
@kernel
def f(x: In["f16", 3, 64, 64], y: Out["f16", 3, 64, 64]):
    for b in grid(3, 1):
        for m in grid(64, 16):
            for n in grid(64, 16):
                store(y[b, m, n], load(x[b, m, n], via="bulk"))
"""


def test_what_is_loaded_in_whole_blocks_is_loaded_by_a_row_and_a_column() -> None:
    divisors = []

    def blocks(body: Body) -> None:
        (region,) = body.regions
        divisors.append(load_blocks(body, region, pad(body)))

    assert 'load_block(x[b * 64 + m_begin, n_begin], "m", "n")' in ops(BLOCKS, blocks)
    assert divisors == [{"x": (16, 16)}]
    assert "load_block" not in ops(BLOCKS.replace("grid(64, 16)", "grid(64, 24)"), blocks), "one would reach beyond"


def test_programs_come_to_a_barrier_again_and_again() -> None:
    """They count on, so that nothing is reset between two turns, and load what others stored past their own caches."""
    workspaces = []

    def met(body: Body) -> None:
        (region,) = body.regions
        workspaces.extend(lower_all_reduce(body, region, lower_to_indices(body, region)).workspaces)

    written = ops(TURNS, pad, share, mask, met)
    assert written.startswith("due: i32 = 0\n")
    assert "load(y[t - 1, n], coherent=True)" in written and "load(x[t, p])" in written
    assert written.endswith("    due: i32 = due + 4\n    wait for due programs at arrivals[group, 0]")
    (workspace,) = workspaces
    assert (workspace.name, workspace.zeroed, show_expression(workspace.count)) == ("arrivals", True, "32")
    alone = TURNS.replace("grid(64, 16", "grid(64, 64")
    assert "wait" not in ops(alone, pad, share, mask, met), "the only program waits for nobody"


def test_programs_meet_by_what_each_has_written() -> None:
    workspaces = []

    def met(body: Body) -> None:
        (region,) = body.regions
        workspaces.extend(lower_all_reduce(body, region, lower_to_indices(body, region)).workspaces)

    written = ops(MEETING, pad, share, mask, met)
    after = written[written.index("store parts1") :]
    assert after.startswith(
        expected("""
        store parts1[group, member] = most
        wait for 4 programs at arrived[0, group]
        members: i64[members] = positions of members at 0
        parts1_tile: f32[members] = load(parts1[group, members], coherent=True)
        most: f32 = reduce_max over members of parts1_tile in f32 from -inf
    """)
    )
    assert [(workspace.name, workspace.zeroed) for workspace in workspaces] == [("arrived", True), ("parts1", False)]
    inside = MEETING.replace("            most", "            for k in range(2):\n                most").replace(
        "t - most", "t"
    )
    with pytest.raises(Unsupported, match="inside of a loop"):
        ops(inside, pad, share, mask, met)

"""Memory, loops, programs, rendezvous, counts and errors of the interpreter."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from akg_core.errors import SketchError
from akg_core.records import Schedule
from akg_core.sketch.interpret import POISON, interpret
from akg_core.sketch.parse import parse


def run(text: str, *inputs: Tensor | float, **parameters: Tensor) -> tuple[Tensor, ...]:
    return interpret(parse(text), inputs, parameters).outputs


# --- memory ------------------------------------------------------------------------------------------------


def test_loads_outside_give_other_and_stores_outside_do_nothing() -> None:
    (y,) = run(
        """@kernel
def shift(x: In["f32", "N"], y: Out["f32", "N"]):
    for n in grid(N, 4):
        store(y[n + 2], load(x[n - 1], other=-7))
        store(y[n - N], 99.0)
        store(y[n + N], 99.0)
""",
        torch.arange(10.0),
    )
    assert y[:2].isnan().all()  # what nothing wrote stays poisoned
    assert y[2:].tolist() == [-7.0, 0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("index", ["n", "n + 0 * n", "N - 1 - n", "where(n < 3, n, n)"])
def test_every_way_to_index_moves_the_same(index: str) -> None:
    x = torch.randn(3, 11)
    text = f"""@kernel
def copy(x: In["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 2):
        for n in grid(N, 4):
            store(y[m, {index}], load(x[m, {index}]))
"""
    result = interpret(parse(text), [x], count=True)
    assert result.outputs[0].equal(x)
    assert result.counts is not None
    assert (result.counts.bytes_read, result.counts.bytes_written) == (3 * 11 * 4, 3 * 11 * 4)


def test_a_diagonal_uses_one_axis_twice() -> None:
    x = torch.randn(5, 7)
    (y,) = run(
        """@kernel
def diagonal(x: In["f32", "M", "N"], y: Out["f32", "M"]):
    for m in grid(M, 3):
        store(y[m], load(x[m, m]))
""",
        x,
    )
    assert y.equal(x.diagonal())


def test_a_store_broadcasts_and_transposes_by_name() -> None:
    x = torch.randn(5, 7)
    y, z = run(
        """@kernel
def both(x: In["f32", "M", "N"], y: Out["f32", "N", "M"], z: Out["f32", "M", "N"]):
    for m in grid(M, 2):
        for n in grid(N, 3):
            store(y[n, m], load(x[m, n]))
            store(z[m, n], load(x[0, n]))
""",
        x,
    )
    assert y.equal(x.T)
    assert z.equal(x[:1].expand(5, 7))


def test_a_loaded_tile_does_not_change_with_the_tensor() -> None:
    b = torch.arange(6.0)
    (y,) = run(
        """@kernel
def swap(b: InOut["f32", "N"], y: Out["f32", "N"]):
    for n in grid(N, 4):
        t = load(b[n])
        store(b[n], t + 1)
        store(y[n], t)

@program
def model(b: Param["b", "f32", "N"]):
    y = empty("f32", N)
    swap(b, y)
    return y
""",
        b=b,
    )
    assert y.tolist() == [0, 1, 2, 3, 4, 5]
    assert b.tolist() == [1, 2, 3, 4, 5, 6]  # a buffer that forward updates in place


@pytest.mark.parametrize("operation, expected", [("add", [6, 4, 5]), ("max", [3, 4, 5]), ("min", [0, 0, 0])])
def test_atomics_count_every_lane(operation: str, expected: list[int]) -> None:
    text = f"""@kernel
def histogram(at: In["i64", "N"], x: In["f32", "N"], y: InOut["f32", "K"]):
    for n in grid(N, 4):
        atomic_{operation}(y[load(at[n])], load(x[n]))

@program
def model(at: In["i64", "N"], x: In["f32", "N"]):
    y = zeros("f32", 3)
    histogram(at, x, y)
    return y
"""
    (y,) = run(text, torch.tensor([0, 1, 2, 0, 0, 9]), torch.tensor([1.0, 4, 5, 2, 3, 7]))
    assert y.tolist() == expected


def test_zero_dimensional_tensors_and_numbers() -> None:
    (y,) = run(
        """@kernel
def scale(x: In["f32", "N"], s: In["f64"], y: Out["f32"]):
    total = full([], 0.0, "f64")
    for n in tiles(N, 2):
        total = total + reduce_sum(f64(load(x[n])), n)
    store(y, total * load(s))
""",
        torch.arange(5.0),
        0.1,
    )
    assert y.shape == () and y.item() == torch.tensor(1.0).item()


@pytest.mark.parametrize("dtype, poison", [("f16", math.nan), ("i32", None), ("u8", POISON), ("bool", True)])
def test_fresh_tensors_are_poisoned(dtype: str, poison: float | None) -> None:
    (y,) = run(
        f"""@kernel
def nothing(x: In["f32", "N"], y: Out["{dtype}", "N"]):
    for n in grid(N, 4):
        store(y[n + N], 0)
""",
        torch.zeros(3),
    )
    wanted = int.from_bytes(bytes([POISON] * 4), "little", signed=True) if poison is None else poison
    torch.testing.assert_close(y, torch.full((3,), wanted, dtype=y.dtype), equal_nan=True)


def test_empty_tensors() -> None:
    x = torch.zeros(0, 4)
    text = """@kernel
def sums(x: In["f32", "M", "N"], y: Out["f32", "N"], z: Out["f32", "N"]):
    for n in grid(N, 3):
        m = whole(M)
        store(y[n], reduce_sum(load(x[m, n]), m))
        store(z[n], reduce_max(load(x[m, n]), m))
"""
    y, z = run(text, x)
    assert y.tolist() == [0.0] * 4 and z.tolist() == [-math.inf] * 4


# --- loops ----------------------------------------------------------------------------------------------------


def visits(loop: str) -> list[tuple[int, int]]:
    """begin and end of every tile of a loop over k with an extent of 10."""
    text = f"""@kernel
def trace(x: In["f32", "N"], y: Out["i64", 8, 2]):
    i = 0
    for k in {loop}:
        store(y[i, 0], begin(k))
        store(y[i, 1], end(k))
        i = i + 1
"""
    y = run(text, torch.zeros(10))[0]
    return [(a, b) for a, b in y.tolist() if a >= 0]


def test_tiles_clip_and_align() -> None:
    assert visits("tiles(N, 4)") == [(0, 4), (4, 8), (8, 10)]
    assert visits("tiles(N, 4, reverse=True)") == [(8, 10), (4, 8), (0, 4)]
    assert visits("tiles(N, 4, start=3)") == [(3, 7), (7, 10)]
    assert visits("tiles(N, 4, stop=6)") == [(0, 4), (4, 6)]
    assert visits("tiles(N, 4, start=-3, stop=99)") == [(0, 1), (1, 5), (5, 9), (9, 10)]
    assert visits("tiles(N, 4, start=7, stop=2)") == []


def test_range_and_if_carry_variables() -> None:
    (y,) = run(
        """@kernel
def odd_ones(x: In["f32", "N"], y: Out["f32"]):
    total = 0.0
    for i in range(9, -1, -2):
        if i % 3 == 0:
            total = total + load(x[i])
        else:
            skipped = i
            total = total - 1
    store(y, total)
""",
        torch.arange(10.0),
    )
    assert y.item() == 9 + 3 - 3


@pytest.mark.parametrize("bounds, expected", [("4", 6), ("2, 4", 5), ("1, 9, 3", 12)])
def test_range_takes_one_to_three_numbers(bounds: str, expected: int) -> None:
    text = f"""@kernel
def count(x: In["f32", "N"], y: Out["i64"]):
    total = 0
    for i in range({bounds}):
        total = total + i
    store(y, total)
"""
    assert run(text, torch.zeros(1))[0].item() == expected


def test_grids_nest_with_statements_between() -> None:
    x = torch.randn(5, 7)
    (y,) = run(
        """@kernel
def center(x: In["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 2):
        k = whole(N)
        mean = reduce_sum(load(x[m, k]), k) / N
        for n in grid(N, 3):
            store(y[m, n], load(x[m, n]) - mean)
""",
        x,
    )
    torch.testing.assert_close(y, x - x.mean(1, keepdim=True))


# --- programs ---------------------------------------------------------------------------------------------------

TWO_STEPS = """@kernel
def twice(x: In["f32", "A"], y: Out["f32", "A"], S: Const = 2, BA: Tune[2, 4] = 2):
    for a in grid(A, BA):
        store(y[a], load(x[a]) * S)

@program
def model(x: In["f32", "M", "2*M"], w: Param["fc.weight", "f32", "M"]):
    flat = reshape(x, "M*2*M")
    h = empty("f32", "M*2*M")
    twice(flat, h, S=0.5)
    v = empty("f32", M)
    twice(w, v, once=True)
    half = reshape(h, M, 2, M)
    turned = permute(half, 2, 0, 1)
    part = narrow(turned, 0, 1, M - 1)
    ones = full("f32", 1.0, 3)
    wide = expand(ones, 2, 3)
    return part, v, wide
"""


def test_a_program_with_views_constants_and_parameters() -> None:
    x, w = torch.randn(4, 8), torch.nn.Parameter(torch.randn(4))
    part, v, wide = interpret(parse(TWO_STEPS), [x], {"fc.weight": w}, Schedule(values={"twice.BA": 4})).outputs
    assert part.equal((x / 2).reshape(4, 2, 4).permute(2, 0, 1)[1:])
    assert v.equal((2 * w).detach())
    assert wide.shape == (2, 3)


@pytest.mark.parametrize(("whole", "dtype"), [("i64", torch.float64), ("i32", torch.float32)])
def test_whole_numbers_go_out_as_the_floats_whose_bits_they_are(whole: str, dtype: torch.dtype) -> None:
    text = f"""
@kernel
def negated(x: In["{whole}", "N"], y: Out["{whole}", "N"], S: Const = 0):
    for n in grid(N, 4):
        store(y[n], load(x[n]) ^ S)

@program
def model(x: In["{whole}", "N"]):
    y = empty("{whole}", N)
    negated(x, y, S=-{1 << (63 if whole == "i64" else 31)})
    turned = reshape(y, 2, N // 2)
    z = floats(turned)
    return z
"""
    x = torch.randn(6, dtype=dtype)
    (z,) = interpret(parse(text), [x.view(torch.int64 if whole == "i64" else torch.int32)]).outputs
    assert z.dtype == dtype and z.equal(-x.view(2, 3))


def test_what_launches_keep_outlives_a_call() -> None:
    w, kept = torch.randn(4), dict[str, torch.Tensor]()
    first = interpret(parse(TWO_STEPS), [torch.randn(4, 8)], {"fc.weight": w}, kept=kept).outputs
    x = torch.randn(4, 8)
    second = interpret(parse(TWO_STEPS), [x], {"fc.weight": w + 1}, kept=kept).outputs
    assert set(kept) == {"v"} and second[1].equal(first[1])  # as it was, whatever becomes of the parameter
    assert second[0].equal((x / 2).reshape(4, 2, 4).permute(2, 0, 1)[1:])


def test_inputs_need_not_be_contiguous() -> None:
    x, w = torch.randn(8, 4).T, torch.randn(8)[::2]
    assert interpret(parse(TWO_STEPS), [x], {"fc.weight": w}).outputs[1].equal(2 * w)


def test_a_strided_parameter_is_updated_in_place() -> None:
    text = """@kernel
def bump(b: InOut["f32", "N"]):
    for n in grid(N, 4):
        store(b[n], load(b[n]) + 1)

@program
def model(b: Param["b", "f32", "N"]):
    bump(b)
    return b
"""
    whole = torch.zeros(10)
    run(text, b=whole[::2])
    assert whole.tolist() == [1, 0] * 5


# --- rendezvous -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 10), (5, 64), (1, 1)])
def test_programs_share_a_row(shape: tuple[int, int]) -> None:
    """Softmax with each row kept by four programs between its statistics and its write."""
    text = """@kernel
def softmax_shared(x: In["f32", "M", "N"], y: Out["f32", "M", "N"], G: Const = 4):
    for m in grid(M, 2):
        for g in grid(G, 1, cooperative=True):
            part = (N + G - 1) // G
            j = whole(part)
            n = begin(g) * part + j
            t = load(x[m, n], other=-inf)
            peak = all_reduce_max(reduce_max(t, j), g)
            e = exp(t - peak)
            store(y[m, n], e / all_reduce_sum(reduce_sum(e, j), g))
"""
    x = torch.randn(shape)
    torch.testing.assert_close(run(text, x)[0], x.softmax(1))


def test_collectives_nest_and_lie_inside_loops() -> None:
    text = """@kernel
def sums(x: In["f32", "A", "B"], y: Out["f32", "A", "B"]):
    for a in grid(A, 1, cooperative=True):
        for b in grid(B, 1, cooperative=True):
            t = load(x[begin(a), begin(b)])
            s = 0.0
            for i in range(2):
                s = s + all_reduce_sum(t + all_reduce_sum(t * 0 + 1, a), b)
            store(y[begin(a), begin(b)], s)
"""
    x = torch.arange(6.0).reshape(2, 3)
    assert run(text, x)[0].equal((2 * (x + 2).sum(1, keepdim=True)).expand(2, 3))


def test_a_collective_that_not_all_reach() -> None:
    text = """@kernel
def broken(x: In["f32", "N"], y: Out["f32", "N"]):
    for g in grid(N, 1, cooperative=True):
        s = load(x[begin(g)])
        if begin(g) == 0:
            s = all_reduce_sum(s, g)
        store(y[begin(g)], s)
"""
    with pytest.raises(SketchError, match="6:17: SK307 Not all programs of the axis `g` come to this all_reduce_sum"):
        run(text, torch.zeros(3))
    with pytest.raises(SketchError, match=r"SK307 No grid axis `g` runs together.*cooperative=True"):
        run(text.replace(", cooperative=True", ""), torch.zeros(3))


def test_a_barrier_orders_what_programs_exchange() -> None:
    text = """@kernel
def turned(x: In["f32", "N"], s: Scratch["f32", "N"], y: Out["f32", "N"]):
    for g in grid(N, 2, cooperative=True):
        store(s[g], load(x[g]))
        barrier(g)
        store(y[g], load(s[N - 1 - g]))
"""
    x = torch.randn(9)
    assert run(text, x)[0].equal(x.flip(0))
    assert run(text.replace("        barrier(g)\n", ""), x)[0].isnan().any(), "what is not there yet shows"
    with pytest.raises(SketchError, match="6:13: SK307 Not all programs of the axis `g` come to this barrier"):
        run(text.replace("    barrier(g)", "    if begin(g) < 8:\n            barrier(g)"), x)


# --- counts -----------------------------------------------------------------------------------------------------------


def test_counts_follow_the_schedule() -> None:
    text = """@kernel
def matmul(a: In["f32", "M", "K"], b: In["f32", "K", "N"], y: Out["f32", "M", "N"],
           BM: Tune[4, 8] = 4, BN: Tune[4, 8] = 4):
    for m in grid(M, BM):
        for n in grid(N, BN):
            acc = zeros([m, n])
            for k in tiles(K, 3):
                acc = dot(load(a[m, k]), load(b[k, n]), over=k, into=acc)
            store(y[m, n], exp(acc) * 2.0)
"""
    m, k, n = 8, 7, 8
    a, b = torch.randn(m, k), torch.randn(k, n)
    for step, passes in ((4, 2), (8, 1)):
        result = interpret(parse(text), [a, b], None, Schedule(values={"matmul.BM": step, "matmul.BN": step}), True)
        counts = result.counts
        assert counts is not None and counts == result.kernels["matmul"]
        assert counts.dot_operations == 2 * m * k * n
        assert counts.transcendental == m * n and counts.elementwise == m * n
        assert counts.bytes_read == passes * 4 * (m * k + k * n)
        assert counts.bytes_written == 4 * m * n


def test_index_arithmetic_is_not_counted() -> None:
    text = """@kernel
def gather(x: In["f32", "N"], at: In["i64", "N"], y: Out["f32", "N"]):
    for n in grid(N, 4):
        store(y[n], load(x[(load(at[n]) * 3 + 1) % N]))
"""
    result = interpret(parse(text), [torch.zeros(6), torch.arange(6)], count=True)
    assert result.counts is not None
    assert result.counts.dot_operations == result.counts.elementwise == result.counts.transcendental == 0
    assert result.counts.bytes_read == 6 * (4 + 8)

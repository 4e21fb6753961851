"""Attention: one kernel with an online softmax, or several; masks by positions bound the loop over keys."""

from __future__ import annotations

import re

import pytest

from akg_core.design import design
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import SMALL, USUAL, designed, forward, judge, reference

SAME = "[torch.randn(2, 3, 20, 16) for _ in range(3)]"
CALL = "F.scaled_dot_product_attention(q, k, v{})"
BY_HAND = "(q @ k.transpose(-2, -1) / 4){}.softmax(-1) @ v"


def lengths(queries: int, keys: int, width: int = 9) -> str:
    """Queries, keys and values of these lengths, values of this width."""
    return f"[torch.randn(2, 3, n, e) for n, e in (({queries}, 16), ({keys}, 16), ({keys}, {width}))]"


PLAIN = [
    (CALL.format(""), SAME),
    (CALL.format(", is_causal=True"), SAME),
    (CALL.format(", is_causal=True"), lengths(33, 21)),
    (CALL.format(", is_causal=True"), lengths(17, 45)),
    (CALL.format(", enable_gqa=True"), "[torch.randn(2, 4, 20, 16), *(torch.randn(2, 2, 20, 16) for _ in '12')]"),
    (BY_HAND.format(""), lengths(19, 35)),
    (BY_HAND.format(".masked_fill(torch.ones(20, 20).triu(1).bool(), -math.inf)"), SAME),
    ("(q @ k.T).softmax(-1) @ v", "[torch.randn(37, 5) for _ in range(3)]"),
    ("F.dropout((q @ k.T).softmax(-1), 0.5, False) @ v + q", "[torch.randn(37, 5) for _ in range(3)]"),
    (
        "torch.einsum('bhqk,bkhd->bqhd', (torch.einsum('bqhd,bkhd->bhqk', q, k) / 4).softmax(-1), v)",
        "[torch.randn(2, 20, 3, 16) for _ in range(3)]",
    ),
    (
        f"{CALL.format(', is_causal=True').replace('(q, k, v', '(q.mT, k.mT, v.mT').replace('mT', 'transpose(1, 2)')}"
        ".transpose(1, 2).reshape(2, 20, 48)",
        "[torch.randn(2, 20, 3, 16) for _ in range(3)]",
    ),
    (CALL.format(""), "[torch.randn(2, 3, 20, 16).half() for _ in range(3)]"),
    (CALL.format(""), "[torch.randn(2, 3, 20, 16).double() for _ in range(3)]"),
]
MASKS = [
    (CALL.format(", attn_mask=m, scale=0.3"), "torch.rand(20, 20) > 0.5"),
    (CALL.format(", attn_mask=m"), "torch.randn(3, 20, 20)"),
    (CALL.format(", attn_mask=m"), "torch.cat([torch.zeros(2, 1, 9, 20), torch.ones(2, 1, 11, 20)], 2).bool()"),
    (BY_HAND.format(".masked_fill(m == 0, -math.inf)"), "torch.ones(20, 20).tril()"),
    (BY_HAND.format(".masked_fill(m == 0, -math.inf)"), "torch.cat([torch.zeros(9, 20), torch.ones(11, 20)])"),
]


@pytest.mark.parametrize(("line", "inputs"), PLAIN)
def test_attention_is_one_kernel(line: str, inputs: str) -> None:
    outcome = judge(reference(forward(line, "q, k, v"), inputs), traits=USUAL)
    assert outcome.kernels[0] == 1
    assert max(outcome.kernels) >= 3, "the form that stores the scores is missing"


@pytest.mark.parametrize(("line", "mask"), MASKS)
def test_masks(line: str, mask: str) -> None:
    outcome = judge(reference(forward(line, "q, k, v, m"), f"{SAME} + [{mask}]"), traits=USUAL)
    assert outcome.kernels[0] == 1


@pytest.mark.parametrize(("line", "inputs"), [PLAIN[1], PLAIN[2], PLAIN[7]])
def test_attention_with_little_memory(line: str, inputs: str) -> None:
    judge(reference(forward(line, "q, k, v"), inputs), traits=SMALL)


def test_a_mask_by_positions_bounds_the_keys() -> None:
    causal = designed(reference(forward(CALL.format(", is_causal=True"), "q, k, v"), SAME))
    assert "stop=end(m)" in causal
    band = BY_HAND.format(
        ".masked_fill((torch.arange(20)[:, None] < torch.arange(20)), -math.inf)"
        ".masked_fill((torch.arange(20)[:, None] > torch.arange(20) + 5), -math.inf)"
    )
    text = designed(reference(forward(band, "q, k, v"), SAME))
    assert "start=" in text and "stop=" in text
    judge(reference(forward(band, "q, k, v"), SAME), traits=USUAL)


@pytest.mark.parametrize("line", [CALL.format(", is_causal=True"), BY_HAND.format("")])
def test_narrow_attention_multiplies_narrow_numbers(line: str) -> None:
    source = reference(forward(line, "q, k, v"), SAME.replace("16)", "16).bfloat16()"))
    assert "dot(bf16(weights), values" in designed(source)
    assert "f32(load(" not in designed(source)
    judge(source, traits=USUAL)


def test_attention_whose_results_stay_wide_keeps_wide_weights() -> None:
    line = "((q.float() @ k.float().mT / 4).softmax(-1) @ v.float()).mul(2)"
    text = designed(reference(forward(line, "q, k, v"), SAME.replace("16)", "16).bfloat16()")))
    assert "dot(queries, keys" in text and "bf16(weights)" not in text


TILED = USUAL.model_copy(update={"dot_tile": (16, 16, 16)})
BANDS = {
    "causal": ("is_causal=True", 70, 70),
    "causal, fewer keys": ("is_causal=True", 83, 61),
    "causal, from the end": ("attn_mask=torch.arange(61)[:, None] + 9 >= torch.arange(70)", 61, 70),
    "anticausal": ("attn_mask=torch.arange(70)[:, None] <= torch.arange(70)", 70, 70),
    "window": ("attn_mask=torch.ones(90, 90).bool().tril().triu(-36)", 90, 90),
}


@pytest.mark.parametrize("name", BANDS)
def test_a_mask_by_positions_is_applied_where_it_crosses_tiles(name: str) -> None:
    mask, queries, keys = BANDS[name]
    source = reference(forward(CALL.format(f", {mask}"), "q, k, v"), lengths(queries, keys))
    text = judge(source, traits=TILED).sketches[0].text
    runs = [part.partition("acc = dot(")[0] for part in text.split("for n in ")[1:]]
    masked = [re.search(r"where\((?!grown)", run) is not None for run in runs]
    assert masked == {"window": [True, False, True], "anticausal": [True, False]}.get(name, [False, True])


@pytest.mark.parametrize("name", ["causal", "anticausal", "window"])
def test_with_a_tile_of_the_chips_own_one_loop_tells_tiles_apart_that_a_mask_crosses(name: str) -> None:
    mask, queries, keys = BANDS[name]
    inputs = f"[t.half() for t in {lengths(queries, keys)}]"
    traits = TILED.model_copy(update={"attention_tile": (24, 16)})
    text = judge(reference(forward(CALL.format(f", {mask}"), "q, k, v"), inputs), traits=traits).sketches[0].text
    assert text.count("for n in tiles(") == 1 and len(re.findall(r"if .*:\n +product = where\(", text)) == 1


def test_what_a_mask_hides_is_not_multiplied() -> None:
    sizes = lengths(128, 128)
    done = []
    for option in ("", ", is_causal=True"):
        module = load_source(reference(forward(CALL.format(option), "q, k, v"), sizes), "reference")
        sketch = design(capture(module), TILED)[0]
        counts = interpret(parse(sketch.text), module.get_inputs(), count=True).counts
        done.append((counts.dot_operations, counts.bytes_read))
    (every, read), (shown, needed) = done
    assert shown < 0.6 * every and needed < 0.6 * read


def test_long_heads_are_contracted_tile_by_tile() -> None:
    inputs = "[torch.randn(2, 12, 300), torch.randn(2, 15, 300), torch.randn(2, 15, 8)]"
    source = reference(forward(CALL.format(""), "q, k, v"), inputs)
    assert "for e in tiles(300" in designed(source)
    judge(source, traits=USUAL)


def test_weights_that_are_returned_are_stored_once() -> None:
    body = forward("(lambda p: (p @ v, p))((q @ k.T).softmax(-1))", "q, k, v")
    source = reference(body, "[torch.randn(37, 5) for _ in range(3)]")
    assert designed(source).count("dot(") == 2
    judge(source, traits=USUAL)


def test_scores_of_positions_that_are_shifted_against_each_other() -> None:
    body = """    def forward(self, q, k, r, v):
        shifted = F.pad(q @ r.mT, (1, 0)).view(3, 13, 8)[:, 1:].reshape(3, 8, 12)
        return (q @ k.mT + shifted).softmax(-1) @ v"""
    inputs = "[torch.randn(3, 8, 16), torch.randn(3, 12, 16), torch.randn(12, 16), torch.randn(3, 12, 16)]"
    judge(reference(body, inputs), traits=USUAL)


def test_what_leads_to_attention_and_follows_it() -> None:
    line = f"({CALL.format('')} @ w).relu()".replace("(q, k, v)", "(q @ w, k + 1, v.relu())")
    judge(reference(forward(line, "q, k, v, w"), f"{SAME} + [torch.randn(16, 16) / 4]"), traits=USUAL)


@pytest.mark.parametrize(
    ("queries", "width", "rows", "keys"),
    [(512, 64, 192, 128), (512, 128, 192, 128), (512, 256, 128, 64), (400, 64, 128, 128)],
)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_attention_of_16_bits_has_the_tile_that_a_chip_is_good_at(
    queries: int, width: int, rows: int, keys: int, dtype: str
) -> None:
    """Long results leave less room for scores, and tiles that are no power of two must not leave many rows idle.

    Attention of other values has the tiles that it would have.
    """
    inputs = f"[torch.randn(2, 3, {queries}, {width}, dtype=torch.{dtype}) for _ in range(3)]"
    source = reference(forward(CALL.format(""), "q, k, v"), inputs)
    usual = USUAL.model_copy(update={"on_chip_bytes": 64 * 1024, "dot_tile": (64, 64, 32)})
    text = designed(source, usual.model_copy(update={"attention_tile": (192, 128)}))
    if dtype == "float32":
        assert text == designed(source, usual)
        return
    sizes = "64, 128, 192" if rows == 192 else "64, 128"
    assert f"BM: Tune[{sizes}] = {rows}" in text and re.search(rf"BN: Tune\[.*\] = {keys}", text)
    assert f"tiles({queries}, BN, stages=2)" in text and text.count("@kernel") == 1

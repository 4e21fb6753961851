"""Attention: one kernel with an online softmax, or several; masks by positions bound the loop over keys."""

from __future__ import annotations

import pytest

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


def test_what_leads_to_attention_and_follows_it() -> None:
    line = f"({CALL.format('')} @ w).relu()".replace("(q, k, v)", "(q @ w, k + 1, v.relu())")
    judge(reference(forward(line, "q, k, v, w"), f"{SAME} + [torch.randn(16, 16) / 4]"), traits=USUAL)

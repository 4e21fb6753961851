"""What a reference calls and nobody has here is spliced in as plain PyTorch, and means what its vendor documents."""

from __future__ import annotations

import math

import pytest
import torch

from akg_core.bench.meanings import attention, places, products
from akg_core.bench.stated import in_plain_torch
from akg_core.task.source.load import load_source

SOURCE = '''import torch


class Model(torch.nn.Module):
    """Attention of the vendor's."""

    def forward(self, query, key, value, head_num, input_layout, *, scale=1.0, sink=None):
        import torch_npu

        return torch_npu.npu_fusion_attention(query, key, value, head_num, input_layout, scale=scale, sink=sink)


def get_inputs():
    return []


def get_init_inputs():
    return []
'''


def test_a_call_is_replaced_by_its_meaning_and_arguments_may_be_given_by_place():
    source = in_plain_torch(SOURCE)
    assert "torch_npu" not in source and "def npu_fusion_attention(" in source and "def _by_heads(" in source
    assert "npu_ffn" not in source
    x = torch.randn(1, 3, 8)
    answer = load_source(source, "attention.py").Model()(x, x, x, 2, "BSH", 0.5)
    parts = [each.transpose(1, 2) for each in (x.unflatten(-1, (2, 4)),) * 3]
    due = torch.nn.functional.scaled_dot_product_attention(*parts, scale=0.5).transpose(1, 2).flatten(2)
    assert torch.allclose(answer[0], due, atol=1e-6)


def test_what_is_not_stated_is_refused_in_a_sentence():
    model = load_source(in_plain_torch(SOURCE), "attention.py").Model()
    with pytest.raises(ValueError, match="without position encodings, masks"):
        model(*[torch.ones(1, 3, 8)] * 3, 2, "BSH", 1.0, torch.ones(2))


def test_an_operator_by_another_name_has_the_derivative_that_pytorch_takes():
    source = SOURCE.replace("        import torch_npu\n\n", "").replace(
        "key, value, head_num, input_layout, *", "grad, *"
    )
    call = source[source.index("torch_npu.") : source.index("\n\n\ndef get_inputs")]
    source = source.replace(call, "torch.ops.aten.relu_backward(grad, query)")
    x, grad = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0, 5.0])
    torch.relu(x).backward(grad)
    assert torch.equal(load_source(in_plain_torch(source), "relu.py").Model()(x.detach(), grad), x.grad)


def test_softmax_gives_its_extremes_and_sums_in_each_layout():
    q = torch.randn(2, 3, 4, 5)  # [batch, heads, sequence, size]
    due = attention.npu_fusion_attention(q, q, q, 3, "BNSD", scale=0.3)
    scores = 0.3 * q @ q.mT
    assert torch.allclose(due[1][..., 7] + due[2][..., 0].log(), scores.logsumexp(-1), atol=1e-6)
    rows = q.transpose(1, 2)
    for layout, x in (("BSND", rows), ("BSH", rows.flatten(2)), ("SBH", rows.flatten(2).transpose(0, 1).contiguous())):
        answer, largest, *_ = attention.npu_fusion_attention(x, x, x, 3, layout, scale=0.3)
        assert torch.allclose(attention._by_heads(answer, layout, 3), due[0]) and torch.allclose(largest, due[1])
        assert answer.is_contiguous() and answer.shape == x.shape


def test_heads_that_share_a_key_attend_to_it():
    q, k = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 5, 8)
    answer, sums = attention.npu_fused_infer_attention_score(
        q, k, k, num_heads=4, num_key_value_heads=2, scale=0.5, input_layout="BNSD", pre_tokens=9
    )
    due = torch.nn.functional.scaled_dot_product_attention(q, k, k, scale=0.5, enable_gqa=True)
    assert torch.allclose(answer, due, atol=1e-6) and sums.tolist() == [0]
    with pytest.raises(ValueError, match="without sparse_mode"):
        attention.npu_fused_infer_attention_score(q, k, k, input_layout="BNSD", sparse_mode=3)


def test_an_indexer_picks_the_keys_with_the_largest_weighted_sums_of_their_group():
    q, w = torch.randn(1, 2, 4, 6), torch.rand(1, 2, 4)  # [batch, sequence, heads, size]
    k = torch.randn(1, 5, 2, 6)
    picked, _ = attention.npu_lightning_indexer(q, k, w, sparse_count=7, sparse_mode=0)
    assert picked.shape == (1, 2, 2, 7) and picked.dtype == torch.int32 and bool((picked[..., 5:] == -1).all())
    for row in range(2):
        for group in range(2):
            heads = range(2 * group, 2 * group + 2)
            score = [sum(float(w[0, row, h] * (q[0, row, h] @ k[0, j, group]).relu()) for h in heads) for j in range(5)]
            held = [score[j] for j in picked[0, row, group, :5].tolist()]
            assert held == pytest.approx(sorted(score, reverse=True))


def test_a_feed_forward_network_gates_by_its_second_half():
    x, first, second = torch.randn(3, 4), torch.randn(4, 6), torch.randn(3, 4)
    hidden = x @ first
    due = (torch.relu(hidden[:, :3]) * hidden[:, 3:]) @ second
    assert torch.allclose(products.npu_ffn(x, first, second, "reglu"), due, atol=1e-5)
    fast = products.npu_ffn(x, first[:, :3], second, "fastgelu")
    assert torch.allclose(fast, torch.nn.functional.gelu(hidden[:, :3]) @ second, atol=0.3)


def test_quantised_products_are_scaled_and_saturate():
    x, w = torch.tensor([[100, -3]], dtype=torch.int8), torch.tensor([[2, 1], [0, 5]], dtype=torch.int8)
    scale = torch.tensor([0.5, 0.5])  # of the sums 200 and 85
    assert products.npu_quant_matmul(x, w, scale, offset=torch.tensor([0.0, 0.3])).tolist() == [[100, 43]]
    assert products.npu_quant_matmul(x, w, 2 * scale).tolist() == [[127, 85]]
    halved = products.npu_quant_matmul(
        x,
        w,
        scale,
        bias=torch.tensor([0, 1], dtype=torch.int32),
        pertoken_scale=torch.tensor([0.5]),
        output_dtype="float16",
    )
    assert halved.tolist() == [[50.0, 21.5]] and halved.dtype == torch.float16
    summed = products.npu_quant_matmul_reduce_sum(
        x.expand(2, 1, 2), w.expand(2, 2, 2), x1_scale=torch.tensor([[1.0], [0.5]]), x2_scale=scale.bfloat16()
    )
    assert summed.tolist() == [[150.0, 63.75]]
    weighed = products.npu_weight_quant_batchmatmul(torch.ones(1, 2), w, scale, torch.ones(2), bias=torch.tensor([1.0]))
    assert weighed.tolist() == [[3.0, 5.0]]


@pytest.mark.parametrize(("listed", "kind"), [([1, 2], 0), ([1, 1], 1)])
def test_rows_of_groups_meet_their_weights_and_rows_of_none_are_zero(listed: list[int], kind: int):
    x = torch.tensor([[1, 2], [3, -1], [5, 5]], dtype=torch.int8)
    weight = torch.randint(-9, 9, (2, 2, 4), dtype=torch.int8)
    scales, rows = torch.rand(2, 4), torch.rand(3)
    answer, steps = products.npu_grouped_matmul_swiglu_quant_v2(
        x, [weight], [scales], rows, torch.tensor(listed), group_list_type=kind
    )
    for row in range(2):
        act, gate = (x[row].float() @ weight[row].float() * scales[row] * rows[row]).chunk(2)
        due = act * act.sigmoid() * gate
        assert math.isclose(float(steps[row]), float(due.abs().max()) / 127, rel_tol=1e-5)
        assert torch.allclose(answer[row] * steps[row], due, atol=0.6 * float(steps[row]) + 1e-9)
    assert answer[2].tolist() == [0, 0] and float(steps[2]) == 0


def test_a_swiglu_is_quantised_by_the_largest_of_each_row():
    x = torch.randn(3, 8)
    act, gate = x.chunk(2, -1)
    due = act * act.sigmoid() * gate * torch.tensor([2.0, 2.0, 1.0]).unsqueeze(-1)  # the last row is in no group
    ends, scales = torch.tensor([2], dtype=torch.int32), torch.full((1, 4), 2.0)
    answer, scale = products.npu_swiglu_quant(
        x, smooth_scales=scales, group_index=ends, activate_left=True, quant_mode=1
    )
    assert torch.allclose(scale, 127 / due.abs().amax(-1)) and torch.equal(
        answer, (due * scale[:, None]).round().to(torch.int8)
    )
    answer, scale = products.npu_swiglu_quant(
        x, smooth_scales=scales, group_index=ends, activate_left=True, quant_mode=1, dst_type=torch.quint4x2
    )
    numbers = torch.stack((answer << 4 >> 4, answer >> 4), -1).flatten(1)
    assert torch.equal(numbers, (due * scale[:, None]).round().to(torch.int8)) and int(numbers.abs().max()) == 7


def test_the_rows_of_sorted_experts_are_counted():
    rows = torch.tensor([0, 0, 0, 1, 1, 2], dtype=torch.int32)
    assert places.npu_moe_compute_expert_tokens(rows, 4).tolist() == [3, 5, 6, 6]


@pytest.mark.parametrize("mode", ["Norm", "PA_NZ", "PA_BLK_BNSD"])
def test_a_cache_is_written_where_the_index_says(mode: str):
    batch, tokens, normed, turned, block = 2, 3, 32, 16, 4
    kv, gamma = torch.randn(batch, 1, tokens, normed + turned), torch.rand(normed)
    angle = torch.rand(batch, 1, tokens, turned // 2).repeat(1, 1, 1, 2)
    cache = (batch, 1, block) if mode == "Norm" else (batch, block, 1)
    index = {"Norm": [[2, 0, 1], [3, -1, 0]], "PA_NZ": [4, 0, 6, 2, -1, 3], "PA_BLK_BNSD": [4, 0]}[mode]
    caches = torch.zeros(*cache, turned), torch.zeros(*cache, normed)
    k, v, _, _ = places.npu_kv_rmsnorm_rope_cache(
        kv, gamma, angle.cos(), angle.sin(), torch.tensor(index), *caches, epsilon=0.0, cache_mode=mode
    )
    if mode == "PA_NZ":  # [blocks, heads, size / 16, block, 16]
        k, v = (
            each.reshape(batch, each.shape[-1] // 16, block, 16).transpose(1, 2).reshape(batch, block, 1, -1)
            for each in (k, v)
        )
    token = kv[1, 0, 0]  # the first of the second sequence
    row = {"Norm": (1, 0, 3), "PA_NZ": (0, 2, 0), "PA_BLK_BNSD": (0, 0, 0)}[mode]
    assert torch.allclose(v[row], gamma * token[:normed] / token[:normed].square().mean().sqrt(), atol=1e-5)
    pair = torch.complex(token[normed::2], token[normed + 1 :: 2]) * torch.exp(1j * angle[1, 0, 0, : turned // 2])
    assert torch.allclose(k[row], torch.cat((pair.real, pair.imag)), atol=1e-5)
    assert int((v.reshape(-1, normed).abs().sum(-1) > 0).sum()) == 5 + (mode == "PA_BLK_BNSD")

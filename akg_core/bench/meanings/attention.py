"""Fused attention and the choice of keys for it."""

from __future__ import annotations

import torch


def npu_fusion_attention(
    query,
    key,
    value,
    head_num,
    input_layout,
    *,
    pse=None,
    padding_mask=None,
    atten_mask=None,
    scale=1.0,
    keep_prob=1.0,
    pre_tockens=2147483647,
    next_tockens=2147483647,
    inner_precise=0,
    prefix=None,
    actual_seq_qlen=None,
    actual_seq_kvlen=None,
    sparse_mode=0,
    gen_mask_parallel=True,
    sync=False,
    softmax_layout="",
    sink=None,
):
    """dropout(softmax(scale * query @ key^T)) @ value, with the extremes and sums of softmax, each eight times.

    Without a mask `sparse_mode` and the tokens that go with it have no effect. A fourth result is empty; the numbers
    that follow, of the generator of random bits there, are left out.
    From the page of this function in op-plugin; layouts of the results from its source.
    """
    if any(
        each is not None for each in (pse, padding_mask, atten_mask, prefix, actual_seq_qlen, actual_seq_kvlen, sink)
    ):
        raise ValueError("Attention is stated without position encodings, masks, prefixes, lengths and sinks.")
    query, key, value = (_by_heads(each, input_layout, head_num) for each in (query, key, value))
    scores = torch.matmul(query.float(), key.float().transpose(-1, -2)) * scale
    largest = scores.amax(-1, keepdim=True)
    powers = torch.exp(scores - largest)
    total = powers.sum(-1, keepdim=True)
    weights = torch.nn.functional.dropout(powers / total, 1 - keep_prob)
    answer = _in_layout(torch.matmul(weights, value.float()).to(query.dtype), input_layout)
    return answer, largest.repeat(1, 1, 1, 8), total.repeat(1, 1, 1, 8), query.new_empty(0)


def npu_fused_infer_attention_score(query, key, value, *, num_heads=1, scale=1.0, input_layout="BSH", **options):
    """softmax(scale * query @ key^T) @ value, and a zero in place of the logarithms of sums, which nobody asked for.

    From the page of this function in op-plugin: `num_key_value_heads` of 0 is as many as the query has, each
    `sparse_mode` but 0 needs a mask, and SBH is no layout here.
    """
    heads = options.pop("num_key_value_heads", 0) or num_heads
    for unseen in ("pre_tokens", "next_tokens", "inner_precise"):
        options.pop(unseen, None)
    if given := [name for name, value in options.items() if value]:
        raise ValueError(f"Attention is stated without {given[0]}.")
    if input_layout == "SBH":
        raise ValueError("The layout SBH is none of this function.")
    query = _by_heads(query, input_layout, num_heads)
    key, value = (_by_heads(each, input_layout, heads) for each in (key, value))
    key, value = (each.repeat_interleave(num_heads // heads, 1) for each in (key, value))
    scores = torch.matmul(query.float(), key.float().transpose(-1, -2)) * scale
    answer = torch.matmul(torch.softmax(scores, -1), value.float()).to(query.dtype)
    return _in_layout(answer, input_layout), answer.new_zeros(1, dtype=torch.float32)


def npu_lightning_indexer(query, key, weights, *, layout_query="BSND", layout_key="BSND", sparse_count=2048, **options):
    """The places of the keys with the largest sums of weights * relu(query @ key^T), by the heads of a key's group.

    query [batch, sequence, heads, size], weights [batch, sequence, heads], key [batch, keys, groups, size]; the places
    are int32 [batch, sequence, groups, sparse_count], the best first, -1 behind the last. No values are returned.
    From the page of this function in op-plugin, and its test, which computes that in float32.
    """
    if layout_query != "BSND" or layout_key != "BSND" or options.pop("sparse_mode", 3):
        raise ValueError("Keys are picked of all keys of a batch, in the layout BSND.")
    for unseen in ("pre_tokens", "next_tokens"):
        options.pop(unseen, None)
    if given := [name for name, value in options.items() if value is not None and value is not False]:
        raise ValueError(f"Keys are picked without {given[0]}.")
    groups, nothing = key.shape[2], query.new_empty(0)
    query = query.float().transpose(1, 2).unflatten(1, (groups, -1))
    key = key.float().transpose(1, 2).unsqueeze(2)
    weights = weights.float().transpose(1, 2).unflatten(1, (groups, -1)).unsqueeze(-1)
    scores = (torch.relu(torch.matmul(query, key.transpose(-1, -2))) * weights).sum(2).transpose(1, 2)
    if sparse_count <= key.shape[-2]:
        return torch.topk(scores, sparse_count).indices.to(torch.int32), nothing
    places = torch.sort(scores, descending=True).indices.to(torch.int32)
    return torch.nn.functional.pad(places, (0, sparse_count - key.shape[-2]), value=-1), nothing


def _by_heads(tensor, layout, heads):
    """A tensor of `layout` as [batch, heads, sequence, size of a head]."""
    if layout not in ("BSH", "SBH", "BSND", "BNSD"):
        raise ValueError(f"The layout {layout} is none of BSH, SBH, BSND and BNSD.")
    if layout == "BNSD":
        return tensor
    if layout == "SBH":
        tensor = tensor.transpose(0, 1)
    return (tensor if layout == "BSND" else tensor.unflatten(-1, (heads, -1))).transpose(1, 2)


def _in_layout(tensor, layout):
    """The same backwards, in memory of its own."""
    if layout == "BNSD":
        return tensor
    tensor = tensor.transpose(1, 2)
    if layout != "BSND":
        tensor = tensor.flatten(2)
    return (tensor.transpose(0, 1) if layout == "SBH" else tensor).contiguous()

"""Operators that write at computed places, count them, or have another name in PyTorch."""

from __future__ import annotations

import torch


def relu_backward(grad_output, self):
    """The gradient where the input was above 0. PyTorch differentiates relu by `threshold_backward`."""
    return torch.ops.aten.threshold_backward(grad_output, self, 0)


def npu_moe_compute_expert_tokens(sorted_expert_for_source_row, num_expert):
    """Behind the last row of each expert: how many of the numbers are no larger than its own.

    From the page of this function in op-plugin. The docstring of NPUKernelBench counts by `bincount`, whose
    size is another where a number is `num_expert` or more.
    """
    experts = torch.arange(num_expert, device=sorted_expert_for_source_row.device)
    return (sorted_expert_for_source_row <= experts.unsqueeze(-1)).sum(-1).to(sorted_expert_for_source_row.dtype)


def npu_kv_rmsnorm_rope_cache(
    kv,
    gamma,
    cos,
    sin,
    index,
    k_cache,
    ckv_cache,
    *,
    k_rope_scale=None,
    c_kv_scale=None,
    k_rope_offset=None,
    c_kv_offset=None,
    epsilon=1e-5,
    cache_mode="Norm",
    is_output_kv=False,
):
    """The caches with a normed part of each token, and with a rotated one, at the places that `index` gives.

    kv [batch, heads, sequence, size of gamma + size of cos]. The same as the docstring of NPUKernelBench's
    12_kv_rmsnorm_rope_cache, whose loops over tokens need the values of `index`; places that are no cache's are left.
    """
    if any(each is not None for each in (k_rope_scale, c_kv_scale, k_rope_offset, c_kv_offset)):
        raise ValueError("The cache is stated without quantisation.")
    normed, turned = kv.float().split([gamma.shape[0], kv.shape[-1] - gamma.shape[0]], -1)
    normed = gamma.float() * (normed / torch.sqrt(normed.square().mean(-1, keepdim=True) + epsilon))
    turned = turned.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)
    first, second = turned.chunk(2, -1)
    turned = turned * cos.float() + torch.cat((-second, first), -1) * sin.float()
    places = _places(index, cache_mode, kv.shape[0], kv.shape[2], k_cache)
    caches = _written(k_cache, turned, places, cache_mode), _written(ckv_cache, normed, places, cache_mode)
    return (*caches, *((turned.to(kv.dtype), normed.to(kv.dtype)) if is_output_kv else (None, None)))


def _places(index, mode, batch, sequence, cache):
    """The row of a cache that each token goes to, [batch * sequence], and the number of rows where it goes nowhere."""
    if mode == "Norm":
        length = cache.shape[2]
        rows = index.reshape(batch, sequence)
        inside = (rows >= 0) & (rows < length)
        rows = rows + length * torch.arange(batch, device=index.device).unsqueeze(-1)
        return torch.where(inside, rows, batch * length).flatten()
    size = cache.shape[1]
    rows = index
    if "BLK" in mode:
        token = torch.arange(sequence, device=index.device)
        block = index.reshape(batch, -1)[:, token // size]
        rows = torch.where(block < 0, -1, block // size * size + token % size).flatten()
    total = cache.shape[0] * size
    return torch.where((rows >= 0) & (rows < total), rows, total)


def _written(cache, tokens, places, mode):
    """A cache with tokens [batch, heads, sequence, size] in the rows of their places."""
    tokens = tokens.to(cache.dtype).transpose(1, 2).flatten(0, 1)
    rows = cache.transpose(1, 2) if mode == "Norm" else cache
    if mode.endswith("NZ"):  # [blocks, heads, size / 16, block, 16]
        blocks, block, heads, size = cache.shape
        rows = cache.reshape(blocks, heads, size // 16, block, 16).permute(0, 3, 1, 2, 4)
        tokens = tokens.unflatten(-1, (-1, 16))
    shape, rows = rows.shape, rows.flatten(0, 1)
    rows = torch.cat((rows, rows[:1])).index_put((places,), tokens)[:-1].reshape(shape)
    if mode == "Norm":
        return rows.transpose(1, 2).contiguous()
    return rows.permute(0, 2, 3, 1, 4).reshape(cache.shape) if mode.endswith("NZ") else rows

"""Products of quantised matrices, and what goes around them."""

from __future__ import annotations

import torch


def npu_ffn(x, weight1, weight2, activation, *, bias1=None, bias2=None, inner_precise=None, **options):
    """activation(x @ weight1 + bias1) @ weight2 + bias2; of geglu, reglu and swiglu the first half is activated.

    From the page of this function in op-plugin, without experts and quantisation; its test takes gelu as
    PyTorch does, and x * sigmoid(1.702 * x) is what aclnnFastGelu documents.
    """
    if given := [name for name, value in options.items() if value is not None]:
        raise ValueError(f"A feed-forward network is stated without {given[0]}.")
    hidden = torch.matmul(x, weight1).float()
    if bias1 is not None:
        hidden = hidden + bias1
    gate = None
    if activation in ("geglu", "reglu", "swiglu"):
        hidden, gate = hidden.chunk(2, -1)
    if activation == "fastgelu":
        hidden = hidden * torch.sigmoid(1.702 * hidden)
    elif activation in ("gelu", "geglu"):
        hidden = torch.nn.functional.gelu(hidden)
    elif activation in ("relu", "reglu"):
        hidden = torch.relu(hidden)
    elif activation in ("silu", "swiglu"):
        hidden = torch.nn.functional.silu(hidden)
    else:
        raise ValueError(f"{activation} is no activation of a feed-forward network.")
    answer = torch.matmul((hidden if gate is None else hidden * gate).to(x.dtype), weight2)
    return answer if bias2 is None else (answer + bias2).to(x.dtype)


def npu_quant_matmul(
    x1, x2, scale, *, offset=None, pertoken_scale=None, bias=None, output_dtype=None, group_sizes=None
):
    """(x1 @ x2 + bias) * scale * pertoken_scale + offset of int8, summed in int32; a bias of floats comes last.

    From the page of this function in op-plugin: int8 is due where no dtype is given, an offset goes with int8,
    and scales of rows with float16 and bfloat16.
    """
    output = getattr(torch, output_dtype or "int8")
    if offset is not None and output != torch.int8:
        raise ValueError("An offset is added to answers of int8 only.")
    if pertoken_scale is not None and output not in (torch.float16, torch.bfloat16):
        raise ValueError("Rows are scaled in answers of float16 and bfloat16 only.")
    if group_sizes is not None or scale.dtype == torch.int64:
        raise ValueError("A product is stated for scales of columns, as real numbers.")
    answer = torch.matmul(x1.to(torch.int32), x2.to(torch.int32))
    if bias is not None and bias.dtype == torch.int32:
        answer = answer + bias
    answer = answer.float() * scale.float()
    if pertoken_scale is not None:
        answer = answer * pertoken_scale.unsqueeze(-1)
    if offset is not None:
        answer = answer + offset
    if bias is not None and bias.dtype != torch.int32:
        answer = answer + bias
    if output == torch.int8:
        answer = torch.round(answer).clamp(-128, 127)
    elif output == torch.int32:
        answer = torch.round(answer)
    return answer.to(output)


def npu_quant_matmul_reduce_sum(x1, x2, *, x1_scale=None, x2_scale=None):
    """The sum over a batch of (x1 @ x2) * x1_scale * x2_scale, of int8 by int8 in int32, as bfloat16.

    x1 [batch, m, k], x2 [batch, k, n], x1_scale [batch, m], x2_scale [n]; the sum is [m, n].
    From the page of this function in op-plugin, and its test.
    """
    products = torch.matmul(x1.to(torch.int32), x2.to(torch.int32)).float()
    return (products * x2_scale.float() * x1_scale.unsqueeze(-1)).sum(0).to(torch.bfloat16)


def npu_weight_quant_batchmatmul(
    x,
    weight,
    antiquant_scale,
    antiquant_offset=None,
    quant_scale=None,
    quant_offset=None,
    bias=None,
    antiquant_group_size=0,
    inner_precise=0,
):
    """x @ ((weight + antiquant_offset) * antiquant_scale) + bias, in the dtype of x.

    From the page of this function in op-plugin. Scales of groups are [ceil(k / size of a group), n].
    """
    if quant_scale is not None or quant_offset is not None or antiquant_group_size:
        raise ValueError("Weights are scaled as a whole or by columns, and answers are not quantised.")
    weight = weight.to(x.dtype)
    if antiquant_offset is not None:
        weight = weight + antiquant_offset
    answer = torch.matmul(x, weight * antiquant_scale)
    return answer if bias is None else (answer + bias).to(x.dtype)


def npu_grouped_matmul_swiglu_quant_v2(
    x, weight, weight_scale, x_scale, group_list, *, group_list_type=0, tuning_config=None, **options
):
    """swiglu of each row's product with the weight of its group, as int8 [m, n / 2] with the scales of rows [m].

    x int8 [m, k], weight int8 [groups, k, n], their scales [m] and [groups, n]; group_list has the groups' ends, or
    how many rows each has (`group_list_type` 1). Rows behind the last group are 0, and so are their scales.
    From the page of this function in op-plugin (A8W8), and its test.
    """
    if given := [name for name, value in options.items() if value]:
        raise ValueError(f"Products of groups are stated for int8 alone, without {given[0]}.")
    weight, weight_scale = weight[0], weight_scale[0]
    groups, rows = weight.shape[0], torch.arange(x.shape[0], device=x.device)
    ends = group_list.cumsum(0) if group_list_type else group_list
    group = (ends <= rows.unsqueeze(-1)).sum(-1)
    mine = group.unsqueeze(-1) == torch.arange(groups, device=x.device)
    spread = torch.where(mine.unsqueeze(-1), x.unsqueeze(1), 0).flatten(1)
    product = torch.matmul(spread.to(torch.int32), weight.flatten(0, 1).to(torch.int32)).float()
    product = product * weight_scale[group.clamp(max=groups - 1)] * x_scale.unsqueeze(-1)
    activated, gate = product.chunk(2, -1)
    answer = activated * torch.sigmoid(activated) * gate
    scale = answer.abs().amax(-1) / 127
    steps = torch.where(scale > 0, scale, 1).unsqueeze(-1)
    return torch.round(answer / steps).to(torch.int8), scale


def npu_swiglu_quant(
    x,
    *,
    smooth_scales=None,
    offsets=None,
    group_index=None,
    activate_left=False,
    quant_mode=0,
    group_list_type=0,
    dst_type=None,
):
    """swiglu, times the scales of each row's group, as int8: by the largest of a row (`quant_mode` 1), or as it is.

    group_index has the groups' ends, or how many rows each has (`group_list_type` 1); rows in no group are not scaled.
    The same as the docstring of NPUKernelBench's 10_swiglu_quant, whose loop over groups needs their values. Two int4
    (`torch.quint4x2`) are a byte: that of op-plugin's source, the first in its low bits as in its tests.
    """
    if group_index is None or smooth_scales is None or smooth_scales.dim() != 2:
        raise ValueError("The quantised swiglu is stated for scales of groups of rows.")
    if dst_type not in (None, torch.int8, torch.quint4x2):
        raise ValueError("The quantised swiglu is stated for int8 and int4.")
    most = 7 if dst_type == torch.quint4x2 else 127
    left, right = x.float().chunk(2, -1)
    answer = torch.sigmoid(left) * left * right if activate_left else torch.sigmoid(right) * right * left
    rows = answer.shape[:-1]
    answer = answer.flatten(0, -2)
    ends = group_index.cumsum(0) if group_list_type else group_index
    group = (ends <= torch.arange(answer.shape[0], device=x.device).unsqueeze(-1)).sum(-1)
    inside = (group < ends.shape[0]).unsqueeze(-1)
    group = group.clamp(max=ends.shape[0] - 1)
    scaled = answer * smooth_scales[group]
    if quant_mode == 1:
        answer = torch.where(inside, scaled, answer)
        scale = most / answer.abs().amax(-1).clamp(min=1e-10)
        answer, scale = answer * scale.unsqueeze(-1), scale.reshape(rows)
    else:
        scaled = scaled if offsets is None else scaled + offsets[group]
        answer, scale = torch.where(inside, scaled, answer), torch.zeros(rows, dtype=torch.float32)
    answer = torch.round(answer).clamp(-most - 1, most).to(torch.int8).reshape(*rows, -1)
    if dst_type == torch.quint4x2:
        first, second = answer[..., ::2], answer[..., 1::2]
        answer = (first & 15) | (second << 4)
    return answer, scale

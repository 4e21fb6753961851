"""What the wrong elements of an output have in common, in sentences from which a cause can be guessed.

Worker side. Nothing here decides a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch

_LOOKED_AT = 1 << 20  # of the wrong elements, spread over all of them
_SHOWN = 3
_MOST = 0.98  # of the wrong elements that must share what is said of them
_TYPICAL = 3e-2  # relative errors up to here look like rounding
_ROUNDING = (  # the typical relative error above which a format's rounding explains it, the coarsest first
    (6e-4, "products or sums in bf16 (8 bits)"),
    (3e-5, "products or sums in f16 or with factors rounded to 11 bits"),
    (0.0, "one long sum in f32 where PyTorch's is more exact"),
)


def diagnose(mine: torch.Tensor, due: torch.Tensor, wrong: torch.Tensor) -> tuple[str, ...]:
    """Sentences about the elements of `mine` that differ from `due`; `wrong` holds their flat indices, in order."""
    if not wrong.numel():
        return ()
    looked_at = wrong[:: -(-wrong.numel() // _LOOKED_AT)]
    one, other = mine.reshape(-1)[looked_at].double(), due.reshape(-1)[looked_at].double()
    share = wrong.numel() / mine.numel()
    said = [f"{wrong.numel()} of {mine.numel()} elements are wrong ({share:.2%})."]
    said += _places(looked_at, mine.shape) if share < _MOST else []
    said += _values(one, other)
    said.append("The largest errors: " + "; ".join(_largest(one, other, looked_at, mine.shape)) + ".")
    return tuple(said)


def _places(flat: torch.Tensor, shape: Sequence[int]) -> Iterator[str]:
    """What is said of the dimensions along which only some positions hold wrong elements."""
    for dim, size in enumerate(shape):
        inner = math.prod(shape[dim + 1 :])
        at = torch.unique(flat.div(inner, rounding_mode="floor").remainder(size))
        low, high, count = int(at[0]), int(at[-1]), at.numel()
        if count == size or size == 1:
            continue
        where = f"at {low}" if count == 1 else f"from {low} to {high}"
        said = f"Along dimension {dim} of size {size} all of them lie {where}"
        step = int((at[1:] - at[:-1]).min()) if count > 1 else 1
        if count > 2 and step > 1 and bool(((at - low) % step == 0).all()):
            yield f"{said}, every {step} positions: an index, or lanes that share one place."
        elif high == size - 1 and count == high - low + 1:
            yield f"{said}, at the end: a partial tile, its mask, or a loop that ends too early or too late."
        elif low == 0 and count == high + 1:
            yield f"{said}, at the beginning: padding, a first iteration, or a border."
        else:
            yield f"{said}."


def _values(one: torch.Tensor, other: torch.Tensor) -> Iterator[str]:
    """What is said of the values: the first explanation that holds for nearly all of them."""
    if _nearly(torch.isnan(one)):
        yield "They are NaN: memory that was never written, 0 times infinity, or infinity less infinity."
    elif _nearly(torch.isinf(one)):
        yield "They are infinite: an overflow, a division by 0, or a neutral element that was not replaced."
    elif _nearly(one == 0) and not _nearly(other == 0):
        yield "They are 0: never written, or masked lanes were stored."
    elif _nearly(one == -other):
        yield "They have the right size and the wrong sign."
    elif (ratio := _common(one / other)) is not None and abs(ratio - 1) > _TYPICAL:
        yield f"They are {ratio:.6g} times what is due: a factor, a divisor, or terms that are counted twice or not."
    elif (offset := _common(one - other)) is not None and offset:
        yield f"They are what is due plus {offset:.6g}: an addend, or where a sum starts."
    elif len(one) > 8 and _nearly(torch.sort(one).values == torch.sort(other).values):
        yield "They are the right values in other places: a transposed or shifted index, or the order of axes."
    elif (typical := _typical(one, other)) < _TYPICAL:
        cause = next(name for least, name in _ROUNDING if typical >= least)
        yield f"They are off by {typical:.2g} of their value, typically: like {cause}."


def _largest(one: torch.Tensor, other: torch.Tensor, flat: torch.Tensor, shape: Sequence[int]) -> Iterator[str]:
    distance = torch.nan_to_num((one - other).abs(), nan=math.inf)
    for number in distance.topk(min(_SHOWN, len(distance))).indices.tolist():
        index, rest = [], int(flat[number])
        for size in reversed(shape):
            rest, position = divmod(rest, size)
            index.append(position)
        yield f"{float(one[number]):.6g} at {[*reversed(index)]} where {float(other[number]):.6g} is due"


def _nearly(holds: torch.Tensor) -> bool:
    return float(holds.double().mean()) >= _MOST


def _common(values: torch.Tensor) -> float | None:
    """The value that nearly all share but for rounding; None where there is none."""
    finite = values[torch.isfinite(values)]
    if len(finite) < max(2, _MOST * len(values)):
        return None
    middle = finite.median()
    return float(middle) if _nearly((finite - middle).abs() <= 1e-3 * middle.abs()) else None


def _typical(one: torch.Tensor, other: torch.Tensor) -> float:
    """The median error beside the median size."""
    return float((one - other).abs().median() / other.abs().median().clamp_min(1e-300))

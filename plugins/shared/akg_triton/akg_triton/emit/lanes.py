"""Which lanes of an access a thread has: what Triton is told of pointers, from which it chooses layouts."""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.plugin.lower import Body, place, step
from akg_core.plugin.sketch import Element, Expr, Number, number
from akg_core.plugin.tile import conjuncts

_ALIGNED = 16  # bytes, from which on a thread takes several neighbours


def one_a_thread(body: Body, element: Element, mask: Expr | None, text: str, axes: Sequence[str]) -> str:
    """Pointers along `axes` of which neighbours along an axis that is `single` go to different threads.

    A thread has the taps of a window instead that are neighbours in memory. For that these are called aligned, which
    they are not: only where the mask tells each from the next, so that each is loaded alone.
    """
    if not any(body.axes[axis].single for axis in axes):
        return text
    flat = place(element.indices, body.tensors[element.tensor].dims)
    taps = [not body.axes[axis].single and step(body, flat, axis) == number(1) for axis in axes]
    counts = [body.lanes_of({axis}) if tap else 1 for axis, tap in zip(axes, taps, strict=True)]
    if len(axes) == 1:
        return f"tl.max_contiguous({text}, {counts[0]})"
    text = f"tl.max_contiguous({text}, {counts})"
    named = [axis for axis, tap in zip(axes, taps, strict=True) if tap]
    if named and all(_told_apart(body, mask, axis) for axis in named):
        text = f"tl.multiple_of({text}, {[_ALIGNED] * len(axes)})"
    return text


def _told_apart(body: Body, mask: Expr | None, axis: str) -> bool:
    """Whether a compiler finds a mask that differs from one lane of an axis to the next."""
    others = [body.axes_of(part) - {axis} for part in conjuncts(mask) if axis in body.axes_of(part)]
    extent = body.axes[axis].extent
    is_odd = isinstance(extent, Number) and extent.value % 2 == 1
    return any(is_odd if not rest else any(body.axes[each].single for each in rest) for rest in others)

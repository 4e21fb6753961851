"""Windows that slide over an image channels last: T.im2col copies their taps, which TileLang turns into TMA."""

from __future__ import annotations

from math import isqrt

from akg_core.plugin.lower import Op
from akg_core.plugin.sketch import Binary, Call, Element, Expr, Name, Number
from akg_plugin_tilelang.emit.gathered import loads_all_but
from akg_plugin_tilelang.emit.tiles import TilePrinter

LONGEST, MOST = 64, 256  # channels of 16 bits that one copy takes, and pixels
Digit = tuple[str, int, int]  # an axis divided by a number, and its remainder by another; 0: all of it


def im2col(printer: TilePrinter, op: Op, axes: tuple[str, ...]) -> str:
    """What T.im2col takes, with {} for the tile, of what a factor loads; "" where that is no window over a whole image.

    A pixel p of the result and a number k of tap and channel, of a tile of `axes`, see an image [n, h, w, c] at
    [p // (H * W), p // W % H * stride + k // (K * C) * dilation, p % W * stride + k // C % K * dilation, k % C].
    """
    if len(axes) != 2 or not isinstance(op.expr, Call) or not isinstance(op.expr.args[0], Element):
        return ""
    element, (pixels, taps) = op.expr.args[0], axes
    found = [digits(index) for index in element.indices]
    shape = [_number(dim) for dim in printer.terms.tensors[element.tensor].dims]
    count, depth = (_number(printer.body.axes[axis].extent) for axis in axes)
    lanes = [printer.body.axes[axis].lanes or LONGEST for axis in axes]
    if (
        op.target is None
        or op.target.dtype not in ("f16", "bf16")
        or len(shape) != 4
        or len(found[2]) != 2
        or not all((*shape, count, depth))
    ):
        return ""
    images, height, width, channels = shape
    kernel = isqrt(depth // channels)
    stride, dilation = (sum(times for digit, times in found[2].items() if digit[0] == axis) for axis in axes)
    rows, columns = ((size - (kernel - 1) * dilation - 1) // max(stride, 1) + 1 for size in (height, width))
    wanted = [
        {(pixels, rows * columns, 0): 1},
        {(pixels, columns, rows): stride, (taps, kernel * channels, 0): dilation},
        {(pixels, 1, columns): stride, (taps, channels, kernel): dilation},
        {(taps, 1, channels): 1},
    ]
    whole = (count, depth) == (images * rows * columns, kernel**2 * channels) and found == wanted
    fits = lanes[0] <= MOST and lanes[1] <= LONGEST and channels % lanes[1] == 0
    if not whole or not fits or not loads_all_but(printer, op, {pixels}):
        return ""
    begins = (printer.terms.tiles[axis].begin for axis in axes)
    steps = ", ".join(f"{begin.beside('//')} // {size}" for begin, size in zip(begins, lanes, strict=True))
    return f"{element.tensor}, {{}}, {steps}, {kernel}, {stride}, {dilation}, 0"


def _number(expr: Expr) -> int:
    return int(expr.value) if isinstance(expr, Number) else 0


def digits(expr: Expr) -> dict[Digit, int]:
    """An index as a sum of digits of axes, each so many times; {} where it is none."""
    match expr:
        case Name(id=name):
            return {(name, 1, 0): 1}
        case Binary(op="+", left=left, right=right):
            one, other = digits(left), digits(right)
            return one | other if one and other and not one.keys() & other.keys() else {}
        case Binary(op="*", left=left, right=Number(value=factor)):
            return {digit: times * int(factor) for digit, times in digits(left).items()}
        case Binary(op="//" | "%" as op, left=left, right=Number(value=by)):
            if list((found := digits(left)).values()) == [1]:
                ((axis, place, size),) = found
                if size % int(by) == 0:
                    return {(axis, place * int(by), size // int(by)) if op == "//" else (axis, place, int(by)): 1}
    return {}

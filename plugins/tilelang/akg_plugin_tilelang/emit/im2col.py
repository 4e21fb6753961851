"""Windows that slide over an image channels last: T.im2col copies their taps, which TileLang turns into TMA.

Only windows that give as many results as there are pixels, or every so manieth of these, go so: TileLang walks rows of
pixels as wide as the padding alone says.
"""

from __future__ import annotations

from math import isqrt

from akg_core.plugin.lower import Op
from akg_core.plugin.sketch import Binary, Call, Element, Expr, Name, Number
from akg_core.plugin.tile import EXISTS, conjuncts
from akg_plugin_tilelang.emit.gathered import is_multiplied_only
from akg_plugin_tilelang.emit.tiles import TilePrinter

LONGEST, MOST = 64, 256  # channels of 16 bits that one copy takes, and pixels
Digit = tuple[str, int, int]  # an axis divided by a number, and its remainder by another; 0: all of it
CONSTANT: Digit = ("", 1, 0)


def im2col(printer: TilePrinter, op: Op, axes: tuple[str, ...]) -> str:
    """What T.im2col takes, with {} for the tile, of what a factor loads; "" where that is no window over a whole image.

    A pixel p of the result and a number k of tap and channel, of a tile of `axes`, see an image [n, h, w, c] at [p //
    (H * W), p // W % H * stride + k // (K * C) * dilation - pad, p % W * stride + k // C % K * dilation - pad, k % C].
    """
    load = op.operand
    if len(axes) != 2 or op.result.dtype not in ("f16", "bf16") or not isinstance(load, Call):
        return ""
    element, (pixels, taps) = load.args[0], axes
    if not isinstance(element, Element) or len(element.indices) != 4 or not is_multiplied_only(printer, op.result.name):
        return ""
    found = [digits(index) for index in element.indices]
    images, height, width, channels = (_number(dim) for dim in printer.terms.tensors[element.tensor].dims)
    count, depth = (_number(printer.body.axes[axis].extent) for axis in axes)
    if not all((images, height, width, channels, count, depth)):
        return ""
    kernel, across = isqrt(depth // channels), found[2]
    stride, dilation = (sum(times for digit, times in across.items() if digit[0] == axis) for axis in axes)
    pad = -across.get(CONSTANT, 0)
    if not stride or 2 * pad != (kernel - 1) * dilation:
        return ""
    rows, columns = ((size - 1) // stride + 1 for size in (height, width))
    outside = {CONSTANT: -pad} if pad else {}
    wanted = [
        {(pixels, rows * columns, 0): 1},
        {(pixels, columns, rows): stride, (taps, kernel * channels, 0): dilation} | outside,
        {(pixels, 1, columns): stride, (taps, channels, kernel): dilation} | outside,
        {(taps, 1, channels): 1},
    ]
    lanes = [printer.body.axes[axis].lanes or LONGEST for axis in axes]
    whole = (count, depth) == (images * rows * columns, kernel**2 * channels) and found == wanted
    fits = lanes[0] <= MOST and lanes[1] <= LONGEST and channels % lanes[1] == 0
    if not whole or not fits or not _is_zero_outside(load, element, pixels):
        return ""
    begins = (printer.terms.tiles[axis].begin for axis in axes)
    steps = ", ".join(f"{begin.beside('//')} // {size}" for begin, size in zip(begins, lanes, strict=True))
    return f"{element.tensor}, {{}}, {steps}, {kernel}, {stride}, {dilation}, {pad}"


def _is_zero_outside(load: Call, element: Element, pixels: str) -> bool:
    """Whether a load's mask leaves out what is outside of the image, or lanes beyond the last pixel, these being 0."""
    options = dict(load.keywords)
    if "mask" not in options:
        return True
    asked = [each for each in conjuncts(options["mask"]) if not _exists(each, pixels)]
    inside = all(isinstance(each, Binary) and each.op in (">=", "<") and each.left in element.indices for each in asked)
    return inside and options.get("other") in (None, Number(0))


def _exists(condition: Expr, axis: str) -> bool:
    return isinstance(condition, Call) and condition.op == EXISTS and condition.args[0] == Name(axis)


def _number(expr: Expr) -> int:
    return int(expr.value) if isinstance(expr, Number) else 0


def digits(expr: Expr) -> dict[Digit, int]:
    """An index as a sum of digits of axes and a constant, each so many times; {} where it is none."""
    match expr:
        case Number(value=value):
            return {CONSTANT: int(value)}
        case Name(id=name):
            return {(name, 1, 0): 1}
        case Binary(op="+" | "-" as op, left=left, right=right):
            one, other = digits(left), digits(right)
            other = other if op == "+" else {digit: -times for digit, times in other.items()}
            return one | other if one and other and not one.keys() & other.keys() else {}
        case Binary(op="*", left=left, right=Number(value=factor)):
            return {digit: times * int(factor) for digit, times in digits(left).items()}
        case Binary(op="//" | "%" as op, left=left, right=Number(value=by)):
            if list((found := digits(left)).values()) == [1]:
                ((axis, place, size),) = found
                if size % int(by) == 0:
                    return {(axis, place * int(by), size // int(by)) if op == "//" else (axis, place, int(by)): 1}
    return {}

"""The numbers in addresses, for compilers that take addresses apart by their lanes and not at every number.

`one` is what is 1 in every launch (`Dialect.one`): a number times that is none to a compiler.
"""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.plugin.lower import Body, fold, place, step
from akg_core.plugin.sketch import INDEX, Binary, Expr, Name, Number, number, walk


def without_numbers(body: Body, indices: Sequence[Expr], dims: Sequence[Expr], one: str) -> tuple[Sequence[Expr], str]:
    """Indices of an access to a tensor of these dims, and what its address begins at beside these: " + 48 * one"."""
    axes = {axis for index in indices for axis in body.axes_of(index)}
    whole = place(indices, dims)
    if one and any(step(body, whole, axis) == number(2) for axis in axes):
        return _begun_by_pairs(indices, dims, one)
    indices, begins = _begun_by_another(indices)
    return indices, begins or _zero(body, indices, one)


def _begun_by_pairs(indices: Sequence[Expr], dims: Sequence[Expr], one: str) -> tuple[Sequence[Expr], str]:
    """Indices of lanes two places apart without the numbers in them, and these: their even part times `one`.

    Of such lanes a compiler loads whole pairs and takes one of each: the second where a 1 is added last to an address.
    It fails at other numbers there.
    """
    found: list[int] = []
    bare: list[Expr] = []
    stride: Expr = Number(1, type=INDEX)
    for index, size in zip(reversed(indices), reversed(dims), strict=True):
        rest, value = _parted(index) if isinstance(stride, Number) else (index, 0)
        if isinstance(stride, Number) and value:
            found.append(value * int(stride.value))
        bare.insert(0, rest)
        stride = fold(Binary("*", size, stride, type=INDEX))
    if found in ([], [1]):
        return indices, ""
    pairs, second = divmod(sum(found), 2)
    begins = f" {'-' if pairs < 0 else '+'} {2 * abs(pairs)} * {one}" if pairs else ""
    return bare, begins + " + 1" * second


def _parted(index: Expr) -> tuple[Expr, int]:
    """An index without the number that is added in it, and that."""
    match index:
        case Number(value=int(value)):
            return Number(0, type=INDEX), value
        case Binary(op="+" | "-" as sign, left=left, right=right):
            (one, before), (other, behind) = _parted(left), _parted(right)
            if before or behind:
                rest = fold(Binary(sign, one, other, type=INDEX))
                return rest, before + (behind if sign == "+" else -behind)
        case Binary(op="*", left=left, right=Number(value=int(factor))):
            rest, value = _parted(left)
            return fold(Binary("*", rest, index.right, type=INDEX)), value * factor
    return index, 0


def _begun_by_another(indices: Sequence[Expr]) -> tuple[Sequence[Expr], str]:
    """Indices, the last of lanes without the number at which these begin, and its places: " - 1".

    Only where these lanes are some places apart, and another index, which the number is added to, is none.
    """
    match indices:
        case [first, *between, Binary(op="+" | "-" as sign, left=lanes, right=Number(value=value))]:
            apart = any(isinstance(n, Binary) and n.op == "*" and isinstance(n.right, Number) for n in walk(lanes))
            if apart and not isinstance(first, Number):
                return (first, *between, lanes), f" {sign} {value}"
    return indices, ""


def _zero(body: Body, indices: Sequence[Expr], one: str) -> str:
    """What is 0 in every launch, for an address that begins at a number of places before its tensor."""
    axes = [body.axes.get(n.id) for index in indices for n in walk(index) if isinstance(n, Name)]
    known = all(axis is not None and isinstance(axis.begin, Number) for axis in axes)
    before = any(isinstance(index, Binary) and index.op == "-" for index in indices)
    return f" + ({one} - 1)" if known and before else ""

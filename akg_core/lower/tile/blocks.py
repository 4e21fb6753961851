"""Loads of whole blocks, which a unit that copies memory can do: the hint `via="bulk"`.

Such a unit sees a tensor as rows of its last dimension, and copies one block of rows and columns. So a tensor is loaded
in blocks where every access of a region loads such a block of one size, none reaching beyond it.

load_block(tensor[row, column], "m", "k")   the block of axes m and k that begins at a row of all rows, and a column
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from akg_core.dtypes import DTYPES
from akg_core.lower.divisors import Divisors
from akg_core.lower.fold import fold
from akg_core.lower.ir import Axis, Body, Op, Region, element_of
from akg_core.sketch.affine import INDEX
from akg_core.sketch.ast import Binary, Call, Element, Expr, Name, Number, Text, rewrite, walk

Block = tuple[int, int]
GRANULE = 16  # bytes that rows and the place of a block in them must be multiples of
MOST = 256  # positions of a block along each dimension


def load_blocks(body: Body, region: Region, divisors: Divisors) -> dict[str, Block]:
    """Have a region of a masked body load blocks where it can; the tensors of which it does, and their blocks."""
    found: dict[str, Block | None] = {}
    ops = list(region.inside())
    for tensor, block in (access for op in ops for access in _accesses(body, op, divisors)):
        found[tensor] = block if found.get(tensor, block) == block else None
    blocks = {name: block for name, block in found.items() if block is not None}

    def change(node: Any) -> Any:
        loads = isinstance(node, Call) and node.op == "load" and isinstance(node.args[0], Element)
        return _block(body, node, divisors) if loads and node.args[0].tensor in blocks else node

    for op in ops if blocks else ():
        op.expr, op.other = rewrite(op.expr, change), rewrite(op.other, change)
    return blocks


def _accesses(body: Body, op: Op, divisors: Divisors) -> Iterator[tuple[str, Block | None]]:
    if op.element is not None:
        yield op.element.tensor, None
    for load in (n for e in op.expressions() for n in walk(e) if isinstance(n, Call) and n.op == "load"):
        axes = _axes(body, load, divisors)
        yield element_of(load).tensor, None if axes is None else (axes[0].lanes or 0, axes[1].lanes or 0)


def _axes(body: Body, load: Call, divisors: Divisors) -> tuple[Axis, Axis] | None:
    """The axes of the rows and columns that a load takes a block of, when it is one."""
    element, keywords = element_of(load), dict(load.keywords)
    tensor = body.tensors[element.tensor]
    known = len(tensor.dims) >= 2 and all(isinstance(d, Number) for d in tensor.dims)
    if keywords.get("via") != Text("bulk") or "mask" in keywords or not known:
        return None
    axes = [body.axes.get(i.id) if isinstance(i, Name) else None for i in element.indices[-2:]]
    found = [a for a in axes if a is not None and not a.partial and a.lanes is not None and 1 < a.lanes <= MOST]
    if len(found) != 2:
        return None
    (rows, columns), width = found, tensor.dims[-1]
    assert isinstance(width, Number)
    size = DTYPES[tensor.dtype].size
    apart = width.value * size % GRANULE or divisors.of(columns.begin) * size % GRANULE
    outer = element.indices[:-2]
    plain = all(not body.axes_of(index) and body.bounds.fits_i32(index) for index in outer)
    small = all(body.bounds.fits_i32(Name(axis.name)) for axis in found)
    return (rows, columns) if plain and small and not apart else None


def _block(body: Body, load: Call, divisors: Divisors) -> Call:
    element, axes = element_of(load), _axes(body, load, divisors)
    assert axes is not None
    (rows, columns), tensor = axes, body.tensors[element.tensor]
    height: Expr = tensor.dims[-2]
    row = rows.begin
    for index, size in zip(reversed(element.indices[:-2]), reversed(tensor.dims[:-2]), strict=True):
        row = fold(Binary("+", fold(Binary("*", index, height, type=INDEX)), row, type=INDEX))
        height = fold(Binary("*", height, size, type=INDEX))
    place = Element(element.tensor, (row, columns.begin))
    return Call("load_block", (place, Text(rows.name), Text(columns.name)), type=load.type)

"""Loads of whole tiles through tensor descriptors, by the unit that copies blocks of memory: the hint `via="bulk"`.

A descriptor sees a tensor as rows of its last dimension, and copies one block of rows and columns. The launch makes it.
So a tensor is described where every access of a function loads such a block of one size, none reaching beyond it.
"""

from __future__ import annotations

from akg_core.plugin.lower import Axis, Body, Region, fold
from akg_core.plugin.sketch import DTYPES, INDEX, Binary, Call, Element, Expr, Name, Number, Text, walk
from akg_core.plugin.tile import Divisors
from akg_triton.emit.expression import ExpressionPrinter
from akg_triton.emit.terms import SUM, Term

Block = tuple[int, int]
GRANULE = 16  # bytes that rows and the place of a block in them must be multiples of
MOST = 256  # positions of a block along each dimension


def described(body: Body, region: Region, divisors: Divisors, terms: ExpressionPrinter) -> dict[str, Block]:
    """The tensors of a region that get a descriptor, and its block."""
    found: dict[str, Block | None] = {}
    for op in (inner for each in region.ops for inner in each.inside()):
        stores = [op.element] if op.element is not None else []
        loads = [n for e in op.expressions() for n in walk(e) if isinstance(n, Call) and n.op == "load"]
        accesses: list[tuple[str, Block | None]] = [(element.tensor, None) for element in stores]
        for load in loads:
            assert isinstance(load.args[0], Element)
            axes = block_axes(body, load, divisors, terms)
            block = None if axes is None else (axes[0].lanes or 0, axes[1].lanes or 0)
            accesses.append((load.args[0].tensor, block))
        for tensor, each_block in accesses:
            found[tensor] = each_block if found.get(tensor, each_block) == each_block else None
    return {name: block for name, block in found.items() if block is not None}


def block_axes(body: Body, load: Call, divisors: Divisors, terms: ExpressionPrinter) -> tuple[Axis, Axis] | None:
    """The axes of the rows and columns that a load takes a block of, when it is one."""
    element = load.args[0]
    assert isinstance(element, Element)
    keywords = dict(load.keywords)
    tensor = next(t for t in body.kernel.tensors if t.name == element.tensor)
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
    plain = all(not body.axes_of(index) and terms.fits(index) for index in outer)
    small = all(terms.fits(Name(axis.name)) for axis in found)
    return (rows, columns) if plain and small and not apart else None


def through_descriptor(terms: ExpressionPrinter, load: Call, rows: Axis, columns: Axis) -> Term:
    """A load of a block."""
    element = load.args[0]
    assert isinstance(element, Element)
    tensor = next(t for t in terms.body.kernel.tensors if t.name == element.tensor)
    at = terms.tiles[rows.name].begin
    height: Expr = tensor.dims[-2]
    for expr, dim in zip(reversed(element.indices[:-2]), reversed(tensor.dims[:-2]), strict=True):
        index = terms.term(expr)
        if index.text != "0":
            text = f"{index.beside('*')} * {terms.term(height)} + {at.beside('+', right=True)}"
            at = at.with_text(text if at.text != "0" else text.removesuffix(" + 0"), SUM)
        height = fold(Binary("*", height, dim, type=INDEX))
    text = f"{element.tensor}.load([{at}, {terms.tiles[columns.name].begin}])"
    names = (rows.name, columns.name)
    ordered = terms.ordered(names)
    return Term(text if ordered == names else f"tl.trans({text})", tensor.dtype, ordered)

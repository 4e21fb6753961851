"""Sizes known only at launch reach a kernel as dims of its tensors: one that lacks a size gets a tensor that has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, count

from akg_core.design.algebra.expression import to_expr
from akg_core.design.algebra.index import Symbol, position
from akg_core.design.kernels.builder import Emitted
from akg_core.design.kernels.writer import Parameter
from akg_core.design.nest.terms import Buffer
from akg_core.sketch import ast


def with_sizes(emitted: Emitted, symbols: Mapping[str, int], buffers: Iterable[Buffer]) -> Emitted:
    """`emitted` with one of `buffers` more for each size of `symbols` that it uses and no tensor of its own binds."""
    kernel = emitted.kernel
    taken = _names(kernel) | set(symbols)
    used = {n.id for n in ast.walk((kernel.body, kernel.tensors)) if isinstance(n, ast.Name)} & set(symbols)
    for symbol in sorted(used):
        atom = position(Symbol(symbol, symbols[symbol]))
        bound = {d.id for t in emitted.kernel.tensors for d in t.dims if isinstance(d, ast.Name)}
        buffer = next((b for b in buffers if atom in b.shape), None)
        if buffer is None or symbol in bound:
            continue
        name = next(n for n in chain([buffer.name], (f"{buffer.name}_{i}" for i in count(1))) if n not in taken)
        taken.add(name)
        extra = ast.TensorParameter(name, "In", buffer.dtype, tuple(map(to_expr, buffer.shape)))
        emitted = Emitted(
            replace(emitted.kernel, tensors=(extra, *emitted.kernel.tensors)),
            [Parameter(name, buffer, buffer.shape, True), *emitted.parameters],
        )
    return emitted


def _names(kernel: ast.Kernel) -> set[str]:
    """Every name that a kernel uses or introduces."""
    found = {t.name for t in kernel.tensors} | {t.name for t in kernel.tunes}
    for node in ast.walk((kernel.body, kernel.tensors)):
        match node:
            case ast.Name(id=name) | ast.Grid(axis=name) | ast.Tiles(axis=name) | ast.Whole(axis=name):
                found.add(name)
            case ast.Assign(targets=targets):
                found |= set(targets)
    return found

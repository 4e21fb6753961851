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
    buffers = list(buffers)
    taken = _names(emitted.kernel) | set(symbols)
    while lacking := _lacking(emitted.kernel, symbols):
        found = ((s, b) for s in lacking for b in buffers if position(Symbol(s, symbols[s])) in b.shape)
        if (first := next(found, None)) is None:
            break
        buffer = first[1]
        name = next(n for n in chain([buffer.name], (f"{buffer.name}_{i}" for i in count(1))) if n not in taken)
        taken.add(name)
        extra = ast.TensorParameter(name, "In", buffer.dtype, tuple(map(to_expr, buffer.shape)))
        emitted = Emitted(
            replace(emitted.kernel, tensors=(extra, *emitted.kernel.tensors)),
            [Parameter(name, buffer, buffer.shape, True), *emitted.parameters],
        )
    return emitted


def _lacking(kernel: ast.Kernel, symbols: Mapping[str, int]) -> list[str]:
    """The sizes that a kernel uses, in the dims of its tensors too, and that no dim of a tensor is."""
    used = {n.id for n in ast.walk((kernel.body, kernel.tensors)) if isinstance(n, ast.Name)} & set(symbols)
    return sorted(used - {d.id for t in kernel.tensors for d in t.dims if isinstance(d, ast.Name)})


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

"""Sizes known only at launch reach a kernel as dims of its tensors: one that lacks a size gets a tensor that has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from akg_core.design.algebra.expression import to_expr
from akg_core.design.algebra.index import Symbol, position
from akg_core.design.kernels.builder import Emitted
from akg_core.design.kernels.writer import Parameter
from akg_core.design.nest.terms import Buffer
from akg_core.sketch import ast
from akg_core.sketch.names import fresh, names_of


def with_sizes(emitted: Emitted, symbols: Mapping[str, int], buffers: Iterable[Buffer]) -> Emitted:
    """`emitted` with one of `buffers` more for each size of `symbols` that it uses and no tensor of its own binds."""
    buffers = list(buffers)
    taken = names_of(emitted.kernel) | set(symbols)
    while lacking := _lacking(emitted.kernel, symbols):
        found = ((s, b) for s in lacking for b in buffers if position(Symbol(s, symbols[s])) in b.shape)
        if (first := next(found, None)) is None:
            break
        buffer = first[1]
        name = fresh(buffer.name, taken)
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

"""Expressions of float arguments, which the host computes in double: kernels take their results as they take arguments.

Python computes these in double. On a chip that lacks it, `1 - beta` of a `beta` that was rounded is off by far more
than a rounding.
"""

from __future__ import annotations

from akg_core.design.fuse.buffers import Buffers
from akg_core.design.graph.anchors import operands
from akg_core.design.graph.reach import parts_first
from akg_core.design.graph.values import Literal, Pointwise, Value
from akg_core.design.nest.terms import Buffer
from akg_core.design.trace import Trace
from akg_core.records import Interface
from akg_core.sketch.ast import Expr, Name, Number, call
from akg_core.sketch.scalars import OPERATORS


def computed_on_host(interface: Interface, trace: Trace, buffers: Buffers) -> dict[Buffer, Expr]:
    """The largest expressions of float arguments that kernels read, each in an f64 buffer of its own."""
    arguments = [f"argument:{argument.name}" for argument in interface.arguments if argument.kind == "number"]
    given = [trace.sources[origin] for origin in arguments if origin in trace.sources]
    known: dict[Value, Expr] = {source: Name(buffers.source(source).name) for source in given}
    results = dict.fromkeys(value for value, _ in filter(None, (*trace.outputs, *trace.mutations.values())))
    order, wanted = dict[Value, None](), dict[Value, None]()
    for result in results if known else ():
        order |= dict.fromkeys(parts_first(result, order))
    for value in order:
        parts = operands(value)
        if isinstance(value, Literal) and (value.shape, value.dtype) == ((), "f64"):
            known[value] = Number(value.number)
        elif isinstance(value, Pointwise) and value.op in OPERATORS and all(p in known for p in parts):
            known[value] = call(value.op, *(known[p] for p in parts))
        else:
            wanted |= dict.fromkeys(p for p in parts if isinstance(p, Pointwise) and p in known and p not in results)
    for value in wanted:
        buffers[value] = buffers.new(value)
    return {buffers[value]: known[value] for value in wanted}

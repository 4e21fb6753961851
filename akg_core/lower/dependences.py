"""What each op reads, writes and runs over, from the inside out; ops that nobody reads are dropped."""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.lower.ir import Body, Op, Value


def prune(body: Body) -> None:
    """Drop ops whose result nobody reads."""
    while True:
        ops = list(body.ops())
        read = {v for p in ops for e in p.expressions() for v in body.values_of(e)}
        read |= {p.target for p in ops if p.kind == "range" and p.target}
        unread = {p for p in ops if p.target is not None and p.kind != "range" and p.target not in read}
        unread |= {p for p in ops if p.kind == "map" and p.target is not None and p.target.definition is not None}
        unread |= {p for p in ops if p.compound and not p.body and not p.orelse}
        if not unread:
            return
        for region in body.regions:
            region.ops = without(region.ops, unread)


def depend(body: Body, op: Op) -> None:
    """Note what an op reads, writes and iterates over, from the inside out."""
    roles = {t.name: t.role for t in body.kernel.tensors}
    reads: set[Value] = set()
    loaded: set[str] = set()
    axes: set[str] = set()
    for expr in op.expressions():
        reads |= set(body.values_of(expr))
        loaded |= {element.tensor for element in body.elements_of(expr)}
        axes |= body.axes_of(expr)
    writes = {op.target} if op.target is not None else set()
    for inner in (*op.body, *op.orelse):
        depend(body, inner)
        reads |= inner.reads
        writes |= inner.writes
        loaded |= inner.loaded
    if op.target is not None:
        axes |= op.target.axes
        if op.accumulate:
            reads.add(op.target)
    if op.kind not in ("all_reduce", "barrier"):
        axes |= set(op.over)
    if op.kind in ("all_reduce", "sort"):
        op.blocked = frozenset(axes)
    elif op.kind == "dot":
        op.blocked = _blocked(body, op)
    stored = {op.element.tensor} if op.element is not None else set()
    if op.kind == "barrier":  # nothing that others read or write passes it
        loaded = stored = set(roles)
    op.reads, op.writes = frozenset(reads), frozenset(writes)
    op.loaded = frozenset(t for t in loaded if roles[t] != "In")
    op.stored = frozenset(stored.union(*(p.stored for p in (*op.body, *op.orelse))))
    op.iterates = frozenset(axes) if not op.compound else frozenset()


def _blocked(body: Body, op: Op) -> frozenset[str]:
    """The axes that the matrix product itself runs over: the longest of its rows, of its columns, and all of `over`."""
    a, b = (body.axes_of(e) for e in (op.expr, op.other) if e is not None)
    longest = lambda axes: max(sorted(axes), key=lambda n: body.axes[n].capacity or 1 << 40)  # noqa: E731
    return frozenset({longest(a - b), longest(b - a), *op.over})


def without(ops: Sequence[Op], dropped: set[Op]) -> list[Op]:
    """The ops without some of them, and of those inside of them."""
    kept = [p for p in ops if p not in dropped]
    for op in kept:
        op.body, op.orelse = without(op.body, dropped), without(op.orelse, dropped)
    return kept

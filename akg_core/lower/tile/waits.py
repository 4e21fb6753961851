"""Where the threads of a program wait for each other because a tensor is written in one way after another: before it is
updated once it is stored to, before it is stored to once it is updated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from akg_core.lower.ir import Op, Region

Ways = Mapping[str, frozenset[str]]  # by tensor, the functions that have written it since the threads last waited


def waits(region: Region) -> frozenset[Op]:
    """The ops that the threads of a program wait before; for a loop that writes in one way, they do so once.

    Tensors that the region reads, too, are left out: threads wait wherever they touch these.
    """
    found, aside = set[Op](), region.updated()

    def ways_of(op: Op) -> Ways:
        ways: dict[str, frozenset[str]] = {}
        for inner in op.inside():
            if inner.kind == "store" and (tensor := inner.destination.tensor) not in aside:
                ways[tensor] = ways.get(tensor, frozenset()) | {inner.function}
        return ways

    def after(ops: Sequence[Op], before: Ways) -> Ways:
        for op in ops:
            own = ways_of(op)
            if any(len(ways) == 1 and before.get(tensor, ways) != ways for tensor, ways in own.items()):
                found.add(op)
                before = {}
            inside = before if op.kind == "if" else _both(before, own)  # another turn of a loop may come before
            bodies = [after(ops, inside) for ops in (op.body, op.orelse)] if op.compound else [inside]
            for ways in bodies:
                before = _both(before, ways)
        return before

    after(region.ops, {})
    return frozenset(found)


def _both(one: Ways, other: Ways) -> Ways:
    return {tensor: one.get(tensor, frozenset()) | other.get(tensor, frozenset()) for tensor in {*one, *other}}

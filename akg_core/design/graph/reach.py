"""What values are made of: questions that a designer asks of every value of a network, answered once for each."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import reduce
from operator import or_

from akg_core.design.graph.anchors import AnchorKey, anchor_of, operands
from akg_core.design.graph.values import Concat, Product, Source, Value, View, Window


class Reach:
    """The anchors and the tensors from outside that values lead to."""

    def __init__(self) -> None:
        self._needs: dict[Value, frozenset[AnchorKey]] = {}
        self._sources: dict[Value, frozenset[Source]] = {}

    def needs(self, value: Value) -> frozenset[AnchorKey]:
        """The nearest anchors that `value` is made of, itself when it is one."""
        for part in _up_to_anchors(value, self._needs):
            head = anchor_of(part)
            below = () if head else operands(part)
            self._needs[part] = frozenset((head,) if head else ()).union(*(self._needs[o] for o in below))
        return self._needs[value]

    def reads(self, value: Value) -> frozenset[Source]:
        """The tensors from outside that inlining `value` reads, up to the next anchors."""
        for part in _up_to_anchors(value, self._sources):
            own = frozenset((part,)) if isinstance(part, Source) else frozenset()
            parts = () if anchor_of(part) else operands(part)
            self._sources[part] = own.union(*(self._sources[o] for o in parts))
        return self._sources[value]


def concatenations(heads: Iterable[AnchorKey]) -> frozenset[Value]:
    """Those of some anchors that are tensors joined of parts."""
    return frozenset(head for head in heads if isinstance(head, Concat))


def _up_to_anchors(value: Value, known: Container[Value]) -> list[Value]:
    return parts_first(value, known, lambda part: () if anchor_of(part) else operands(part))


def parts_first(
    value: Value, known: Container[Value] = (), parts: Callable[[Value], Sequence[Value]] = operands
) -> list[Value]:
    """All that a value is made of and itself, parts before wholes; nothing of what is `known`."""
    found: dict[Value, None] = {}
    stack = [(value, False)]
    while stack:
        at, seen = stack.pop()
        if seen:
            found[at] = None
        elif at not in found and at not in known:
            stack.append((at, True))
            stack += [(o, False) for o in parts(at) if o not in found and o not in known]
    return list(found)


def readers(values: Iterable[Value], sources: Iterable[Value]) -> dict[Value, int]:
    """How many of the values are made of each source."""
    bits = {source: 1 << number for number, source in enumerate(sources)}
    below: dict[Value, int] = {}  # the sources of each value, as bits
    roots = list(values)
    for root in roots:
        for value in parts_first(root, below):
            below[value] = reduce(or_, (below[part] for part in operands(value)), bits.get(value, 0))
    return {source: sum(1 for root in roots if below[root] & bit) for source, bit in bits.items()}


def slid_over(roots: Sequence[Value]) -> set[Value]:
    """Reshapes of products that windows slide over, at once or through what is elementwise."""
    found: set[Value] = set()
    seen: set[tuple[Value, bool]] = set()
    stack = [(root, False) for root in roots]
    while stack:
        value, slid = stack.pop()
        if (value, slid) in seen:
            continue
        seen.add((value, slid))
        if slid and isinstance(value, View) and value.move is not None and value.move[0] == "reshape":
            found |= {value} if isinstance(value.arg, Product) else set()
        slid = isinstance(value, Window) or (slid and anchor_of(value) is None)
        stack += [(part, slid) for part in operands(value)]
    return found

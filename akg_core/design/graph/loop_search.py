"""The search for loops of Python in a captured graph: where they begin, and how many turns are of one body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from akg_core.design.graph.repeats import LEAST_TURNS, Repeat, Repeats
from akg_core.design.graph.rolled import Columns, NoLoop, Rolled, SideBySide, Whole, uncopied
from akg_core.records import Graph, Interface, Node


def rolled(graph: Graph, interface: Interface) -> Iterator[Node | Rolled]:
    """The nodes of a graph in order, those of loops as one."""
    nodes, finder, at = [*map(uncopied, graph.nodes)], _Finder(graph, interface), 0
    while at < len(nodes):
        loop, start = finder.first(at), at
        if loop is None:
            yield nodes[at]
            at += 1
            continue
        repeat, body = loop
        yield from nodes[start : repeat.first]
        yield body
        at = repeat.end


class _Finder:
    """Loops in a graph, by where they begin."""

    def __init__(self, graph: Graph, interface: Interface) -> None:
        self._repeats, self._whole = Repeats(graph.nodes), Whole(graph, interface)
        self._side_by_side: dict[int, int] = {}  # periods whose turns do not go on from each other, up to which node

    def first(self, at: int) -> tuple[Repeat, Rolled] | None:
        """The loop that begins at a node, from whichever node of its body on least goes from turn to turn."""
        for repeat in self._repeats.at(at):
            is_new = at >= self._side_by_side.get(repeat.period, 0)
            if is_new and not self._is_of_layers(repeat) and (found := self._best(repeat)):
                return found
        return None

    def _is_of_layers(self, repeat: Repeat) -> bool:
        """Whether turns are given other arguments or parameters of the graph than those before: no loop's are."""
        whole, second = self._whole, repeat.first + repeat.period
        return any(
            one != other and one in whole.given and other in whole.given
            for at in range(second, second + repeat.period)
            for one, other in zip(whole.references[at], whole.references[at + repeat.period], strict=True)
        )

    def _best(self, repeat: Repeat) -> tuple[Repeat, Rolled] | None:
        best: tuple[Repeat, Rolled] | None = None
        for shift in range(repeat.period):
            shifted = self._repeats.of(repeat.first + shift, repeat.period)
            try:
                found = self._longest(shifted)
            except SideBySide:
                self._side_by_side[repeat.period] = repeat.end
                return None
            if found is None and not shift:  # turns of no loop, whatever they begin with
                return None
            if found and (best is None or (found[1].weight, -found[0].turns) < (best[1].weight, -best[0].turns)):
                best = found
        return best

    def _longest(self, repeat: Repeat) -> tuple[Repeat, Rolled] | None:
        """As many turns as are of one body; another loop like it may follow."""
        low, high = LEAST_TURNS, repeat.turns  # so many are, and no more
        found = self._attempt(replace(repeat, turns=low)) if high >= low else None
        if found is None:
            return None
        best, tried = (replace(repeat, turns=low), found), high
        while low < high:
            if found := self._attempt(replace(repeat, turns=tried)):
                best, low = (replace(repeat, turns=tried), found), tried
            else:
                high = tried - 1
            tried = (low + high + 1) // 2
        return best

    def _attempt(self, repeat: Repeat) -> Rolled | None:
        try:
            return Columns(self._whole, repeat).loop()
        except NoLoop:
            return None

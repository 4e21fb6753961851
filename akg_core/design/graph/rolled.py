"""The turns of a Python loop as one body: what each turn is handed, what it goes on from, and what it leaves.

A column is what one node of the body is in every turn. Each of its arguments must be the same thing in all of them: a
value of the turn itself, of the turn before, the same value from outside, or its own part of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from akg_core.design.graph.repeats import SLIDING, Repeat, signature
from akg_core.records import Graph, Interface, Node
from akg_core.task.graph import GraphIndex, draws, reference, references, resolve

Key = tuple[int, int]  # a column and which result of it
_VIEWS = frozenset(
    f"aten.{name}"
    for name in ("select", "slice", "squeeze", "unsqueeze", "view", "permute", "expand", "_unsafe_view", "transpose")
)


@dataclass(frozen=True, slots=True)
class Part:
    """A turn's own part of `base`: along `dim` as many positions as `length` from `start + stride * turn` on.

    `name`: how the body refers to it. `selected`: it is without that dim.
    """

    name: str
    base: str
    dim: int
    start: int
    stride: int
    length: int
    selected: bool


@dataclass(frozen=True, slots=True)
class Written:
    """A tensor that each turn writes a part of: `part.name` is `part.base` with the results `kept` at such parts."""

    part: Part
    kept: str
    node: Node


@dataclass(frozen=True, slots=True)
class Rolled:
    """Nodes that are turns of one body.

    `body`: the nodes of the second turn, which refer to those of the first as what was before. `carried`: for what was
    before, what it becomes and what it is at first. `kept`: for what is used after the loop its names, turn by turn.
    """

    nodes: tuple[Node, ...]
    turns: int
    body: tuple[Node, ...]
    parts: tuple[Part, ...]
    fixed: tuple[str, ...]
    carried: dict[str, tuple[str, str]]
    kept: dict[str, tuple[str, ...]]
    written: tuple[Written, ...]
    weight: int


class NoLoop(Exception):
    """The nodes are not turns of one body."""


class SideBySide(Exception):
    """The nodes are turns of one body, none of which needs another."""


class Whole:
    """A graph with what is asked of it again and again."""

    def __init__(self, graph: Graph, interface: Interface) -> None:
        self.nodes, self.index = graph.nodes, GraphIndex(graph, interface)
        self.place = {node.name: n for n, node in enumerate(graph.nodes)}
        self.references = [tuple(references(uncopied(node))) for node in graph.nodes]
        self.given = {text for found in self.references for text in found if resolve(text)[0] not in self.place}
        self.users: dict[str, list[int]] = {}  # of each name, where it is used; the end for what leaves the graph
        for n, found in enumerate(self.references):
            for text in found:
                self.users.setdefault(text, []).append(n)
        for leaving in (*graph.outputs, *graph.mutations.values()):
            if leaving is not None:
                self.users.setdefault(leaving, []).append(len(graph.nodes))


def uncopied(node: Node) -> Node:
    """A copy into a tensor without the tensor, which gives nothing but its shape."""
    if node.op == "aten.copy.default":
        return node.model_copy(update={"args": (node.args[1], *node.args[1:])})
    return node


class Columns:
    """The columns of a repeat, as far as something after the loop depends on them."""

    def __init__(self, whole: Whole, repeat: Repeat) -> None:
        self._whole, self._repeat = whole, repeat
        starts = range(repeat.first, repeat.end, repeat.period)
        self._columns = [tuple(start + n for start in starts) for n in range(repeat.period)]
        self._where = {
            whole.nodes[at].name: (n, turn) for n, column in enumerate(self._columns) for turn, at in enumerate(column)
        }
        self._body: set[int] = set()
        self._slid: set[int] = set()  # columns that are a part of something in each turn
        self._parts: dict[str, Part] = {}
        self._fixed: dict[str, None] = {}
        self._carried: dict[Key, str] = {}
        self._written: dict[Key, Written] = {}
        self._kept: dict[Key, None] = {}

    def loop(self) -> Rolled:
        """Raises NoLoop."""
        wanted = [key for key, turns in self._escaping().items() if self._keep(key, turns)]
        wanted += [self._key(each.kept) for each in self._written.values()]
        self._kept.update(dict.fromkeys(wanted))
        while wanted:
            column, _ = wanted.pop()
            if column not in self._body:
                self._body.add(column)
                wanted += self._needed(column)
        written = {column for column, _ in self._written}
        if written & self._body:
            raise NoLoop
        if not self._carried:
            raise SideBySide
        nodes = sorted(self._columns[n][1] for n in self._body - self._slid)
        whole, repeat = self._whole, self._repeat
        return Rolled(
            nodes=whole.nodes[repeat.first : repeat.end],
            turns=repeat.turns,
            body=tuple(uncopied(whole.nodes[at]) for at in nodes),
            parts=tuple(self._parts.values()),
            fixed=tuple(self._fixed),
            carried={self._name(key, 0): (self._name(key, 1), first) for key, first in self._carried.items()},
            kept={self._name(k, 1): tuple(self._name(k, t) for t in range(repeat.turns)) for k in self._kept},
            written=tuple(self._written.values()),
            weight=sum(map(self._weight, self._carried)),
        )

    # --- what is used afterwards ------------------------------------------------------------------

    def _escaping(self) -> dict[Key, set[int]]:
        """What is used outside of the loop, and of which turns."""
        found: dict[Key, set[int]] = {}
        repeat = self._repeat
        for n, column in enumerate(self._columns):
            for turn, at in enumerate(column):
                node = self._whole.nodes[at]
                if draws(node):
                    raise NoLoop
                for result in range(len(node.dtypes)):
                    users = self._whole.users.get(reference(node.name, result), ())
                    if any(not repeat.first <= user < repeat.end for user in users):
                        found.setdefault((n, result), set()).add(turn)
        return found

    def _keep(self, key: Key, turns: set[int]) -> bool:
        """Whether what is used afterwards is left by the turns as it is; else it is written, turn by turn."""
        column = self._columns[key[0]]
        node = self._whole.nodes[column[0]]
        if not node.op.endswith("_scatter.default") or node.op not in SLIDING:
            return True
        start, stride = self._sliding(column, SLIDING[node.op][0], node.args[0], node.args[2])
        if not stride:
            return True
        selected = node.op.startswith("aten.select")
        base, before = self._same(key[0], 0)
        kept, now = self._same(key[0], 1)
        length = 1 if selected else node.args[4] - node.args[3]
        moves = stride > 0 if selected else stride == length and node.args[5] == 1
        if base != key or before != 1 or not isinstance(kept, tuple) or now != 0 or not moves:
            raise NoLoop
        if turns != {self._repeat.turns - 1}:
            raise NoLoop
        final = self._whole.nodes[column[-1]]
        part = Part(reference(final.name), node.args[0], node.args[2], start, stride, length, selected)
        self._written[key] = Written(part, self._name(kept, 1), final)
        return False

    def _same(self, column: int, argument: int) -> tuple[Key | str, int]:
        """The key that an argument is in every turn from the second on, and how many turns before; or a text."""
        found = set()
        for turn, at in enumerate(self._columns[column]):
            text = str(self._whole.nodes[at].args[argument])
            name, result = resolve(text)
            where = self._where.get(name)
            if turn:
                found.add(((where[0], result), turn - where[1]) if where else (text, 0))
        if len(found) != 1:
            raise NoLoop
        return found.pop()

    # --- what a turn is made of ----------------------------------------------------------------------

    def _needed(self, column: int) -> list[Key]:
        """What else belongs to the body, since a column reads it."""
        nodes = self._columns[column]
        node = self._whole.nodes[nodes[1]]
        needed: list[Key] = []
        texts = [self._whole.references[at] for at in nodes]
        moving = SLIDING.get(node.op)
        if moving and (slid := self._sliding(nodes, moving[0], texts[1][0], node.args[1])) and slid[1]:
            if not self._is_fixed([text[0] for text in texts]) or "scatter" in node.op:
                raise NoLoop
            selected = node.op == "aten.select.int"
            if not selected and node.args[4] != 1:
                raise NoLoop
            length = 1 if selected else int(node.shapes[0][node.args[1] % len(node.shapes[0])])
            name = reference(node.name)
            self._parts[name] = Part(name, texts[1][0], node.args[1], *slid, length, selected)
            self._slid.add(column)
            return []
        for number in range(len(texts[1])):
            needed += self._argument([text[number] for text in texts])
        return needed

    def _is_fixed(self, texts: Sequence[str]) -> bool:
        return len(set(texts)) == 1 and resolve(texts[0])[0] not in self._where

    def _argument(self, texts: Sequence[str]) -> list[Key]:
        """What an argument, as it stands in each turn, needs of the body."""
        if self._is_fixed(texts):
            self._fixed[texts[0]] = None
            return []
        found = [(self._where.get(name), result) for name, result in map(resolve, texts)]
        at = found[1][0]
        if at is None:
            return self._outside(texts)
        key, distance = (at[0], found[1][1]), 1 - at[1]
        same = all(w == (at[0], turn - distance) and r == key[1] for turn, (w, r) in enumerate(found) if turn)
        if not same or distance not in (0, 1):
            raise NoLoop
        if distance == 0 and found[0] != ((at[0], 0), key[1]):
            raise NoLoop
        if distance == 1:
            self._start(key, texts[0], found[0][0] is None)
        return [key]

    def _start(self, key: Key, first: str, outside: bool) -> None:
        """What a carried value is before the first turn."""
        name, index = self._name(key, 0), self._whole.index
        if not outside or self._carried.setdefault(key, first) != first:
            raise NoLoop
        if (index.shape(first), index.dtype(first)) != (index.shape(name), index.dtype(name)):
            raise NoLoop

    def _outside(self, texts: Sequence[str]) -> list[Key]:
        """Other values in each turn: results of one split in order, or what equal nodes have made before."""
        names, results = zip(*map(resolve, texts), strict=True)
        places = [self._whole.place.get(name, -1) for name in names]
        if min(places) < 0:
            raise NoLoop
        first = self._whole.nodes[places[0]]
        if len(set(names)) == 1:
            self._split(first, texts, results)
            return []
        if len(set(names)) < len(names) or len(set(results)) > 1 or max(places) >= self._repeat.first:
            raise NoLoop
        kind = signature(first)
        equal = all(signature(self._whole.nodes[at]) == kind for at in places)
        if not equal or draws(first) or any(name in self._where for name in names) or not self._only_here(places):
            raise NoLoop
        self._where.update({name: (len(self._columns), turn) for turn, name in enumerate(names)})
        self._columns.append(tuple(places))
        return [(len(self._columns) - 1, results[0])]

    def _only_here(self, places: Sequence[int]) -> bool:
        """Whether equal nodes before the loop may be made in its turns: what no one else needs, or costs nothing."""
        nodes = [self._whole.nodes[at] for at in places]
        if nodes[0].op.rpartition(".")[0] in _VIEWS:
            return True
        mine = {at for column in self._columns for at in column}
        names = [reference(node.name, n) for node in nodes for n in range(len(node.dtypes))]
        return all(user in mine for name in names for user in self._whole.users.get(name, ()))

    def _split(self, node: Node, texts: Sequence[str], results: Sequence[int]) -> None:
        stride = results[1] - results[0]
        if node.op != "aten.split_with_sizes.default" or [*results] != [
            results[0] + stride * turn for turn in range(len(results))
        ]:
            raise NoLoop
        sizes = node.args[1]
        lengths = set(sizes)
        if len(lengths) != 1 or not isinstance(sizes[0], int):
            raise NoLoop
        length = sizes[0]
        self._parts[texts[1]] = Part(
            texts[1], node.args[0], node.args[2], length * results[0], length * stride, length, False
        )

    def _sliding(self, column: Sequence[int], argument: int, base: str, dim: int) -> tuple[int, int]:
        """Where the first turn's place along a dim is, and how far each goes on; raises NoLoop."""
        places = [self._whole.nodes[at].args[argument] for at in column]
        if len(set(map(repr, places))) == 1:
            return 0, 0
        if not all(isinstance(place, int) for place in places):
            raise NoLoop
        if min(places) < 0:
            size = self._whole.index.shape(base)[dim]
            if not isinstance(size, int):
                raise NoLoop
            places = [place % size for place in places]
        stride = places[1] - places[0]
        if places != [places[0] + stride * turn for turn in range(len(places))]:
            raise NoLoop
        return places[0], stride

    # --- names ---------------------------------------------------------------------------------------

    def _key(self, text: str) -> Key:
        name, result = resolve(text)
        return self._where[name][0], result

    def _name(self, key: Key, turn: int) -> str:
        return reference(self._whole.nodes[self._columns[key[0]][turn]].name, key[1])

    def _weight(self, key: Key) -> int:
        """How many numbers a carried value has."""
        count = 1
        for dim in self._whole.index.shape(self._name(key, 0)):
            count *= dim if isinstance(dim, int) else 1
        return count

"""Divisions that may be an ulp off, for nothing jumps by what is made of them: no rounding to a whole number, no
branch, no comparison, no place of a tensor, no angle of a cosine.

Where a division that is rounded once is a call, every lane of a program sets registers aside for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from akg_core.dtypes import is_float
from akg_core.lower.ir import Body, Op
from akg_core.notation import COMPARISONS
from akg_core.sketch.ast import HELD, Binary, Call, Element, Expr, Launch, Name, SketchFile, Text, View, walk

_JUMPS = frozenset(("sign", "floor", "ceil", "round", "trunc", "fmod", "remainder", "bits", "argmax", "argmin", "sort"))
_ENDS = frozenset(("asin", "acos", "acosh", "atanh"))  # beyond 1 there is no result


def read_elsewhere(tree: SketchFile) -> Mapping[str, frozenset[int]]:
    """By the names of kernels: which of their tensors, counted from 0, another launch of the program reads."""
    nodes = list(walk(tree.program)) if tree.program else []
    roots: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, View):
            roots[node.target] = roots.get(node.tensor, node.tensor)
    launches = [node for node in nodes if isinstance(node, Launch)]
    handed = [
        (launch, number, parameter, roots.get(name, name))
        for launch in launches
        for number, (parameter, name) in enumerate(zip(tree.kernel(launch.kernel).tensors, launch.tensors, strict=True))
    ]
    readers = defaultdict[str, list[Launch]](list)
    for launch, _, parameter, root in handed:
        if parameter.role != "Out":
            readers[root].append(launch)
    found = defaultdict[str, set[int]](set)
    for launch, number, _, root in handed:
        if any(reader is not launch for reader in readers[root]):
            found[launch.kernel].add(number)
    return {kernel: frozenset(numbers) for kernel, numbers in found.items()}


def approximable(body: Body, read: Collection[str]) -> frozenset[int]:
    """The divisions and reciprocals of a kernel that may be an ulp off, by their `id`.

    `read`: its tensors that other kernels read, which may jump by what they find there.
    """
    return _Flow(body, read).approximable()


class _Flow:
    """Which values and tensors something jumps by, found from the ops that jump back to what they are made of."""

    def __init__(self, body: Body, read: Collection[str]) -> None:
        self.body, self.ops = body, list(body.ops())
        self.jumping, self.tensors = set[str](), set(read)
        self.exact, self.divisions = set[int](), set[int]()

    def approximable(self) -> frozenset[int]:
        known = -1
        while known != len(self.jumping) + len(self.tensors):
            known = len(self.jumping) + len(self.tensors)
            for op in self.ops:
                for expr, jumps in self._operands(op):
                    self._follow(expr, jumps)
        return frozenset(self.divisions - self.exact)

    def _operands(self, op: Op) -> Iterator[tuple[Expr, bool]]:
        """What an op evaluates, and whether something jumps by that."""
        chooses = op.kind in ("if", "sort") or op.function in _JUMPS
        kept = op.kind == "store" and op.destination.tensor in self.tensors
        made = op.target is not None and op.target.name in self.jumping
        for expr in (op.expr, op.other):
            if expr is not None:
                yield expr, chooses or kept or made
        places = op.element.indices if op.element is not None else ()
        for expr in (op.mask, *places, *op.bounds):
            if expr is not None:
                yield expr, True

    def _follow(self, expr: Expr, jumps: bool) -> None:
        waiting: list[tuple[object, bool]] = [(expr, jumps)]
        while waiting:
            node, jumps = waiting.pop()
            if isinstance(node, tuple):
                waiting += [(part, jumps) for part in node]
                continue
            if isinstance(node, (Binary, Call)) and node.op in ("/", "**", "reciprocal"):
                (self.exact if jumps else self.divisions).add(id(node))
            if isinstance(node, Name):
                waiting += self._named(node.id, jumps)
            elif isinstance(node, Call) and node.op == "where":
                waiting += [(arg, jumps or number == 0) for number, arg in enumerate(node.args)]
            elif isinstance(node, Element):
                self.tensors |= {node.tensor} if jumps else set()
                waiting.append((node.indices, True))
            elif (parts := HELD[type(node)]) is not None:
                waiting += [(getattr(node, part), jumps or _jumps(node)) for part in parts]

    def _named(self, name: str, jumps: bool) -> Iterator[tuple[object, bool]]:
        value = self.body.values.get(name)
        if value is not None and jumps:
            self.jumping.add(name)
        if value is not None and value.definition is not None:
            yield value.definition, jumps


def _jumps(node: object) -> bool:
    """Whether what a node makes may jump where an argument changes by its last bit."""
    match node:
        case Binary(op=op):
            return op in COMPARISONS or op in ("//", "%")
        case Call(op="cast", args=(_, Text(value=dtype), *_)):
            return not is_float(dtype)
        case Call(op=op):
            return op in _JUMPS or op in _ENDS
    return False

"""How many bytes of tiles live at the same time: what a schedule asks of the memory beside a unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from akg_core.records import Finding
from akg_core.sketch import ast
from akg_core.sketch.check.program import sized, substitute
from akg_core.sketch.codes import finding
from akg_core.sketch.dtypes import DTYPES


@dataclass(frozen=True, slots=True)
class Peak:
    """The most bytes of tiles that live at once in one program, where, and of which variables."""

    bytes: int
    place: ast.Place
    names: tuple[str, ...]


def peak(kernel: ast.Kernel, sizes: Mapping[str, ast.Expr] | None = None) -> Peak:
    """The peak of a kernel whose types are filled in, with Tunes at their defaults.

    `sizes` gives dimensions and Consts, and other values of Tunes. A tile along an axis counts its step, or the extent
    where that is known and less, and always a power of two, as it is held; a `whole` axis of unknown extent counts one
    position, so that the figure is then a lower bound.
    """
    walk = _Liveness(kernel, sizes or {})
    walk.block(kernel.body, frozenset())
    return walk.peak


def check_capacity(kernel: ast.Kernel, sizes: Mapping[str, ast.Expr], capacity: int) -> list[Finding]:
    """SK702 when the tiles of `kernel` need more than `capacity` bytes."""
    found = peak(kernel, sizes)
    if found.bytes <= capacity:
        return []
    names = ", ".join(found.names)
    message = f"Tiles of {found.bytes} bytes live at once here ({names}); there are {capacity}."
    return [finding("SK702", found.place, message, "Take smaller steps, or loop over a part of the axis at a time.")]


class _Liveness:
    def __init__(self, kernel: ast.Kernel, sizes: Mapping[str, ast.Expr]) -> None:
        self.values: dict[str, ast.Expr] = {
            t.name: ast.Number(t.default) for t in kernel.tunes if isinstance(t.default, int)
        }
        self.values |= sizes
        self.axes: dict[str, int] = {}
        self.bytes: dict[str, int] = {}
        for node in ast.walk(kernel.body):
            match node:
                case ast.Grid() | ast.Tiles():
                    known = [n for n in (self._number(node.extent), self._number(node.step)) if n is not None]
                    self.axes[node.axis] = max(self.axes.get(node.axis, 1), min(known, default=1))
                case ast.Whole():
                    self.axes[node.axis] = max(self.axes.get(node.axis, 1), self._number(node.extent) or 1)
        for node in ast.walk(kernel.body):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.bytes[target] = max(self.bytes.get(target, 0), self._size(node.value.type))
        self.peak = Peak(0, kernel.place, ())

    def _number(self, node: ast.Expr) -> int | None:
        if isinstance(node, ast.Tune):
            return node.choices[0] if isinstance(node.choices[0], int) else None
        return sized(substitute(node, self.values)).constant

    def _size(self, kind: ast.Type | None) -> int:
        if not (kind and kind.axes):
            return 0
        return prod(_power_of_two(self.axes.get(axis, 1)) for axis in kind.axes) * DTYPES[kind.dtype].size

    def block(self, statements: tuple[ast.Statement, ...], live: frozenset[str]) -> frozenset[str]:
        """The variables that live before `statements` when those in `live` do after; the peak is noted."""
        for node in reversed(statements):
            match node:
                case ast.Assign(targets=targets, value=value):
                    before = (live - set(targets)) | self._uses(value)
                    self._note(node.place, live | set(targets), value)
                    live = before
                    self._note(node.place, live, value)
                case ast.Effect(call=call):
                    live = live | self._uses(call)
                    self._note(node.place, live, call)
                case ast.If():
                    live = self.block(node.body, live) | self.block(node.orelse, live) | self._uses(node.condition)
                case ast.Grid() | ast.Tiles() | ast.Range():
                    turn = self.block(node.body, live)
                    live = live | self.block(node.body, live | turn)
        return live

    def _uses(self, node: ast.Expr) -> frozenset[str]:
        return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in self.bytes)

    def _note(self, place: ast.Place, live: frozenset[str], value: ast.Expr) -> None:
        inner = [n for n in ast.walk(value) if isinstance(n, ast.Call) and n.op in ("load", "dot") and n is not value]
        total = sum(self.bytes[name] for name in live) + sum(self._size(n.type) for n in inner)
        if total > self.peak.bytes:
            names = sorted((name for name in live if self.bytes[name]), key=lambda name: -self.bytes[name])
            self.peak = Peak(total, place, tuple(names))


def _power_of_two(positions: int) -> int:
    return 1 << (max(positions, 1) - 1).bit_length()

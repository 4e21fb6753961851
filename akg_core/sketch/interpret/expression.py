"""Evaluates the expressions of a kernel: names, operators and calls, in one program's frame."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NoReturn

from torch import Tensor

from akg_core.errors import SketchError
from akg_core.sketch import ast
from akg_core.sketch.codes import finding
from akg_core.sketch.interpret import memory as interpret_memory
from akg_core.sketch.interpret import ops as interpret_ops
from akg_core.sketch.interpret.counts import Counts
from akg_core.sketch.interpret.tiles import TORCH, Tile, TileError, cast, integer, literal, positions
from akg_core.sketch.ops import OPERATIONS

Value = Tile | tuple[Tile, ...]


@dataclass(slots=True)
class Frame:
    """What one program knows: variables (axes and dimensions too) and the extent of each axis' tile at hand.

    `collected` holds the results of collectives until the expression that asked is evaluated.
    """

    values: dict[str, Tile]
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    collected: dict[int, Tile] = field(default_factory=dict)

    def copy(self) -> Frame:
        return Frame(dict(self.values), dict(self.spans))

    def enter(self, axis: str, start: int, stop: int) -> None:
        """Bind `axis` to the tile of positions start … stop - 1."""
        self.values[axis] = positions(axis, start, stop)
        self.spans[axis] = (start, stop)


def fail(code: str, place: ast.Place, message: str, cure: str = "") -> NoReturn:
    """Raise the SketchError of what went wrong at `place`."""
    where = f"{place.line}:{place.column}: " if place.line else ""
    raise SketchError(f"{where}{code} {message}", cure, (finding(code, place, message, cure),))


class Evaluator:
    """Evaluates expressions over `tensors`, counting what they move and compute into `counts`."""

    def __init__(self, tensors: dict[str, Tensor] | None = None, counts: Counts | None = None) -> None:
        self.tensors = tensors or {}
        self.counts = counts or Counts()

    def tile(self, expression: ast.Expr, frame: Frame) -> Tile:
        """The value of an expression that has one result."""
        value = self.evaluate(expression, frame)
        if isinstance(value, tuple):
            fail("SK110", expression.place, "This operation has several results.", "Assign them: a, b = …")
        return value

    def whole_number(self, expression: ast.Expr, frame: Frame) -> int:
        """The value of a scalar integer expression: an extent, a bound, a dimension."""
        tile = self.tile(expression, frame)
        if tile.axes or tile.value.is_floating_point():
            fail("SK306", expression.place, f"A whole number is needed here, not a {tile}.")
        return int(tile.value)

    def evaluate(self, expression: ast.Expr, frame: Frame) -> Value:
        """The value of an expression; what does not fit becomes a SketchError at its place."""
        try:
            return self._evaluate(expression, frame)
        except TileError as error:
            fail(error.code, expression.place, str(error))
        except RuntimeError as error:  # torch's own: an operation that a dtype lacks, a division by zero
            message = str(error).splitlines()[0]
            fail(
                "SK402",
                expression.place,
                {"ZeroDivisionError": "An integer is divided by zero"}.get(message, message) + ".",
            )

    def _evaluate(self, expression: ast.Expr, frame: Frame) -> Value:
        match expression:
            case ast.Number(value=value):
                return literal(value)
            case ast.Name(id=name):
                if name not in frame.values:
                    fail("SK205", expression.place, f"`{name}` has no value here.")
                return frame.values[name]
            case ast.Unary(op=op, operand=operand):
                return self._apply(op, self.tile(operand, frame))
            case ast.Binary(op=op, left=left, right=right):
                return self._binary(op, self.tile(left, frame), self.tile(right, frame))
            case ast.Call():
                return self._call(expression, frame)
        fail("SK105", expression.place, "This has no value of its own.")

    def _binary(self, op: str, left: Tile, right: Tile) -> Tile:
        result = self._apply(op, left, right)
        if op in ("+", "-") and left.origin is not None and not right.axes and result.dtype == "i64":
            shift = int(right.value)
            return replace(result, origin=left.origin + (shift if op == "+" else -shift))
        return result

    def _apply(self, name: str, *tiles: Tile) -> Tile:
        result = interpret_ops.apply(name, tiles)
        if not result.uniform and any(tile.value.is_floating_point() for tile in (result, *tiles)):
            if name in interpret_ops.TRANSCENDENTAL:
                self.counts.transcendental += result.value.numel()
            else:
                self.counts.elementwise += result.value.numel()
        return result

    def _call(self, call: ast.Call, frame: Frame) -> Value:
        op, keywords = call.op, dict(call.keywords)
        kind = OPERATIONS[op].kind
        match kind:
            case "all_reduce":
                return frame.collected.pop(id(call))
            case "load":
                return self._load(call.args[0], keywords.get("other"), frame)
            case "create":
                return self._create(call, frame)
            case "axis":
                start, stop = frame.spans[self._axis(call.args[0], frame)]
                return integer({"begin": start, "end": stop, "size": stop - start}[op])
        first = self.tile(call.args[0], frame)
        match kind:
            case "elementwise":
                return self._apply(op, first, *(self.tile(arg, frame) for arg in call.args[1:]))
            case "cast":
                return cast(first, _text(call.args[1]))
            case "round":
                return interpret_ops.round_to(first, _text(call.args[1]))
            case "split_float":
                return interpret_ops.split_float(first, _text(call.args[1]))
            case "split":
                sizes = call.args[1].items if isinstance(call.args[1], ast.Group) else (call.args[1],)
                return interpret_ops.split(first, [self.tile(size, frame) for size in sizes])
            case "random":
                return interpret_ops.rand(first, self.tile(call.args[1], frame))
            case "contract":
                second = self.tile(call.args[1], frame)
                into = self.tile(keywords["into"], frame) if "into" in keywords else None
                sizes_of = {axis: tile.size(axis) for tile in (first, second) for axis in tile.axes}
                result = interpret_ops.contract(first, second, _axes(keywords["over"]), into)
                self.counts.dot_operations += 2 * math.prod(sizes_of.values())
                return result
        if first.value.is_floating_point():
            self.counts.elementwise += first.value.numel()
        if kind == "reduce":
            return interpret_ops.reduce(op, first, _axes(call.args[1]))
        axis = self._axis(call.args[1], frame)
        if kind == "argreduce":
            return interpret_ops.argreduce(op, first, axis, frame.spans[axis][0])
        if kind == "scan":
            return interpret_ops.scan(op, first, axis, keywords.get("reverse") == ast.Number(True))
        if kind == "sort":
            return interpret_ops.sort(first, axis, keywords.get("bitonic") == ast.Number(True))
        assert kind == "pick", f"an operation of unknown kind: {call}"
        return interpret_ops.pick(op, first, axis)

    def element(self, expression: ast.Expr, frame: Frame) -> tuple[Tensor, list[Tile]]:
        """The tensor of `x[m, n]` and the index tiles."""
        assert isinstance(expression, ast.Element)
        if expression.tensor not in self.tensors:
            fail("SK201", expression.place, f"There is no tensor `{expression.tensor}`.")
        return self.tensors[expression.tensor], [self.tile(index, frame) for index in expression.indices]

    def _load(self, expression: ast.Expr, other: ast.Expr | None, frame: Frame) -> Tile:
        tensor, indices = self.element(expression, frame)
        tile, moved = interpret_memory.load(tensor, indices, literal(0) if other is None else self.tile(other, frame))
        self.counts.bytes_read += moved * tensor.element_size()
        return tile

    def _create(self, call: ast.Call, frame: Frame) -> Tile:
        axes, *rest = call.args
        assert isinstance(axes, ast.AxisList)
        value = self.tile(rest.pop(0), frame) if call.op == "full" else literal(0)
        dtype = _text(rest[0]) if rest else "f32"
        spans = [frame.spans[self._axis(ast.Name(axis, place=axes.place), frame)] for axis in axes.axes]
        shape = [stop - start for start, stop in spans]
        if value.axes:
            raise TileError("SK306", f"full takes a scalar, not a {value}.")
        return Tile(value.value.to(TORCH[dtype]).expand(shape), axes.axes)

    def _axis(self, expression: ast.Expr, frame: Frame) -> str:
        """The name of an axis whose tile is at hand."""
        if not isinstance(expression, ast.Name) or expression.id not in frame.spans:
            fail("SK301", expression.place, "This is not an axis of a loop around it.")
        return expression.id


def _axes(expression: ast.Expr) -> tuple[str, ...]:
    """`n` or `(m, n)` as names of axes."""
    match expression:
        case ast.Name(id=name):
            return (name,)
        case ast.Group(items=items):
            return tuple(axis for item in items for axis in _axes(item))
        case ast.AxisList(axes=axes):
            return axes
    fail("SK301", expression.place, "An axis, or a group of axes, is needed here.")


def _text(expression: ast.Expr) -> str:
    if not isinstance(expression, ast.Text):
        fail("SK401", expression.place, 'A dtype or format is needed here, in quotes: "f32".')
    return expression.value

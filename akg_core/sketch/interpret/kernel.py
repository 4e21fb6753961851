"""Runs one kernel: its programs one after the other, statement by statement.

Statements run as generators. They run through unless a `all_reduce_*` asks for what the other programs of its grid axis
have, or a `barrier` for them to come: then the program waits there, and the grid goes on once all of them have come to
the same place.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TypeGuard

import torch

from akg_core.sketch import ast
from akg_core.sketch.interpret import memory as interpret_memory
from akg_core.sketch.interpret import ops as interpret_ops
from akg_core.sketch.interpret.expression import Evaluator, Frame, fail
from akg_core.sketch.interpret.tiles import Tile, TileError, align, cast, integer, positions, strong
from akg_core.sketch.ops import OPERATIONS


@dataclass(frozen=True, slots=True)
class Collective:
    """A program waits at `call` for the others of the grid axis `axis`; `tile` is its own part, if it has one."""

    call: ast.Call
    axis: str
    tile: Tile


Steps = Generator[Collective, Tile, None]


class KernelRun(Evaluator):
    """One launch of a kernel on the evaluator's tensors, which it writes in place."""

    def run(self, kernel: ast.Kernel, values: dict[str, Tile]) -> None:
        """Run all programs of `kernel` with its dimensions and constants in `values`.

        Raises SketchError, with the place, for tiles and indices that do not fit.
        """
        self._collectives: dict[int, tuple[ast.Call, ...]] = {}
        self._assigned: dict[int, frozenset[str]] = {}
        self._read_only = {tensor.name for tensor in kernel.tensors if tensor.role == "In"}
        self._is_cooperative = any(_is_collective(node) for node in ast.walk(kernel.body))
        for collective in self._block(kernel.body, Frame(dict(values))):
            cure = f"Mark it: `for {collective.axis} in grid(…, 1, cooperative=True)`."
            fail("SK307", collective.call.place, f"No grid axis `{collective.axis}` runs together here.", cure)

    def _block(self, body: Sequence[ast.Statement], frame: Frame) -> Steps:
        for statement in body:
            if self._is_cooperative:
                yield from self._settle(statement, frame)
            match statement:
                case ast.Assign():
                    self._assign(statement, frame)
                case ast.Effect(call=call) if not _is_collective(call):
                    self._effect(call, frame)
                case ast.Grid():
                    yield from self._grid(statement, frame)
                case ast.Tiles():
                    yield from self._tiles(statement, frame)
                case ast.Range():
                    yield from self._range(statement, frame)
                case ast.Whole(axis=axis, extent=extent):
                    frame.enter(axis, 0, self.whole_number(extent, frame))
                case ast.If():
                    yield from self._if(statement, frame)
                case ast.Effect():
                    pass  # a barrier, where all have arrived
                case _:
                    raise TypeError(f"not a statement of a kernel: {statement}")

    # --- assignments and effects ------------------------------------------------------------------------

    def _assign(self, statement: ast.Assign, frame: Frame) -> None:
        value = self.evaluate(statement.value, frame)
        results = value if isinstance(value, tuple) else (value,)
        if len(results) != len(statement.targets):
            fail("SK110", statement.place, f"{len(results)} results for {len(statement.targets)} names.")
        for name, tile in zip(statement.targets, results, strict=True):
            frame.values[name] = tile

    def _effect(self, call: ast.Call, frame: Frame) -> None:
        target = call.args[0]
        tensor, indices = self.element(target, frame)
        if isinstance(target, ast.Element) and target.tensor in self._read_only:
            fail("SK604", call.place, f"`{target.tensor}` is In: it may only be read.", "Declare it Out or InOut.")
        value = self.tile(call.args[1], frame)
        try:
            if call.op == "store":
                self.counts.bytes_written += interpret_memory.store(tensor, indices, value) * tensor.element_size()
            else:
                moved = interpret_memory.atomic(call.op, tensor, indices, value) * tensor.element_size()
                self.counts.bytes_read += moved
                self.counts.bytes_written += moved
        except TileError as error:
            fail(error.code, call.place, str(error))

    # --- loops and branches -----------------------------------------------------------------------------

    def _grid(self, grid: ast.Grid, frame: Frame) -> Steps:
        extent, step = self.whole_number(grid.extent, frame), self._step(grid.step, frame)
        programs = (self._program(grid, start, min(start + step, extent), frame) for start in range(0, extent, step))
        if ("cooperative", ast.Number(True)) in grid.hints:
            yield from self._together(grid.axis, list(programs))
        else:
            for program in programs:
                yield from program

    def _program(self, grid: ast.Grid, start: int, stop: int, frame: Frame) -> Steps:
        own = frame.copy()
        own.enter(grid.axis, start, stop)
        return self._block(grid.body, own)

    def _tiles(self, loop: ast.Tiles, frame: Frame) -> Steps:
        extent, step = self.whole_number(loop.extent, frame), self._step(loop.step, frame)
        first = 0 if loop.start is None else self.whole_number(loop.start, frame)
        stop = extent if loop.stop is None else min(extent, self.whole_number(loop.stop, frame))
        spans = [(max(start, 0), min(start + step, stop)) for start in range(first, stop, step)]
        turns = [(positions(loop.axis, *span), span) for span in spans if span[0] < span[1]]
        yield from self._turns(loop, loop.axis, reversed(turns) if loop.reverse else turns, loop.body, frame)

    def _range(self, loop: ast.Range, frame: Frame) -> Steps:
        start, stop = self.whole_number(loop.start, frame), self.whole_number(loop.stop, frame)
        turns = [(integer(i), None) for i in range(start, stop, self._step(loop.step, frame, backwards=True))]
        yield from self._turns(loop, loop.variable, turns, loop.body, frame)

    def _turns(
        self,
        node: ast.Statement,
        name: str,
        turns: Iterable[tuple[Tile, tuple[int, int] | None]],
        body: Sequence[ast.Statement],
        frame: Frame,
    ) -> Steps:
        """One turn of a sequential loop after the other, with `name` bound anew in each."""
        for tile, span in turns:
            if span is not None:
                frame.spans[name] = span
            yield from self._scope(node, body, frame, {name: tile})
        frame.spans.pop(name, None)

    def _if(self, branch: ast.If, frame: Frame) -> Steps:
        condition = self.tile(branch.condition, frame)
        if condition.axes:
            fail("SK306", branch.condition.place, "`if` asks a scalar; this is a tile.", "Use where(…) on tiles.")
        yield from self._scope(branch, branch.body if condition.value else branch.orelse, frame, {})

    def _scope(self, node: ast.Statement, body: Sequence[ast.Statement], frame: Frame, bound: dict[str, Tile]) -> Steps:
        """`body` with `bound` set: names that it assigns first are its own, those from before keep their type."""
        if id(node) not in self._assigned:
            names = (name for part in ast.walk(node) if isinstance(part, ast.Assign) for name in part.targets)
            self._assigned[id(node)] = frozenset(names)
        outer, spans = dict(frame.values), dict(frame.spans)
        carried = self._assigned[id(node)] & outer.keys()
        frame.values.update({name: strong(outer[name]) for name in carried})
        frame.values.update(bound)
        yield from self._block(body, frame)
        for name in frame.values.keys() - outer.keys():
            del frame.values[name]
        for name in carried:
            tile = frame.values[name] = strong(frame.values[name])
            if set(tile.axes) != set(outer[name].axes):
                fail("SK501", node.place, f"`{name}` is a {outer[name]} before this and becomes a {tile} in it.")
            if tile.dtype != outer[name].dtype:
                fail(
                    "SK502", node.place, f"`{name}` is {outer[name].dtype} before this and becomes {tile.dtype} in it."
                )
        frame.spans = spans

    def _step(self, expression: ast.Expr, frame: Frame, backwards: bool = False) -> int:
        step = self.whole_number(expression, frame)
        if step == 0 or (step < 0 and not backwards):
            fail("SK506", expression.place, f"A step of {step} goes nowhere.")
        return step

    # --- collectives -----------------------------------------------------------------------------------------

    def _settle(self, statement: ast.Statement, frame: Frame) -> Steps:
        """Hold the collectives in the statement's own expressions, inner ones first."""
        if id(statement) not in self._collectives:
            own = [getattr(statement, f.name) for f in fields(statement) if f.name not in ("body", "orelse")]
            nodes = [node for part in own for node in ast.walk(part)]
            self._collectives[id(statement)] = tuple(n for n in reversed(nodes) if _is_collective(n))
        for call in self._collectives[id(statement)]:
            tile, axis = (integer(0) if len(call.args) == 1 else self.tile(call.args[0], frame)), call.args[-1]
            if not isinstance(axis, ast.Name) or axis.id not in frame.spans or axis.id in tile.axes:
                fail("SK307", call.place, f"{call.op} needs a grid axis that the tile does not have.")
            frame.collected[id(call)] = yield Collective(call, axis.id, tile)

    def _together(self, axis: str, programs: Sequence[Steps]) -> Steps:
        """Run programs from collective to collective, each in its turn; collectives on outer axes are passed on."""
        answers: list[Tile | None] = [None] * len(programs)
        while True:
            collectives = [_advance(program, answer) for program, answer in zip(programs, answers, strict=True)]
            waiting = [collective for collective in collectives if collective is not None]
            if not waiting:
                return
            first = waiting[0]
            if len(waiting) < len(programs) or any(collective.call is not first.call for collective in waiting):
                fail("SK307", first.call.place, f"Not all programs of the axis `{axis}` come to this {first.call.op}.")
            answers = []
            if first.axis == axis:
                answers += [_gather(first, [collective.tile for collective in waiting])] * len(programs)
            else:
                for collective in waiting:
                    answers.append((yield collective))


def _is_collective(node: object) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and OPERATIONS[node.op].kind in ("all_reduce", "barrier")


def _advance(program: Steps, answer: Tile | None) -> Collective | None:
    """Run a program to its next collective; None when it has ended."""
    try:
        return next(program) if answer is None else program.send(answer)
    except StopIteration:
        return None


def _gather(collective: Collective, tiles: Sequence[Tile]) -> Tile:
    """What the programs of an axis make of their tiles, in the order of the axis."""
    axes = tiles[0].axes
    if any(tile.value.shape != tiles[0].value.shape or set(tile.axes) != set(axes) for tile in tiles):
        fail("SK307", collective.call.place, "Programs of the axis have tiles of different shapes.")
    if collective.call.op == "barrier":
        return collective.tile
    together = Tile(torch.stack([align(tile, axes) for tile in tiles]), (collective.axis, *axes))
    reduced = interpret_ops.reduce(collective.call.op.replace("all_reduce", "reduce"), together, (collective.axis,))
    return cast(reduced, tiles[0].dtype)

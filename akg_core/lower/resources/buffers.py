"""How many bytes of tiles a program takes where a compiler keeps copies of what moves and each step has a tile.

Of what is loaded and of what is stored there are several copies, one of which moves while the program computes on
another, all through the program. A step of an expression has a tile of its own, which the next may take over. So has a
number that an operation spreads, and all that some functions are made of. What products give is kept beside their unit,
and two others share the tiles that come of it, unless what is loaded depends on where it lies.
"""

from __future__ import annotations

from akg_core.lower.ir import Body, Op, Value, dtype_of
from akg_core.lower.resources.liveness import Liveness, Peak
from akg_core.lower.tile.common_subexpressions import share
from akg_core.lower.tile.copies import propagate_copies
from akg_core.lower.tile.lanewise import keep_lanewise
from akg_core.lower.tile.masks import mask
from akg_core.lower.tile.padding import pad
from akg_core.lower.tile.rows import write_out_rows
from akg_core.lower.tile.single import unroll_single
from akg_core.lower.tile.window_taps import write_out_taps
from akg_core.notation import COMPARISONS
from akg_core.sketch.ast import Binary, Call, Expr, Name, Number, Unary, walk
from akg_core.sketch.show import show_expression

_MOST = 1 << 14  # lanes in which a sum is kept apart
_INSIDE = {"gelu": 3, "erf": 3, "expm1": 4, "log1p": 2, "softplus": 3}  # tiles that a function takes
_SCANNED = 3  # tiles that running sums go through


def buffered(body: Body, copies: int) -> Peak:
    """The peak of a body in which every value of the sketch is kept (`KEPT`), with so many copies of what moves.

    The body is changed: sums are kept lane by lane, windows and rows written out, as printers of tile languages do.
    """
    propagate_copies(body)
    unroll_single(body)
    pad(body)
    write_out_taps(body)
    write_out_rows(body)
    share(body)
    mask(body)
    keep_lanewise(body, _MOST)
    walk = _Buffers(body, copies)
    for region in body.regions:
        walk.block(region.ops, frozenset())
    return walk.peak


class _Buffers(Liveness):
    """`moving`: bytes of what is loaded and stored. `elsewhere`: values among these, or kept beside another unit.

    `sharing`: units that have a part of each tile.
    """

    def __init__(self, body: Body, copies: int) -> None:
        super().__init__(body)
        ops = [op for region in body.regions for op in region.inside()]
        targets = ((op, op.target) for op in ops if op.target is not None)
        self.elsewhere = {t for op, t in targets if op.kind == "dot" or (_is_load(op.expr) and not t.mutable)}
        self.moving = sum(self.moved(op, copies) for op in ops)
        loads = (load for op in ops for expr in op.expressions() for load in body.loads_of(expr))
        whole = any(_compares(node) for load in loads for node in walk(load))
        self.sharing = 2 if any(op.kind == "dot" for op in ops) and not whole else 1

    def tile(self, expr: Expr, dtype: str = "") -> int:
        """Bytes of a tile along the axes of an expression; truth values are bits, positions have 32."""
        dtype = dtype or dtype_of(expr)
        size = self.size(self.body.axes_of(expr), dtype)
        return size // {"bool": 8, "i64": 2}.get(dtype, 1)

    def moved(self, op: Op, copies: int) -> int:
        """Bytes of what an op loads and stores, in all copies, and of the numbers that it spreads."""
        loads = {id(load): load for expr in op.expressions() for load in self.body.loads_of(expr)}
        total = copies * sum(self.size(self.body.axes_of(load), dtype_of(load)) for load in loads.values())
        if op.kind == "store" and op.expr is not None and self.chain(op.expr) < 2:
            total += (copies - isinstance(op.expr, Name)) * self.size(self.body.axes_of(op.expr), dtype_of(op.expr))
        return total + sum(self.numbers(expr) for expr in (op.expr, op.other) if expr is not None)

    def numbers(self, expr: Expr) -> int:
        """Bytes of the tiles of numbers that an expression spreads, which are made once."""
        parts = _operands(expr)
        own = sum(isinstance(part, Number) and _spreads(expr, n) for n, part in enumerate(parts))
        wide = next((dtype_of(part) for part in parts if not isinstance(part, Number)), "f32")
        return own * self.tile(expr, wide) + sum(map(self.numbers, parts))

    def note(self, op: Op, live: frozenset[Value]) -> None:
        own = live - self.elsewhere
        total = self.moving + sum(map(self.bytes_of, own))
        if not op.compound:
            total += sum(self.steps(op, expr) for expr in (op.expr, op.other) if expr is not None)
        total //= self.sharing
        if total > self.peak.bytes:
            tiles = sorted((value for value in own if value.axes), key=self.bytes_of, reverse=True)
            self.peak = Peak(total, op.place, tuple(value.name for value in tiles))

    def steps(self, op: Op, expr: Expr) -> int:
        """Bytes of the tiles that an op takes to compute with an expression, beside what it gives."""
        whole, made = self.tile(expr), self.made(expr)
        if op.kind in ("reduce", "scan"):  # of whose halves one lies beside the other
            made = 0 if self.chain(expr) else made
            return made + whole // 2 + whole * (_SCANNED if op.kind == "scan" else op.finds_place)
        return max(made - whole, 0)

    def made(self, expr: Expr) -> int:
        """Bytes of the tiles that computing an expression takes beside what is loaded and what has a name."""
        axes, most, held, over = self.body.axes_of(expr), 0, 0, False
        whole = self.tile(expr)
        parts = {show_expression(part): (n, part) for n, part in enumerate(_operands(expr))}  # what is alike is one
        for number, part in parts.values():
            most = max(most, held + self.made(part))
            around = self.body.axes_of(part)
            if around == axes:
                held += self.tile(part) if _operands(part) else 0
                over = over or bool(_operands(part))
            elif not isinstance(part, Number) and (around or _spreads(expr, number)):
                held += whole
        if not parts:
            return 0
        taken_over = over and not (isinstance(expr, Call) and expr.op == "where")
        return max(most, held if taken_over else held + whole) + _INSIDE.get(_operation(expr), 0) * whole

    def chain(self, expr: Expr) -> int:
        """How many steps make a tile of one that is loaded, each in place of the one before; 0 where it is not so."""
        steps, dtype, axes = 0, dtype_of(expr), self.body.axes_of(expr)
        while parts := _operands(expr):
            whole = [part for part in parts if self.body.axes_of(part) == axes]
            if len(whole) != 1 or dtype_of(whole[0]) != dtype:
                return 0
            expr, steps = whole[0], steps + (_operation(expr) not in _INSIDE)
        held = isinstance(expr, Name) and self.body.values.get(expr.id) in self.elsewhere
        return steps if held or _is_load(expr) else 0


def _operands(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Binary(left=left, right=right):
            return left, right
        case Unary(operand=operand):
            return (operand,)
        case Call(op=op, args=args) if op != "load":
            return tuple(arg for arg in args if isinstance(arg, Expr))
    return ()


def _operation(expr: Expr) -> str:
    return expr.op if isinstance(expr, Call) else ""


def _spreads(expr: Expr, number: int) -> bool:
    """Whether an operand that is a number becomes a tile, which only some operations need."""
    if isinstance(expr, Binary):
        return _compares(expr) or (expr.op in ("-", "/") and number == 0)
    return _operation(expr) == "where" and number > 0


def _compares(expr: object) -> bool:
    return isinstance(expr, Binary) and expr.op in COMPARISONS


def _is_load(expr: Expr | None) -> bool:
    return isinstance(expr, Call) and expr.op == "load"

"""Products: `tl.dot` where both operands have an axis of their own, a sum of products elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from akg_core.plugin import Unsupported
from akg_core.plugin.sketch import Call, Text, is_float, promote
from akg_triton.emit.expression import literal
from akg_triton.emit.room import Factors
from akg_triton.emit.source import Source
from akg_triton.emit.terms import Axis, Scope, Term
from akg_triton.emit.windows import WindowWriter

LEAST = 16  # lanes of an axis that matrix units run along


class MatrixWriter(WindowWriter):
    """Adds `dot`.

    `promoted`: whether products at hand are summed apart from the accumulator, and added to it in f32; `alone`: whether
    the product at hand is not to be joined with what it is added to; `factors`: of every product so far.
    """

    promoted = False
    alone = False

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.factors: list[Factors] = []

    def lanes_of(self, axes: Sequence[str], unknown: int = 1024) -> int:
        """Elements of a tile along `axes`, with so many for what only the launch knows."""
        raise NotImplementedError

    def fitting(self, factors: Factors, axes: Sequence[str]) -> Factors:
        """The factors of a product; raises Unsupported where the right one, along `axes`, is too large in itself."""
        at_least = factors.bytes_of(factors.right, partial(self.lanes_of, unknown=1))
        room = self.dialect.shared_bytes
        if at_least > room:
            longest = max(axes, key=lambda name: self.lanes_of([name]))
            raise Unsupported(
                f"A factor of a product takes {at_least} bytes of shared memory, and there are {room}.",
                f"Make the tile of the axis {longest} smaller.",
            )
        return factors

    def meeting(self, call: Call, scope: Scope, dtype: str) -> Term:
        """A tile combined with those of other programs."""
        raise NotImplementedError

    def contract(self, call: Call, scope: Scope, dtype: str) -> Term:
        keywords = dict(call.keywords)
        into = self.term(keywords["into"], scope) if "into" in keywords else None
        a, b = (self.strong(self.term(e, scope)) for e in call.args)
        meeting = promote(a.dtype, b.dtype)
        held = ("f64" if meeting == "f64" else "f32") if is_float(meeting) else "i64"
        over = self.over(keywords["over"], scope)
        own = [[n for n in t.axes if n not in u.axes] for t, u in ((a, b), (b, a))]
        both = all(axis.name in a.axes and axis.name in b.axes for axis in over)
        if not over or not all(own) or not both or not is_float(meeting):
            product = self.summed(a, b, over, held)
        else:
            if a.dtype != b.dtype:
                a, b = self.convert(a, meeting), self.convert(b, meeting)
            precision = keywords.get("precision")
            word = precision.value if isinstance(precision, Text) else "ieee"
            around, self.alone = self.promoted, "promote" in keywords
            self.promoted = self.promoted or self.alone
            made = self.dotted(a, b, over, held, word, into)
            self.promoted = around
            return made
        if into is None:
            return self.convert(product, dtype)
        return self.joined("+", [into, self.convert(product, into.dtype)], into.dtype)

    def summed(self, a: Term, b: Term, over: Sequence[Axis], held: str) -> Term:
        pair = [self.convert(self.wide(t), held) for t in (a, b)]
        product = self.joined("*", pair, held)
        if not over:
            return product
        zero = literal(0, held)
        return self.folded("sum", self.existing(self.spread(product, over), over, zero), over)

    def dotted(self, a: Term, b: Term, over: Sequence[Axis], held: str, precision: str, into: Term | None) -> Term:
        """`tl.dot` of [batch, rows, over] and [batch, over, columns]."""
        if self.ordered([*a.axes, *b.axes]).index(_own(a, b)[0]) > self.ordered([*a.axes, *b.axes]).index(
            _own(b, a)[0]
        ):
            a, b = b, a  # the result's dimensions are rows, then columns
        names = [axis.name for axis in over]
        a, b = (self.existing(t, over, literal(0, t.dtype)) for t in (a, b))
        rows, columns = _own(a, b), _own(b, a)
        batch = [n for n in a.axes if n in b.axes and n not in names]
        self.factors.append(self.fitting(Factors(a, b, self.dialect.precisions[precision]), columns + names))
        left = self.matrix(a, batch, rows, names)
        right = self.matrix(b, batch, names, columns)
        result = (*batch, *rows, *columns)
        plain = len(batch) <= 1 and len(rows) == len(columns) == 1 and result == self.ordered(result)
        options = self.options(a.dtype, held, precision)
        if into is not None and into.dtype == held and plain and not self.promoted:
            text = f"tl.dot({', '.join([left, right, self.aligned(into, result), *options])})"
            return Term(text, held, result)
        if self.alone or (self.promoted and into is not None):
            options.append("max_num_imprecise_acc=1")  # keeps the compiler from adding inside of the product
        product = self.restored(f"tl.dot({', '.join([left, right, *options])})", held, batch, rows, columns)
        if into is None:
            return product
        return self.joined("+", [into, self.convert(product, into.dtype)], into.dtype)

    def exact(self, dtype: str, precision: str) -> bool:
        """Whether a product runs outside of the matrix units."""
        return dtype == "f64" or (dtype == "f32" and self.dialect.precisions[precision] == "ieee")

    def options(self, dtype: str, held: str, precision: str) -> list[str]:
        if dtype == "f32":
            return [f'input_precision="{self.dialect.precisions[precision]}"']
        return ['input_precision="ieee"', "out_dtype=tl.float64"] if held == "f64" else []

    def matrix(self, tile: Term, batch: list[str], first: list[str], second: list[str]) -> str:
        """The tile with its dimensions in three groups, each made one; batch may be none."""
        wanted = [*batch, *first, *second]
        text = tile.text
        if wanted != list(tile.axes):
            if len(wanted) == 2:
                text = f"tl.trans({text})"
            else:
                text = f"tl.permute({text}, [{', '.join(str(tile.axes.index(n)) for n in wanted)}])"
        if len(batch) <= 1 and len(first) == len(second) == 1:
            return text
        sizes = [self.count(group) for group in (batch, first, second) if group]
        return f"tl.reshape({text}, [{', '.join(sizes)}])"

    def restored(self, text: str, dtype: str, batch: list[str], rows: list[str], columns: list[str]) -> Term:
        """A product with its groups of dimensions taken apart again and put in order."""
        axes = (*batch, *rows, *columns)
        if len(batch) > 1 or len(rows) > 1 or len(columns) > 1:
            text = f"tl.reshape({text}, [{', '.join(self.count([n]) for n in axes)}])"
        order = self.ordered(axes)
        if order != axes:
            text = f"tl.permute({text}, [{', '.join(str(axes.index(n)) for n in order)}])"
        return Term(text, dtype, order)

    def count(self, names: Sequence[str]) -> str:
        blocks = [self.axes[name].block for name in names]
        if all(isinstance(block, int) for block in blocks):
            total = 1
            for block in blocks:
                total *= int(block)
            return str(total)
        return " * ".join(map(str, blocks))

    def seen(self, call: Call, kind: str, scope: Scope, dtype: str) -> Term:
        match kind:
            case "load":
                return self.load(call, scope, dtype)
            case "reduce":
                return self.reduce(call, scope, dtype)
            case "argreduce":
                return self.argreduce(call, scope, dtype)
            case "scan":
                return self.scan(call, scope, dtype)
            case "pick":
                return self.pick(call, scope, dtype)
            case "contract":
                return self.contract(call, scope, dtype)
            case "meet":
                return self.meeting(call, scope, dtype)
        raise NotImplementedError(kind)


def _own(term: Term, other: Term) -> list[str]:
    return [name for name in term.axes if name not in other.axes]

"""How each kind of reduction is done: in one tile, tile by tile, and merged from the states of several programs.

A kind has named results and a state carried from tile to tile; the first parts of a state are its results. Sums of many
tiles carry what rounding lost (Knuth's two-sum); mean and squared deviations of tiles are merged by the formula of
Chan, Golub and LeVeque (1983); a sum of exponentials is rescaled when the peak grows (Milakov and Gimelshein, 2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from akg_core.sketch.ast import (
    Assign,
    AxisList,
    Binary,
    Call,
    Element,
    Expr,
    Group,
    Name,
    Number,
    Statement,
    Text,
    Unary,
)
from akg_core.sketch.dtypes import DTYPES
from akg_core.sketch.numerics import identity

RESULTS = {
    "sum": ("total",), "prod": ("product",), "max": ("peak",), "min": ("floor",), "any": ("any",), "all": ("all",),
    "argmax": ("peak", "place"), "argmin": ("floor", "place"), "moments": ("mean", "squares"),
    "online_softmax": ("peak", "total"),
}  # fmt: skip
_REDUCE = {"sum": "reduce_sum", "prod": "reduce_prod", "max": "reduce_max", "min": "reduce_min", "any": "reduce_any",
           "all": "reduce_all"}  # fmt: skip
_JOIN = {"prod": "*", "max": "maximum", "min": "minimum", "any": "|", "all": "&"}


def states(kind: str) -> int:
    """How many numbers one program hands to the merge of a split reduction."""
    return 3 if kind == "moments" else len(RESULTS[kind])


def state_dtypes(kind: str, dtype: str) -> tuple[str, ...]:
    return (dtype, "i64") if kind.startswith("arg") else (dtype,) * states(kind)


def call(op: str, *args: Expr) -> Expr:
    """An operation or an operator as an expression."""
    if op == "neg":
        return Unary("-", args[0])
    if op in ("not", "~"):
        return Unary(op, args[0])
    return Call(op, args) if op[0].isalpha() else Binary(op, args[0], args[1])


def _square(value: Expr) -> Expr:
    return call("*", value, value)


def _axes(axes: tuple[str, ...]) -> Expr:
    return Name(axes[0]) if len(axes) == 1 else Group(tuple(map(Name, axes)))


def _same(dtype: str, value: Expr) -> Expr:
    return Call("cast", (value, Text(dtype)))


@dataclass(slots=True)
class ReductionBuilder:
    """One reduction inside a kernel: `axes` are reduced, `kept` remain, `dtype` is the argument's and the state's.

    `name` makes a fresh variable out of a hint; `careful`: there are many tiles, so sums carry what rounding lost;
    `cooperative`: the axis of programs that have a part each of what is reduced, "" where one program has all of it.
    """

    kind: str
    dtype: str
    axes: tuple[str, ...]
    kept: tuple[str, ...]
    name: Callable[[str], str]
    careful: bool = False
    cooperative: str = ""
    variables: tuple[str, ...] = ()
    _lost: dict[str, str] | None = None
    _seen: str = ""

    def reduce(self, kind: str, tile: Expr) -> Expr:
        value = call(_REDUCE[kind], tile, _axes(self.axes)) if self.axes else tile
        return call(f"all_reduce_{kind}", value, Name(self.cooperative)) if self.cooperative else value

    def _set(self, out: list[Statement], hint: str, value: Expr) -> Name:
        variable = self.name(hint)
        out.append(Assign((variable,), value))
        return Name(variable)

    # --- all of it in one tile -----------------------------------------------------------------------

    def whole(self, tile: Expr, count: Expr, keep: bool = False) -> tuple[list[Statement], tuple[Expr, ...]]:
        """Statements, and the results. `tile` must be cheap to repeat where the kind reads it twice.

        `keep`: a last result is the tile of exponentials, which is needed again.
        """
        out: list[Statement] = []
        hints = RESULTS[self.kind]
        if self.kind in _REDUCE:
            return out, (self._set(out, hints[0], self._back(self.reduce(self.kind, tile))),)
        if self.cooperative and self.kind in ("moments", "online_softmax"):
            return out, self._together(out, tile, count)
        if self.kind == "moments":
            mean = self._set(out, "mean", call("/", self.reduce("sum", tile), count))
            squares = self._set(out, "squares", self.reduce("sum", _square(call("-", tile, mean))))
            return out, (mean, squares)
        if self.kind == "online_softmax":
            peak = self._set(out, "peak", self.reduce("max", tile))
            weights = call("exp", call("-", tile, peak))
            weights = self._set(out, "weights", weights) if keep else weights
            total = self._set(out, "total", self.reduce("sum", weights))
            return out, (peak, total, weights) if keep else (peak, total)
        value = self._set(out, hints[0], self.reduce(self.kind[3:], tile))
        place = Call(self.kind, (tile, Name(self.axes[0]))) if self.axes else Number(0)
        return out, (value, self._set(out, hints[1], place))

    def _together(self, out: list[Statement], tile: Expr, count: Expr) -> tuple[Expr, ...]:
        """Results from each program's own, so that what a later all-reduction combines follows from the first."""
        cooperative = Name(self.cooperative)

        def own(kind: str, value: Expr) -> Expr:
            return call(_REDUCE[kind], value, _axes(self.axes))

        if self.kind == "moments":
            some = self._set(out, "part", own("sum", tile))
            first, *others = (Call("size", (Name(axis),)) for axis in self.axes)
            size: Expr = first
            for other in others:
                size = call("*", size, other)
            seen = self._set(out, "count", _same(self.dtype, size))
            middle = self._set(out, "part_mean", call("/", some, seen))
            around = self._set(out, "part_squares", own("sum", _square(call("-", tile, middle))))
            mean = self._set(out, "mean", call("/", call("all_reduce_sum", some, cooperative), count))
            apart = call("*", seen, _square(call("-", middle, mean)))
            return mean, self._set(out, "squares", call("all_reduce_sum", call("+", around, apart), cooperative))
        here = self._set(out, "part_peak", own("max", tile))
        anchor = self._set(out, "anchor", _finite_below(here))
        weights = self._set(out, "weights", call("exp", call("-", tile, anchor)))
        some = self._set(out, "part", own("sum", weights))
        peak = self._set(out, "peak", call("all_reduce_max", here, cooperative))
        share = self._set(out, "share", call("exp", call("-", here, peak)))
        total = self._set(out, "total", call("all_reduce_sum", call("*", some, share), cooperative))
        return peak, total, call("*", weights, share)

    def _back(self, value: Expr) -> Expr:
        """Integers add up in i64; the result goes back to the dtype it is wanted in."""
        narrow = DTYPES[self.dtype].kind != "float" and self.kind in ("sum", "prod") and self.dtype != "i64"
        return _same(self.dtype, value) if narrow and self.axes else value

    # --- tile by tile ----------------------------------------------------------------------------------

    def start(self) -> list[Statement]:
        """The state before the first tile."""
        out: list[Statement] = []
        self._lost = {}
        made = [self._start(out, hint, dtype, first) for hint, dtype, first in self._state()]
        self.variables = tuple(made)
        if self.careful and DTYPES[self.dtype].kind == "float" and self.kind in ("sum", "moments"):
            for variable in self.variables[:2]:
                self._lost[variable] = self._start(out, f"{variable}_lost", self.dtype, 0)
        if self.kind == "moments":
            self._seen = self._start(out, "seen", self.dtype, 0, scalar=True)
        return out

    def _state(self) -> list[tuple[str, str, int | float | bool]]:
        dtypes = state_dtypes(self.kind, self.dtype)
        firsts: list[int | float | bool] = [identity(self.kind, self.dtype)] + [0] * len(dtypes)
        if self.kind == "online_softmax":
            firsts[0] = -math.inf
        return list(zip(RESULTS[self.kind], dtypes, firsts, strict=False))

    def _start(self, out: list[Statement], hint: str, dtype: str, first: float, scalar: bool = False) -> str:
        axes = AxisList(() if scalar else self.kept)
        value = (
            Call("zeros", (axes, Text(dtype)))
            if first == 0 and not isinstance(first, bool)
            else Call("full", (axes, Number(first), Text(dtype)))
        )
        return self._set(out, hint, value).id

    def _add(self, out: list[Statement], variable: str, part: Expr) -> None:
        """variable += part, keeping what rounding loses when there are many tiles."""
        assert self._lost is not None
        lost = self._lost.get(variable)
        old = Name(variable)
        if lost is None:
            out.append(Assign((variable,), call("+", old, part)))
            return
        piece = self._set(out, "part", part)
        new = self._set(out, "new", call("+", old, piece))
        back = self._set(out, "back", call("-", new, old))
        missing = call("+", call("-", old, call("-", new, back)), call("-", piece, back))
        out.append(Assign((lost,), call("+", Name(lost), missing)))
        out.append(Assign((variable,), new))

    def step(self, tile: Expr) -> list[Statement]:
        """What one tile does to the state."""
        out: list[Statement] = []
        first = self.variables[0]
        if self.kind == "sum":
            self._add(out, first, self._back(self.reduce("sum", tile)))
        elif self.kind in _JOIN:
            joined = call(_JOIN[self.kind], Name(first), self._back(self.reduce(self.kind, tile)))
            out.append(Assign((first,), joined))
        elif self.kind == "moments":
            self._step_moments(out, tile)
        elif self.kind == "online_softmax":
            self._step_softsum(out, tile)
        else:
            self._step_place(out, tile)
        return out

    def _step_moments(self, out: list[Statement], tile: Expr) -> None:
        mean, squares = self.variables
        size: Expr = Call("size", (Name(self.axes[0]),))
        for axis in self.axes[1:]:
            size = call("*", size, Call("size", (Name(axis),)))
        count = self._set(out, "count", _same(self.dtype, size))
        here = self._set(out, "tile_mean", call("/", self.reduce("sum", tile), count))
        around = self._set(out, "tile_squares", self.reduce("sum", _square(call("-", tile, here))))
        apart = call("-", here, Name(mean))
        if self._lost:
            apart = call("-", apart, Name(self._lost[mean]))
        step = self._set(out, "apart", apart)
        share = self._set(out, "share", call("/", count, call("+", Name(self._seen), count)))
        moved = call("*", call("*", _square(step), Name(self._seen)), share)
        self._add(out, squares, call("+", around, moved))
        self._add(out, mean, call("*", step, share))
        out.append(Assign((self._seen,), call("+", Name(self._seen), count)))

    def _step_softsum(self, out: list[Statement], tile: Expr) -> None:
        peak, total = self.variables
        new = self._set(out, "higher", call("maximum", Name(peak), self.reduce("max", tile)))
        anchor = self._set(out, "anchor", _finite_below(new))
        faded = call("*", Name(total), call("exp", call("-", Name(peak), anchor)))
        out.append(Assign((total,), call("+", faded, self.reduce("sum", call("exp", call("-", tile, anchor))))))
        out.append(Assign((peak,), new))

    def _step_place(self, out: list[Statement], tile: Expr) -> None:
        best, place = self.variables
        here = self._set(out, "here", self.reduce(self.kind[3:], tile))
        there = self._set(out, "there", Call(self.kind, (tile, Name(self.axes[0]))))
        better: Expr = call(">" if self.kind == "argmax" else "<", here, Name(best))
        if DTYPES[self.dtype].kind == "float":
            # NaN is extreme, and the first one wins; a NaN compares false with everything.
            no_better = call("<=" if self.kind == "argmax" else ">=", here, Name(best))
            better = call("&", call("not", no_better), call("==", Name(best), Name(best)))
        change = self._set(out, "better", better)
        out.append(Assign((best,), call("where", change, here, Name(best))))
        out.append(Assign((place,), call("where", change, there, Name(place))))

    def finish(self) -> tuple[list[Statement], tuple[Expr, ...]]:
        """Statements after the last tile, and the state's parts."""
        out: list[Statement] = []
        for variable, lost in (self._lost or {}).items():
            # An infinite sum makes the loss NaN.
            kept = call("where", Call("isfinite", (Name(lost),)), call("+", Name(variable), Name(lost)), Name(variable))
            out.append(Assign((variable,), kept))
        parts = tuple(map(Name, self.variables))
        return out, (*parts, Name(self._seen)) if self.kind == "moments" else parts

    # --- merged from several programs ---------------------------------------------------------------

    def merge(self, parts: tuple[Expr, ...], count: Expr | None) -> tuple[list[Statement], tuple[Expr, ...]]:
        """The results from state parts along the one axis of `axes`. A place is looked up in its load."""
        out: list[Statement] = []
        if self.kind in _REDUCE:
            return self.whole(parts[0], Number(1))
        first = self._set(out, f"{RESULTS[self.kind][0]}s", parts[0])
        if self.kind == "moments":
            counts = self._set(out, "counts", parts[2])
            total = count if count is not None else self._set(out, "count", self.reduce("sum", counts))
            mean = self._set(out, "mean", call("/", self.reduce("sum", call("*", first, counts)), total))
            spread = call("+", parts[1], call("*", counts, _square(call("-", first, mean))))
            return out, (mean, self._set(out, "squares", self.reduce("sum", spread)))
        if self.kind == "online_softmax":
            peak = self._set(out, "peak", self.reduce("max", first))
            anchor = self._set(out, "anchor", _finite_below(peak))
            scaled = call("*", parts[1], call("exp", call("-", first, anchor)))
            return out, (peak, self._set(out, "total", self.reduce("sum", scaled)))
        if not self.axes:  # one program's state is all there is
            return out, (first, self._set(out, "place", parts[1]))
        axis = self.axes[0]
        value = self._set(out, RESULTS[self.kind][0], self.reduce(self.kind[3:], first))
        which = self._set(out, "which", Call(self.kind, (first, Name(axis))))
        places = parts[1]
        assert isinstance(places, Call) and isinstance(places.args[0], Element)
        element = places.args[0]
        chosen = tuple(which if i == Name(axis) else i for i in element.indices)
        return out, (value, self._set(out, "place", Call("load", (Element(element.tensor, chosen),))))


def _finite_below(peak: Expr) -> Expr:
    """The peak, or 0 where nothing but -inf was seen: -inf minus -inf would be NaN."""
    return call("where", call("==", peak, Number(-math.inf)), Number(0.0), peak)

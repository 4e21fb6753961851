"""How each kind of reduction is done: in one tile, tile by tile, and merged from the states of several programs.

A kind has named results and a state carried from tile to tile; the first parts of a state are its results. Sums of many
tiles carry what rounding lost (Knuth's two-sum); mean and squared deviations of tiles are merged by the formula of
Chan, Golub and LeVeque (1983); a sum of exponentials is rescaled when the peak grows (Milakov and Gimelshein, 2018).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce

from akg_core.dtypes import DTYPES
from akg_core.sketch.ast import Assign, AxisList, Call, Element, Expr, Group, Name, Number, Statement, Text, call
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


def _axes(axes: tuple[str, ...]) -> Expr:
    return Name(axes[0]) if len(axes) == 1 else Group(tuple(map(Name, axes)))


@dataclass(slots=True)
class ReductionBuilder:
    """One reduction inside a kernel: `axes` are reduced, `kept` remain, `dtype` is the argument's and the state's.

    `name` makes a fresh variable out of a hint; `careful`: there are many tiles, so sums carry what rounding lost;
    `cooperative`: the axis of programs that have a part each of what is reduced, "" where one program has all of it.
    Its methods add statements to `out`.
    """

    kind: str
    dtype: str
    axes: tuple[str, ...]
    kept: tuple[str, ...]
    name: Callable[[str], str]
    careful: bool = False
    cooperative: str = ""
    _state: tuple[Name, ...] = ()
    _lost: dict[Name, Name] = field(default_factory=dict)

    def reduce(self, kind: str, tile: Expr) -> Expr:
        return self._all(kind, self._own(kind, tile) if self.axes else tile)

    def _own(self, kind: str, tile: Expr) -> Expr:
        return call(_REDUCE[kind], tile, _axes(self.axes))

    def _all(self, kind: str, value: Expr) -> Expr:
        return call(f"all_reduce_{kind}", value, Name(self.cooperative)) if self.cooperative else value

    def _set(self, out: list[Statement], hint: str, value: Expr) -> Name:
        return _put(out, Name(self.name(hint)), value)

    def _count(self, out: list[Statement]) -> Name:
        """How many elements of a tile become one."""
        sizes: Iterator[Expr] = (Call("size", (Name(axis),)) for axis in self.axes)
        return self._set(out, "count", call("cast", reduce(operator.mul, sizes), Text(self.dtype)))

    # --- all of it in one tile -----------------------------------------------------------------------

    def whole(self, out: list[Statement], tile: Expr, count: Expr, keep: bool = False) -> tuple[Expr, ...]:
        """The results. `tile` must be cheap to repeat where the kind reads it twice.

        `keep`: a last result is the tile of exponentials, which is needed again.
        """
        hints = RESULTS[self.kind]
        if self.kind in _REDUCE:
            return (self._set(out, hints[0], self._back(self.reduce(self.kind, tile))),)
        if self.cooperative and self.kind in ("moments", "online_softmax"):
            return self._together(out, tile, count)
        if self.kind == "moments":
            mean = self._set(out, "mean", self.reduce("sum", tile) / count)
            return mean, self._set(out, "squares", self.reduce("sum", _square(tile - mean)))
        if self.kind == "online_softmax":
            peak = self._set(out, "peak", self.reduce("max", tile))
            weights = call("exp", tile - peak)
            weights = self._set(out, "weights", weights) if keep else weights
            total = self._set(out, "total", self.reduce("sum", weights))
            return (peak, total, weights) if keep else (peak, total)
        value = self._set(out, hints[0], self.reduce(self.kind[3:], tile))
        place = call(self.kind, tile, Name(self.axes[0])) if self.axes else Number(0)
        return value, self._set(out, hints[1], place)

    def _together(self, out: list[Statement], tile: Expr, count: Expr) -> tuple[Expr, ...]:
        """Results from each program's own, so that what a later all-reduction combines follows from the first."""
        if self.kind == "moments":
            some = self._set(out, "part", self._own("sum", tile))
            seen = self._count(out)
            middle = self._set(out, "part_mean", some / seen)
            around = self._set(out, "part_squares", self._own("sum", _square(tile - middle)))
            mean = self._set(out, "mean", self._all("sum", some) / count)
            return mean, self._set(out, "squares", self._all("sum", around + seen * _square(middle - mean)))
        here = self._set(out, "part_peak", self._own("max", tile))
        anchor = self._set(out, "anchor", _finite_below(here))
        weights = self._set(out, "weights", call("exp", tile - anchor))
        some = self._set(out, "part", self._own("sum", weights))
        peak = self._set(out, "peak", self._all("max", here))
        share = self._set(out, "share", call("exp", here - peak))
        return peak, self._set(out, "total", self._all("sum", some * share)), weights * share

    def _back(self, value: Expr) -> Expr:
        """Integers add up in i64; the result goes back to the dtype it is wanted in."""
        narrow = DTYPES[self.dtype].kind != "float" and self.kind in ("sum", "prod") and self.dtype != "i64"
        return call("cast", value, Text(self.dtype)) if narrow and self.axes else value

    # --- tile by tile ----------------------------------------------------------------------------------

    def start(self, out: list[Statement]) -> None:
        """The state before the first tile."""
        first = -math.inf if self.kind == "online_softmax" else identity(self.kind, self.dtype)
        self._state = tuple(
            self._start(out, hint, dtype, 0 if number else first)
            for number, (hint, dtype) in enumerate(
                zip(RESULTS[self.kind], state_dtypes(self.kind, self.dtype), strict=False)
            )
        )
        if self.careful and DTYPES[self.dtype].kind == "float" and self.kind in ("sum", "moments"):
            self._lost = {v: self._start(out, f"{v.id}_lost", self.dtype, 0) for v in self._state}
        if self.kind == "moments":
            self._state += (self._start(out, "seen", self.dtype, 0, scalar=True),)

    def _start(self, out: list[Statement], hint: str, dtype: str, first: float, scalar: bool = False) -> Name:
        axes, kind = AxisList(() if scalar else self.kept), Text(dtype)
        zero = first == 0 and not isinstance(first, bool)
        return self._set(out, hint, call("zeros", axes, kind) if zero else call("full", axes, Number(first), kind))

    def _add(self, out: list[Statement], total: Name, part: Expr) -> None:
        """total += part, keeping what rounding loses when there are many tiles."""
        if (lost := self._lost.get(total)) is None:
            _put(out, total, total + part)
            return
        piece = self._set(out, "part", part)
        new = self._set(out, "new", total + piece)
        back = self._set(out, "back", new - total)
        _put(out, lost, lost + (total - (new - back) + (piece - back)))
        _put(out, total, new)

    def step(self, out: list[Statement], tile: Expr) -> None:
        """What one tile does to the state."""
        first = self._state[0]
        if self.kind == "sum":
            self._add(out, first, self._back(self.reduce("sum", tile)))
        elif self.kind in _JOIN:
            _put(out, first, call(_JOIN[self.kind], first, self._back(self.reduce(self.kind, tile))))
        elif self.kind == "moments":
            self._step_moments(out, tile)
        elif self.kind == "online_softmax":
            self._step_softsum(out, tile)
        else:
            self._step_place(out, tile)

    def _step_moments(self, out: list[Statement], tile: Expr) -> None:
        mean, squares, seen = self._state
        count = self._count(out)
        here = self._set(out, "tile_mean", self.reduce("sum", tile) / count)
        around = self._set(out, "tile_squares", self.reduce("sum", _square(tile - here)))
        apart = here - mean
        step = self._set(out, "apart", apart - self._lost[mean] if self._lost else apart)
        share = self._set(out, "share", count / (seen + count))
        self._add(out, squares, around + _square(step) * seen * share)
        self._add(out, mean, step * share)
        _put(out, seen, seen + count)

    def _step_softsum(self, out: list[Statement], tile: Expr) -> None:
        peak, total = self._state
        new = self._set(out, "higher", call("maximum", peak, self.reduce("max", tile)))
        anchor = self._set(out, "anchor", _finite_below(new))
        faded = total * call("exp", peak - anchor)
        _put(out, total, faded + self.reduce("sum", call("exp", tile - anchor)))
        _put(out, peak, new)

    def _step_place(self, out: list[Statement], tile: Expr) -> None:
        best, place = self._state
        here = self._set(out, "here", self.reduce(self.kind[3:], tile))
        there = self._set(out, "there", call(self.kind, tile, Name(self.axes[0])))
        better, no_better = (here > best, here <= best) if self.kind == "argmax" else (here < best, here >= best)
        if DTYPES[self.dtype].kind == "float":
            # NaN is extreme, and the first one wins; a NaN compares false with everything.
            better = ~no_better & best.equals(best)
        change = self._set(out, "better", better)
        _put(out, best, call("where", change, here, best))
        _put(out, place, call("where", change, there, place))

    def finish(self, out: list[Statement]) -> tuple[Expr, ...]:
        """The state's parts after the last tile."""
        for variable, lost in self._lost.items():
            # An infinite sum makes the loss NaN.
            _put(out, variable, call("where", call("isfinite", lost), variable + lost, variable))
        return self._state

    # --- merged from several programs ---------------------------------------------------------------

    def merge(self, out: list[Statement], parts: tuple[Expr, ...], count: Expr | None) -> tuple[Expr, ...]:
        """The results from state parts along the one axis of `axes`. A place is looked up in its load."""
        if self.kind in _REDUCE:
            return self.whole(out, parts[0], Number(1))
        first = self._set(out, f"{RESULTS[self.kind][0]}s", parts[0])
        if self.kind == "moments":
            counts = self._set(out, "counts", parts[2])
            total = count if count is not None else self._set(out, "count", self.reduce("sum", counts))
            mean = self._set(out, "mean", self.reduce("sum", first * counts) / total)
            spread = parts[1] + counts * _square(first - mean)
            return mean, self._set(out, "squares", self.reduce("sum", spread))
        if self.kind == "online_softmax":
            peak = self._set(out, "peak", self.reduce("max", first))
            anchor = self._set(out, "anchor", _finite_below(peak))
            scaled = parts[1] * call("exp", first - anchor)
            return peak, self._set(out, "total", self.reduce("sum", scaled))
        if not self.axes:  # one program's state is all there is
            return first, self._set(out, "place", parts[1])
        axis = Name(self.axes[0])
        value = self._set(out, RESULTS[self.kind][0], self.reduce(self.kind[3:], first))
        which = self._set(out, "which", call(self.kind, first, axis))
        places = parts[1]
        assert isinstance(places, Call) and isinstance(places.args[0], Element)
        element = places.args[0]
        chosen = tuple(which if i == axis else i for i in element.indices)
        return value, self._set(out, "place", call("load", Element(element.tensor, chosen)))


def _put(out: list[Statement], variable: Name, value: Expr) -> Name:
    out.append(Assign((variable.id,), value))
    return variable


def _square(value: Expr) -> Expr:
    return value * value


def _finite_below(peak: Expr) -> Expr:
    """The peak, or 0 where nothing but -inf was seen: -inf minus -inf would be NaN."""
    return call("where", peak.equals(-math.inf), Number(0.0), peak)

"""Rules of losses that are more than arithmetic: CTC by a loop over time."""

from __future__ import annotations

import math
import operator
from functools import reduce
from types import SimpleNamespace

from akg_core.design.algebra.index import Index, index
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import (
    Gather,
    Positions,
    Value,
    cast,
    compute,
    counting,
    expand,
    predicate,
    reshape,
    where,
    window,
)
from akg_core.design.operators.reductions import reduced
from akg_core.design.operators.turns import ended, looped

_DTYPE = "f64"
_NEVER = -math.inf


def added_logs(*logs: Value) -> Value:
    """The log of a sum of numbers whose logs are given, minus infinity for 0."""
    peak = reduce(lambda a, b: compute("maximum", a, b), logs)
    level = where(predicate("isinf", peak), 0.0, peak, _DTYPE)
    total = reduce(operator.add, [compute("exp", log - level) for log in logs])
    return level + compute("log", total)


@rule("ctc_loss.input")
def ctc_loss(c: Call) -> Value:
    """The forward variables of Graves et al. (2006) over the labels with a blank around each, in f64.

    Of log_probs [T, N, C] and targets [N, S].
    """
    log_probs, targets, steps_of, length_of = (c.value(n) for n in range(4))
    steps, batch, _ = log_probs.shape
    spread = targets.shape[1] * 2 + 1
    shape = (batch, spread)
    labels = _labels(cast(targets, "i64"), c.arg(4), shape)
    places = expand(labels, (steps, *shape))
    said = Gather(
        cast(log_probs, _DTYPE),
        (places,),
        lambda at, found: (at[0], at[1], found[0]),
        shape=places.shape,
        dtype=_DTYPE,
    )
    place = counting(shape, lambda at: at[1])
    odd = counting(shape, lambda at: at[1] % 2).equals(1)
    skips = odd & labels.differs(_earlier(labels, 2, -1))
    start = where(place.equals(0), 0.0, _NEVER, _DTYPE)

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        two = where(t.skips, _earlier(t.paths, 2, _NEVER), _NEVER, _DTYPE)
        new = added_logs(t.paths, _earlier(t.paths, 1, _NEVER), two) + t.said
        under_way = t.number < t.steps_of
        return {"paths": where(reshape(under_way, (batch, index(1))), new, t.paths, _DTYPE)}

    given = {"said": said, "number": counting((steps,), lambda at: at[0])}
    states = looped(steps, turn, {"paths": start}, given, {"skips": skips, "steps_of": steps_of})
    paths, last = ended(states["paths"]), reshape(cast(length_of, "i64"), (batch, index(1))) * 2
    final, before = (reduced("max", where(place.equals(at), paths, _NEVER, _DTYPE), (1,)) for at in (last, last - 1))
    return cast(-added_logs(final, before), c.wide)


def _labels(targets: Value, blank: int, shape: tuple[Index, Index]) -> Value:
    """The targets with a blank before, between and after them."""
    own = window(targets, shape, lambda at: (at[0], at[1] // 2), blank)
    odd = counting(shape, lambda at: at[1] % 2).equals(1)
    return where(odd, own, blank, "i64")


def _earlier(x: Value, by: int, fill: float) -> Value:
    """What lies `by` places before along the last dim, `fill` where nothing does."""

    def look(at: Positions) -> Positions:
        return (*at[:-1], at[-1] - by)

    return window(x, x.shape, look, fill)

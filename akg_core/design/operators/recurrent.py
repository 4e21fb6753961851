"""Rules of recurrent layers: the products with the input of all steps at once, then a loop over the steps; or a loop
whose turns multiply their input beside the states, where the weights of both stay in the nearest caches.

Weights are those of PyTorch, for each layer and direction `w_ih` [G*H, I], `w_hh` [G*H, P], the biases `b_ih` and
`b_hh` [G*H] and the projection `w_hr` [P, H], as far as there are any; P is H without a projection. The gates of an
LSTM are input, forget, cell and output, those of a GRU reset, update and new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

from akg_core.design.algebra.index import Index, index
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.states import States
from akg_core.design.graph.values import (
    Value,
    cast,
    compute,
    counting,
    expand,
    narrow,
    permute,
    reshape,
    view,
    where,
    wide,
)
from akg_core.design.operators.products import matrix_product
from akg_core.design.operators.reductions import reduced
from akg_core.design.operators.turns import ended, looped, row
from akg_core.design.operators.views import joined, stacked
from akg_core.dtypes import DTYPES

_FEW = 1 << 23  # numbers that sums of a turn multiply while another kernel would be launched
_ROWS = range(4, 25)  # in a turn: enough for what it takes to read the weights, too few for packing them
_COLUMNS = 64  # of each gate, that a core has at the least


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one layer in one direction as its turns read them, [P, G*H], [G*H] and [H, P].

    Where the input is multiplied beside the hidden state, that is one value [B, I + P], and `hidden` [I + P, G*H].
    `together`: a turn is one kernel, which sums for all gates what they need at some places. Tiles of a product would
    be of one gate each, so that a second kernel brings them together.
    """

    hidden: Value
    bias: Value | None
    projection: Value | None
    together: bool


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of layer. `turn` makes the new states from the input's part [B, G*H], the states and the weights.

    `apart`: whether the hidden state's bias has a part in it that is not simply added to the input's.
    """

    states: int
    turn: Callable[[Value, Sequence[Value], Weights, str], tuple[Value, ...]]
    apart: bool = False


def _product(x: Value, weight: Value, dtype: str) -> Value:
    """x [*rows, K] times weight [K, N], computed as `dtype` is."""
    *rows, k = x.shape
    flat = reshape(x, (x.size.exact(k) or index(1), k))
    return reshape(matrix_product(flat, weight, dtype), (*rows, weight.shape[1]))


def _gate(gates: Value, number: int, size: Index) -> Value:
    return narrow(gates, 1, size * number, size)


def _gates(x: Value, weights: Weights, size: Index, dtype: str, now: Value | None = None) -> list[Value]:
    """x [B, P] times the part [P, H] that each gate has of the hidden state's weight [P, G*H], H being `size`; plus
    its part of `now` [B, G*H], if given.
    """
    weight = weights.hidden
    count = weight.shape[1].exact(size)
    assert count is not None and count.constant is not None
    if not weights.together:
        whole = _product(x, weight, dtype)
        whole = whole if now is None else now + cast(whole, now.dtype)
        return [_gate(whole, number, size) for number in range(count.constant)]
    (rows, inner), total = x.shape, wide(dtype)
    space = (rows, size, inner)
    mine = expand(reshape(cast(x, total), (rows, index(1), inner)), space)

    def summed(number: int) -> Value:
        own = view(cast(weight, total), space, lambda at: (at[2], size * number + at[1]))
        return reduced("sum", mine * own, (2,))

    sums = [summed(number) for number in range(count.constant)]
    return sums if now is None else [_gate(now, n, size) + cast(part, now.dtype) for n, part in enumerate(sums)]


def _lstm_turn(now: Value, states: Sequence[Value], weights: Weights, dtype: str) -> tuple[Value, ...]:
    hidden, cell = states
    gates = _gates(hidden, weights, cell.shape[1], dtype, now)
    entering, kept, leaving = (compute("sigmoid", gates[n]) for n in (0, 1, 3))
    before = cast(cell, now.dtype)
    after = kept * before + entering * compute("tanh", gates[2])
    seen = leaving * compute("tanh", after)
    if weights.projection is not None:
        seen = cast(_product(cast(seen, dtype), weights.projection, dtype), now.dtype)
    return seen, after


def _gru_turn(now: Value, states: Sequence[Value], weights: Weights, dtype: str) -> tuple[Value, ...]:
    (hidden,) = states
    size = hidden.shape[1]
    gates = [cast(part, now.dtype) for part in _gates(hidden, weights, size, dtype)]
    if weights.bias is not None:
        biases = (narrow(weights.bias, 0, size * n, size) for n in range(len(gates)))
        gates = [gate + cast(bias, now.dtype) for gate, bias in zip(gates, biases, strict=True)]
    reset, update = (compute("sigmoid", _gate(now, n, size) + gates[n]) for n in (0, 1))
    new = compute("tanh", _gate(now, 2, size) + reset * gates[2])
    return (new + update * (cast(hidden, now.dtype) - new),)


def _plain_turn(function: str) -> Callable[[Value, Sequence[Value], Weights, str], tuple[Value, ...]]:
    def turn(now: Value, states: Sequence[Value], weights: Weights, dtype: str) -> tuple[Value, ...]:
        (hidden,) = states
        (gate,) = _gates(hidden, weights, now.shape[1], dtype, now)
        return (compute(function, gate),)

    return turn


_KINDS = {
    "lstm": Kind(2, _lstm_turn),
    "gru": Kind(1, _gru_turn, apart=True),
    "rnn_tanh": Kind(1, _plain_turn("tanh")),
    "rnn_relu": Kind(1, _plain_turn("relu")),
}


@rule("lstm.data", "gru.data", "rnn_tanh.data", "rnn_relu.data")
def recurrent_by_lengths(c: Call) -> tuple[Value, ...]:
    """Of packed sequences: a state stays what it is where its sequence has ended."""
    return _recurrent(c, c.raw(9))


@rule("lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input")
def recurrent(c: Call) -> tuple[Value, ...]:
    """The last layer's hidden states at all steps, and the last states of every layer and direction."""
    return _recurrent(c, None)


def _recurrent(c: Call, lengths: Value | None) -> tuple[Value, ...]:
    kind = _KINDS[c.name]
    biased, layers, both, batch_first = (c.arg(n) for n in (3, 4, 7, 8))  # dropout in training is an operator before
    initial = [c.refer(r) for r in c.arg(1)] if isinstance(c.arg(1), list) else [c.raw(1)]
    params = [c.refer(r) for r in c.arg(2)]
    each = len(params) // (layers * (2 if both else 1))
    x = c.raw(0)
    if 0 in x.shape or 0 in initial[0].shape:
        raise c.unsupported("on a sequence without elements")
    if batch_first and x.shape[1] != index(1):  # so that what is made of it for one turn lies in one piece
        x = permute(compute("stored", permute(x, (1, 0, 2))), (1, 0, 2))
    ends: list[tuple[Value, ...]] = []
    for _ in range(layers):
        outputs: list[Value] = []
        for reverse in (False, True)[: 2 if both else 1]:
            place = len(ends)
            own = params[place * each : (place + 1) * each]
            first = [cast(row(s, index(place)), c.dtype) for s in initial]
            states = _run(c, kind, x, own, first, reverse, bool(biased), bool(batch_first), lengths)
            ends.append(tuple(map(ended, states)))
            hidden = narrow(states[0], 0, index(0 if reverse else 1), states[0].shape[0] - 1)
            outputs.append(permute(hidden, (1, 0, 2)) if batch_first else hidden)
        x = joined(outputs, 2) if both else outputs[0]
    return (x, *(_stacked([end[n] for end in ends]) for n in range(kind.states)))


def _run(
    c: Call,
    kind: Kind,
    x: Value,
    params: Sequence[Value],
    initial: Sequence[Value],
    reverse: bool,
    biased: bool,
    batch_first: bool,
    lengths: Value | None,
) -> list[States]:
    """One layer in one direction over x [T, B, I], or [B, T, I]: its states [T + 1, B, H]. `lengths`: [B]."""
    dtype, total = c.dtype, c.wide
    of_input, of_hidden, *others = params
    biases, projections = (others[:2], others[2:]) if biased else ([], others)
    start = dict(zip(("hidden", "cell"), initial, strict=False))
    beside = bool(biases) and not kind.apart and _is_beside(c, initial, of_input, of_hidden)
    # Every turn reads all weights, and reads them fastest along the rows that it computes.
    by_rows = [permute(w, (1, 0)) for w in (of_input, of_hidden, *projections)]
    if beside:
        now, bias = x, cast(biases[0], total) + cast(biases[1], total)
        read = [joined(by_rows[:2], 0), bias, *by_rows[2:]]
    else:
        now = cast(_product(x, by_rows[0], dtype), total)
        for bias in biases[: 1 if kind.apart else 2]:
            now = now + cast(bias, total)
        read = [by_rows[1], *(biases[1:] if kind.apart else ()), *by_rows[2:]]
    if batch_first:
        now = permute(now, (1, 0, 2))
    fixed = {f"weight_{n}": v for n, v in enumerate(read)}
    together = c.choices.joined and initial[0].shape[0].example * of_hidden.size.example <= _FEW
    given = {"input_part": now}
    if lengths is not None:
        given["goes_on"] = _goes_on(now.shape[0], lengths)

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        first, *others = (getattr(t, name) for name in fixed)
        bias, projection = others[0] if kind.apart and biased else None, others[-1] if projections else None
        part, before = t.input_part, [getattr(t, name) for name in start]
        factors = before
        if beside:
            factors = [joined([part, before[0]], 1), *before[1:]]
            part = expand(others[0], (part.shape[0], *others[0].shape))
        after = kind.turn(part, factors, Weights(first, bias, projection, together), dtype)
        if lengths is not None:
            on = (view(t.goes_on, new.shape, lambda at: at[:1]) for new in after)
            after = tuple(map(where, on, after, before))
        return dict(zip(start, after, strict=True))

    return [*looped(now.shape[0], turn, start, given, fixed, reverse).values()]


def _is_beside(c: Call, initial: Sequence[Value], of_input: Value, of_hidden: Value) -> bool:
    """Whether turns multiply their input beside the states: of a few rows, by weights that all cores together hold near
    them, of which each has enough columns. So nothing of the products goes to memory, nor are weights packed for them.
    """
    held = (of_input.size.example + of_hidden.size.example) * DTYPES[c.dtype].size <= c.choices.held_bytes
    wide_enough = initial[-1].shape[1].example >= _COLUMNS * c.choices.units
    return held and wide_enough and initial[0].shape[0].example in _ROWS and c.dtype == c.wide


def _goes_on(steps: Index, lengths: Value) -> Value:
    """Whether a step is one of a sequence's: [T, B]."""
    shape = (steps, *lengths.shape)
    return counting(shape, lambda at: at[0]) < view(lengths, shape, lambda at: at[1:])


def _stacked(values: Sequence[Value]) -> Value:
    """Values along a new first dim."""
    return stacked(values) if len(values) > 1 else reshape(values[0], (index(1), *values[0].shape))

"""Rules of recurrent layers: the products with the input of all steps at once, then a loop over the steps.

Weights are those of PyTorch, for each layer and direction `w_ih` [G*H, I], `w_hh` [G*H, P], the biases `b_ih` and
`b_hh` [G*H] and the projection `w_hr` [P, H], as far as there are any; P is H without a projection. The gates of an
LSTM are input, forget, cell and output, those of a GRU reset, update and new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from akg_core.design.algebra.index import Index, index
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import (
    Concat,
    Loop,
    Source,
    States,
    Value,
    arithmetic,
    cast,
    comparison,
    counting,
    expand,
    map_of,
    narrow,
    permute,
    reshape,
    view,
    where,
    wide,
)
from akg_core.design.operators.products import matrix_product
from akg_core.design.operators.reductions import reduced

_FEW = 1 << 23  # numbers that sums of a turn multiply while another kernel would be launched


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one layer in one direction as its turns read them, [P, G*H], [G*H] and [H, P].

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


def _gates(x: Value, weights: Weights, size: Index, dtype: str) -> list[Value]:
    """x [B, P] times the part [P, H] that each gate has of the hidden state's weight [P, G*H], H being `size`."""
    weight = weights.hidden
    count = weight.shape[1].exact(size)
    assert count is not None and count.constant is not None
    if not weights.together:
        whole = _product(x, weight, dtype)
        return [_gate(whole, number, size) for number in range(count.constant)]
    (rows, inner), total = x.shape, wide(dtype)
    space = (rows, size, inner)
    mine = expand(reshape(cast(x, total), (rows, index(1), inner)), space)

    def summed(number: int) -> Value:
        own = view(cast(weight, total), space, lambda at: (at[2], size * number + at[1]))
        return reduced("sum", _apply("*", mine, own), (2,))

    return [summed(number) for number in range(count.constant)]


def _apply(op: str, *args: Value) -> Value:
    return map_of(op, *args, dtype=args[0].dtype)


def _lstm_turn(now: Value, states: Sequence[Value], weights: Weights, dtype: str) -> tuple[Value, ...]:
    hidden, cell = states
    size = cell.shape[1]
    parts = enumerate(_gates(hidden, weights, size, dtype))
    gates = [_apply("+", _gate(now, n, size), cast(part, now.dtype)) for n, part in parts]
    entering, kept, leaving = (_apply("sigmoid", gates[n]) for n in (0, 1, 3))
    before = cast(cell, now.dtype)
    after = _apply("+", _apply("*", kept, before), _apply("*", entering, _apply("tanh", gates[2])))
    seen = _apply("*", leaving, _apply("tanh", after))
    if weights.projection is not None:
        seen = cast(_product(cast(seen, dtype), weights.projection, dtype), now.dtype)
    return seen, after


def _gru_turn(now: Value, states: Sequence[Value], weights: Weights, dtype: str) -> tuple[Value, ...]:
    (hidden,) = states
    size = hidden.shape[1]
    gates = [cast(part, now.dtype) for part in _gates(hidden, weights, size, dtype)]
    if weights.bias is not None:
        biases = (narrow(weights.bias, 0, size * n, size) for n in range(len(gates)))
        gates = [arithmetic("+", gate, bias, dtype=now.dtype) for gate, bias in zip(gates, biases, strict=True)]
    reset, update = (_apply("sigmoid", _apply("+", _gate(now, n, size), gates[n])) for n in (0, 1))
    new = _apply("tanh", _apply("+", _gate(now, 2, size), _apply("*", reset, gates[2])))
    return (_apply("+", new, _apply("*", update, _apply("-", cast(hidden, now.dtype), new))),)


def _plain_turn(function: str) -> Callable[[Value, Sequence[Value], Weights, str], tuple[Value, ...]]:
    def turn(now: Value, states: Sequence[Value], weights: Weights, dtype: str) -> tuple[Value, ...]:
        (hidden,) = states
        (gate,) = _gates(hidden, weights, hidden.shape[1], dtype)
        return (_apply(function, _apply("+", now, cast(gate, now.dtype))),)

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
    ends: list[tuple[Value, ...]] = []
    for _ in range(layers):
        outputs: list[Value] = []
        for reverse in (False, True)[: 2 if both else 1]:
            place = len(ends)
            own = params[place * each : (place + 1) * each]
            first = [view(s, s.shape[1:], _at_row(index(place))) for s in initial]
            states = _run(c, kind, x, own, first, reverse, bool(biased), bool(batch_first), lengths)
            steps = states[0].shape[0] - 1
            last = index(0) if reverse else steps
            ends.append(tuple(view(s, s.shape[1:], _at_row(last)) for s in states))
            hidden = narrow(states[0], 0, index(0 if reverse else 1), steps)
            outputs.append(permute(hidden, (1, 0, 2)) if batch_first else hidden)
        x = _beside(outputs, 2)
    stacked = (_stacked([end[n] for end in ends]) for n in range(kind.states))
    return (x, *stacked)


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
    now = cast(_product(x, permute(of_input, (1, 0)), dtype), total)
    for bias in biases[: 1 if kind.apart else 2]:
        now = arithmetic("+", now, bias, dtype=total)
    if batch_first:
        now = permute(now, (1, 0, 2))
    # Every turn reads all weights, and reads them fastest along the rows that it computes.
    fixed = [
        permute(of_hidden, (1, 0)),
        *(biases[1:] if kind.apart else ()),
        *(permute(p, (1, 0)) for p in projections),
    ]
    held = [Source(f"turn:weight_{n}", shape=v.shape, dtype=v.dtype) for n, v in enumerate(fixed)]
    together = c.choices.joined and initial[0].shape[0].example * of_hidden.size.example <= _FEW
    weights = Weights(held[0], held[1] if kind.apart and biased else None, held[-1] if projections else None, together)
    part = Source("turn:input_part", shape=now.shape[1:], dtype=now.dtype)
    names = ("hidden", "cell")
    before = [Source(f"turn:{n}", shape=v.shape, dtype=dtype) for n, v in zip(names, initial, strict=False)]
    after = kind.turn(part, before, weights, dtype)
    moving, parts = [now], [part]
    if lengths is not None:
        goes_on = _goes_on(now.shape[0], lengths)
        moving.append(goes_on)
        parts.append(Source("turn:goes_on", shape=lengths.shape, dtype="bool"))
        after = tuple(_where_on(parts[1], new, cast(old, new.dtype)) for new, old in zip(after, before, strict=True))
    loop = Loop(
        now.shape[0],
        tuple(moving),
        tuple(initial),
        tuple(fixed),
        tuple(parts),
        tuple(before),
        tuple(held),
        tuple(after),
        reverse,
    )
    return [States(loop, n, shape=(now.shape[0] + 1, *s.shape), dtype=s.dtype) for n, s in enumerate(before)]


def _goes_on(steps: Index, lengths: Value) -> Value:
    """Whether a step is one of a sequence's: [T, B]."""
    shape = (steps, *lengths.shape)
    return comparison("<", counting(shape, lambda at: at[0]), view(lengths, shape, lambda at: at[1:]))


def _where_on(goes_on: Value, new: Value, old: Value) -> Value:
    return where(view(goes_on, new.shape, lambda at: at[:1]), new, old, new.dtype)


def _at_row(number: Index) -> Callable[[tuple[Index, ...]], tuple[Index, ...]]:
    return lambda at: (number, *at)


def _stacked(values: Sequence[Value]) -> Value:
    """Values beside each other along a new first dim."""
    return _beside([reshape(v, (index(1), *v.shape)) for v in values], 0)


def _beside(values: Sequence[Value], dim: int) -> Value:
    """Values beside each other along a dim."""
    if len(values) == 1:
        return values[0]
    starts, size = [], index(0)
    for value in values:
        starts.append(tuple(size if d == dim else index(0) for d in range(len(value.shape))))
        size = size + value.shape[dim]
    shape = tuple(size if d == dim else s for d, s in enumerate(values[0].shape))
    ways = tuple((d, 1) for d in range(len(shape)))
    return Concat(tuple(values), tuple(starts), ways, shape=shape, dtype=values[0].dtype)

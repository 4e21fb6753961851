"""Updates that go to positions read from tensors: written there, joined in memory, or looked for by each place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from akg_core.design.algebra.index import Index, flatten, product, unflatten
from akg_core.design.graph.values import (
    Gather,
    Literal,
    Pointwise,
    Positions,
    Scatter,
    Shape,
    Value,
    cast,
    counting,
    expand,
    fold,
    map_of,
    predicate,
    reshape,
    view,
    where,
    window,
)
from akg_core.dtypes import is_float
from akg_core.sketch.numerics import identity

_ATOMIC = ("i32", "i64", "f32", "f64")  # what can be joined in memory
_NANS = {"f32": ("i32", 0x7FC0_0000, -0x40_0000), "f64": ("i64", 0x7FF8 << 48, -(1 << 51))}
"""By dtype that of its bits, and the bits of NaNs that are the greatest and the least of all as whole numbers."""
_FAR = 1 << 31  # from where on a number needs 64 bits


def _with_extreme_nans(value: Value, op: str) -> Value:
    """A value whose NaNs win by their bits: chips that join floats in memory compare them as whole numbers."""
    if isinstance(value, Literal):
        return value
    dtype, greatest, least = _NANS[value.dtype]
    bits = where(predicate("isnan", value), greatest if op == "max" else least, map_of("bits", value, dtype=dtype))
    return map_of("from_bits", bits, dtype=value.dtype)


def uncopied(value: Value) -> Value:
    """What `value` is a copy of."""
    while isinstance(value, Pointwise) and value.op == "copy":
        (value,) = value.args
    return value


@dataclass(frozen=True, slots=True)
class Places:
    """Where in a tensor of shape `base` updates of shape `updates` go.

    `read`: positions along the dims `dims` of the base, all of one shape. An update at u has the positions at `of(u)`.
    Updates meet where these lead to the same `key`, a position in a tensor of shape `keys`, and where the rest of u is
    the same: `home` gives the base's position of a key and an update, `seen` the key of a base's position. Updates that
    meet differ in a number up to `count`, which `number` gives of the position that was read, and `back` the update of
    a base's position with that number.
    """

    base: Shape
    updates: Shape
    read: tuple[Value, ...]
    dims: tuple[int, ...]
    keys: Shape
    count: Index
    of: Callable[[Positions], Positions]
    key: Callable[[Positions, Positions], Positions]
    home: Callable[[Positions, Positions], Positions]
    seen: Callable[[Positions], Positions]
    number: Callable[[Positions], Index]
    back: Callable[[Positions, Index], Positions]

    def joined(self, base: Value, updates: Value, op: str) -> Value:
        """`base` with updates joined by "add", "max" or "min" in any order, or by "set" where those that meet agree.

        It is done in a dtype in which memory can do it; the result has the base's.
        """
        given = base.dtype
        dtype = given if given in _ATOMIC or op == "set" else "i64"
        read = tuple(view(r, self.updates, self.of) for r in self.read)

        def rule(at: Positions, found: Positions) -> Positions:
            return self.home(self.key(self.of(at), found), at)

        base, updates = cast(uncopied(base), dtype), cast(updates, dtype)
        if op in ("max", "min") and is_float(dtype):
            base, updates = _with_extreme_nans(base, op), _with_extreme_nans(updates, op)
        base, updates = expand(base, self.base), expand(updates, self.updates)
        found = Scatter(base, updates, read, rule, op, shape=self.base, dtype=dtype)
        return cast(found, given)

    def touched(self) -> Value:
        """Whether any update goes to a place."""
        nothing, some = (Literal(n, shape=(), dtype="i32") for n in (0, 1))
        return self.joined(nothing, some, "set").differs(0)

    def counted(self, dtype: str) -> Value:
        """How many updates go to a place."""
        nothing, one = (Literal(n, shape=(), dtype=dtype) for n in (0.0, 1.0))
        return self.joined(nothing, one, "add")

    def replaced(self, base: Value, updates: Value) -> Value:
        """The base with the updates in their places; of those that meet, the last: it is the same each time."""
        updates = uncopied(updates)
        if self.count == 1:  # each place sees for itself whether the update is for it
            met, new = (reshape(v, self.base) for v in self._met(updates))
            return where(met, new, base, base.dtype)
        if isinstance(updates, Literal):
            return self.joined(base, updates, "set")
        dtype = "i32" if self.count.constant is not None and self.count.constant < _FAR else "i64"
        numbers = counting(self.read[0].shape, self.number, dtype)
        none = Literal(-1, shape=self.keys, dtype=dtype)
        last = Scatter(none, numbers, self.read, self.key, "max", shape=self.keys, dtype=dtype)
        chosen = cast(view(last, self.base, self.seen), "i64")
        updates, base = expand(updates, self.updates), expand(base, self.base)
        new = Gather(updates, (chosen,), lambda at, n: self.back(at, n[0]), shape=self.base, dtype=updates.dtype)
        return where(chosen >= 0, new, base, base.dtype)

    def looked_for(self, updates: Value, kind: str) -> Value:
        """For each place the reduction of all updates that go there, in the order of their numbers."""
        met, moved = self._met(updates)
        new = where(met, moved, identity(kind, updates.dtype), updates.dtype)
        return reshape(new, self.base) if self.count == 1 else fold(kind, new, (len(self.base),), (updates.dtype,))[0]

    def _met(self, updates: Value) -> tuple[Value, Value]:
        """For each place and each number whether the update is for it, and that update."""
        space = (*self.base, self.count)
        match: Value = Literal(True, shape=space, dtype="bool")
        for value, dim in zip(self.read, self.dims, strict=True):
            seen = window(value, space, lambda at: self.of(self.back(at[:-1], at[-1])), -1)
            here = counting(space, partial(_along, dim))
            match = match & seen.equals(here)
        return match, window(expand(updates, self.updates), space, lambda at: self.back(at[:-1], at[-1]), 0)


def _along(dim: int, at: Positions) -> Index:
    return at[dim]


def along(base: Shape, dim: int, read: Value) -> Places:
    """Places that differ from those of their updates in one dim, of which `read` holds positions, one an update."""

    def moved(at: Positions, place: Index) -> Positions:
        return tuple(place if d == dim else p for d, p in enumerate(at))

    return Places(
        base,
        read.shape,
        (read,),
        (dim,),
        base,
        read.shape[dim],
        of=lambda at: at,
        key=lambda at, found: moved(at, found[0]),
        home=lambda key, at: key,
        seen=lambda at: at,
        number=lambda at: at[dim],
        back=moved,
    )


def indexed(base: Shape, dims: Sequence[int], read: Sequence[Value], first: int) -> Places:
    """Places whose positions along `dims` are read, all values of one shape, the dims of which are the updates' from
    `first` on; the other dims are the base's, in order."""
    own, taken = read[0].shape, tuple(dims)
    stop = first + len(own)
    rest = [d for d in range(len(base)) if d not in taken]
    others = tuple(base[d] for d in rest)

    def home(key: Positions, at: Positions) -> Positions:
        places = dict(zip(taken, key, strict=True)) | dict(zip(rest, (*at[:first], *at[stop:]), strict=True))
        return tuple(places[d] for d in range(len(base)))

    def back(at: Positions, number: Index) -> Positions:
        kept = tuple(at[d] for d in rest)
        return (*kept[:first], *unflatten(number, own), *kept[first:])

    return Places(
        base,
        (*others[:first], *own, *others[first:]),
        tuple(read),
        taken,
        tuple(base[d] for d in taken),
        product(own),
        of=lambda at: at[first:stop],
        key=lambda at, found: found,
        home=home,
        seen=lambda at: tuple(at[d] for d in taken),
        number=lambda at: flatten(at, own),
        back=back,
    )

"""Integer arithmetic over sizes and positions: reshapes undo each other, and values agree with Python's integers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from akg_core.design.algebra.expression import parse_size, to_expr
from akg_core.design.algebra.index import Axis, Index, Symbol, flatten, index, position, product, unflatten
from akg_core.polynomial import Polynomial
from akg_core.sketch.show import show_expression

SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=3)


def axes(sizes: list[int]) -> list[Index]:
    return [position(Axis(f"a{n}", index(size))) for n, size in enumerate(sizes)]


def at(value: Index, places: list[int]) -> int:
    """The number that an Index is when axis a<n> stands at places[n]."""
    return value.replace(lambda a: index(places[int(a.name[1:])]) if isinstance(a, Axis) else None).example


@given(SIZES)
def test_unflattening_undoes_flattening(sizes: list[int]) -> None:
    shape = tuple(map(index, sizes))
    places = tuple(index(0) if s == 1 else p for p, s in zip(axes(sizes), sizes, strict=True))
    assert unflatten(flatten(places, shape), shape) == places


@given(st.lists(st.sampled_from([2, 3, 4]), min_size=3, max_size=3), st.data())
@settings(max_examples=60)
def test_a_reshape_and_back_is_nothing(sizes: list[int], data: st.DataObject) -> None:
    shape = tuple(map(index, sizes))
    middle = data.draw(
        st.sampled_from([(product(shape),), (shape[0] * shape[1], shape[2]), (shape[0], shape[1] * shape[2])])
    )
    places = tuple(axes(sizes))
    there = unflatten(flatten(places, shape), middle)
    assert unflatten(flatten(there, middle), shape) == places


@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=2),
    st.integers(1, 12),
    st.integers(1, 9),
    st.integers(0, 9),
    st.data(),
)
def test_quotients_and_remainders_are_pythons(
    sizes: list[int], factor: int, bottom: int, shift: int, data: st.DataObject
) -> None:
    places = [data.draw(st.integers(0, s - 1)) for s in sizes]
    first, second = axes(sizes)
    value = first * factor + second + shift
    number = places[0] * factor + places[1] + shift
    assert at(value // bottom, places) == number // bottom
    assert at(value % bottom, places) == number % bottom
    assert at((value // bottom) * bottom + value % bottom, places) == number


def test_symbolic_sizes_cancel() -> None:
    s = position(Symbol("s0", 8))
    m, n = position(Axis("m", s)), position(Axis("n", index(12)))
    offset = flatten((m, n), (s, index(12)))
    assert unflatten(offset, (s, index(3), index(4))) == (m, n // 4, n % 4)
    assert (offset // 12, offset % 12) == (m, n)
    assert offset.within(0, s * 12) and not (offset + 1).within(0, s * 12)


def test_sizes_are_read_and_written() -> None:
    size = parse_size("(2*s0 + 1) * s1 // 3", {"s0": 4, "s1": 6})
    assert size.example == 18
    assert show_expression(to_expr(parse_size("2*s0 - 1", {"s0": 4}))) == "s0 * 2 - 1"


@given(st.lists(st.tuples(st.lists(st.sampled_from("abc"), max_size=3), st.integers(-4, 4)), max_size=5), st.data())
def test_division_gives_back_what_was_multiplied(terms: list[tuple[list[str], int]], data: st.DataObject) -> None:
    """A product divided by one of its factors is the other, also by a sum; and q * d + r is what was divided."""
    value: Polynomial[str] = Polynomial((tuple(sorted(m)), c) for m, c in terms)
    divisor: Polynomial[str] = data.draw(
        st.sampled_from([Polynomial([(("a",), 2)]), Polynomial([(("a", "b"), 1), ((), 1)]), Polynomial([((), 3)])])
    )
    assert value.times(divisor).exact(divisor) == value
    whole, rest = value.divided(divisor)
    assert whole.times(divisor).plus(rest) == value


def test_a_change_that_meets_nothing_makes_no_new_index() -> None:
    at = (3 * position(Axis("m", index(8))) + 1) % 5 + position(Axis("n", index(4)))
    assert at.replace(lambda atom: None) is at


def test_digits_of_symbolic_sizes_are_joined() -> None:
    """However many: of five the outermost is a quotient, the others remainders of quotients."""
    sizes = [position(Symbol(f"s{n}", n + 3)) for n in range(5)]
    whole = position(Axis("i", product(sizes)))
    assert flatten(unflatten(whole, sizes), sizes) == whole

"""What index expressions lie between."""

from __future__ import annotations

from akg_core.sketch.affine import INDEX, Bounds, Polynomial, _order, polynomial
from akg_core.sketch.ast import Binary, Call, Expr, Name, Number, Place, Type

STEPS = 64
F32 = Type(dtype="f32")


def chain(first: Expr, step: str, kind: Type) -> dict[str, Expr]:
    """Values of which each is made of the one before twice."""
    formulas = {"v0": first}
    for number in range(STEPS):
        before = Name(f"v{number}", type=kind)
        formulas[f"v{number + 1}"] = Binary(step, before, before, type=kind)
    return formulas


def test_values_made_of_each_other_twice_are_looked_into_once() -> None:
    bounds = Bounds({}, {}, frozenset(), chain(Number(1), "+", INDEX))
    assert bounds.interval(Name(f"v{STEPS}", type=INDEX)) == (2**STEPS, 2**STEPS)


def test_so_are_numbers_that_become_an_index() -> None:
    bounds = Bounds({}, {}, frozenset(), chain(Number(0.5), "*", F32))
    low, high = bounds.real(Name(f"v{STEPS}", type=F32)) or (None, None)
    assert low is not None and high is not None and 0 <= low <= high < 1e-300


def test_a_choice_lies_between_what_it_chooses_from() -> None:
    formulas: dict[str, Expr] = {"place": Number(0)}
    for number in range(STEPS):
        before = Name("place" if not number else f"place_{number}", type=INDEX)
        tried = Binary("+", before, Number(2), type=INDEX)
        less = Binary("<", tried, Number(9), type=Type(dtype="bool"))
        formulas[f"place_{number + 1}"] = Call("where", (less, tried, before), type=INDEX)
    bounds = Bounds({}, {}, frozenset(), formulas)
    assert bounds.interval(Name(f"place_{STEPS}", type=INDEX)) == (0, 2 * STEPS)


def test_a_sum_has_one_order_wherever_its_parts_stand() -> None:
    def total(*lines: int) -> Polynomial:
        polynomial.cache_clear()
        _order.cache_clear()
        digits = [
            Binary("%", Name("n", place=Place(line)), Number(k), place=Place(line)) for k, line in enumerate(lines, 2)
        ]
        return polynomial(Binary("+", *digits))

    assert total(1, 2).terms == total(2, 1).terms

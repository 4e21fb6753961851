from __future__ import annotations

import itertools

from akg_core.records import Choice, Interface, Schedule, Sketch
from akg_core.search.moves import EXHAUSTIVE, Moves, Point
from akg_core.stages.stages import Design

INTERFACE = Interface(arguments=())


def design(text: str, **space: tuple) -> Design:
    choices = tuple(Choice(key=key, choices=values, default=values[0]) for key, values in space.items())
    default = Schedule(values={choice.key: choice.default for choice in choices})
    return Design(sketch=Sketch(name="s", text=text, interface=INTERFACE), space=choices, default=default)


def test_a_small_space_is_walked_whole_and_no_point_comes_twice():
    moves = Moves([design("a", x=(1, 2, 3), y=("p", "q")), design("b", x=(1, 2))])
    assert moves.size == 8 <= EXHAUSTIVE
    points = list(itertools.chain.from_iterable(moves.propose(3, None) for _ in range(5)))
    assert len(points) == len({point.key for point in points}) == 8
    assert moves.exhausted and moves.propose(3, points[0]) == ()


def test_the_defaults_come_first():
    designs = [design("a", x=tuple(range(100))), design("b", z=tuple(range(50, 150)))]
    first, second, *_ = Moves(designs).propose(4, None)
    assert (first, second) == (Point(0, designs[0].default), Point(1, designs[1].default))


def test_points_already_measured_are_not_proposed():
    moves = Moves([design("a", x=(1, 2, 3))])
    moves.known(Point(0, Schedule(values={"x": 2})))
    assert sorted(point.schedule.values["x"] for point in moves.propose(9, None)) == [1, 3]


def test_local_moves_find_the_best_of_a_smooth_space_in_a_fraction_of_it():
    space = {name: tuple(2**n for n in range(10)) for name in ("x", "y", "z")}

    def cost(point: Point) -> float:
        at = point.schedule.values
        return sum(abs(at[name].bit_length() - target) for name, target in (("x", 7), ("y", 3), ("z", 9)))

    reached = []
    for seed in range(5):
        moves, best = Moves([design("a", **space)], seed=seed), None
        for _ in range(20):
            for point in moves.propose(4, best):
                best = point if best is None or cost(point) < cost(best) else best
        reached.append(cost(best))
    assert sum(reached) <= 2, f"80 of 1000 points each, and still so far from the best: {reached}"

"""Loops of a program whose turns differ by where their tensors begin alone: one call makes all the launches of such a
loop, where the plugin has one.

Their tensors come from outside of the loop, or are views that each turn takes as far on; no size is another in another
turn. So two turns show what all are given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from akg_core.lower.host.call import Call
from akg_core.lower.host.checks import python_tuple
from akg_core.sketch import ast
from akg_core.sketch.check.shapes import sized

TURN = "_turn"
"""The Python name of the function that gives the launches of a turn."""


@dataclass(frozen=True, slots=True)
class TurnsLauncher:
    """How a plugin launches all turns of a loop at once.

    `launch`: one launch as an expression, of which the function TURN hands back a tuple. `turns`: the statement that
    makes them all, of the Python text of a range and the launches of a turn.
    """

    launch: Callable[[Call], str]
    turns: Callable[[str, Sequence[Call]], str]


def is_even(loop: ast.Range, calls: Sequence[Call], tensors: Set[str], states: Set[str]) -> bool:
    """Whether the turns of a loop differ so alone. `tensors`: all names of tensors, whose numbers a turn could change;
    `states`: those that are written back by a line of Python.
    """
    moving = {loop.variable, *tensors}
    for node in loop.body:
        match node:
            case ast.View(op="narrow", args=(position, start, *rest)):
                if _named((position, *rest)) & moving or not _is_linear(start, loop.variable, tensors):
                    return False
            case ast.View():
                if _named(node.args) & moving:
                    return False
            case ast.Launch():
                if node.once:
                    return False
            case _:
                return False
    if any(states & {*call.written} for call in calls):
        return False
    given = [expr for call in calls for expr in (*call.expressions.values(), *call.constants.values())]
    return bool(calls) and not _named(given) & moving


def written(
    launcher: TurnsLauncher, variable: str, bounds: str, body: Sequence[str], calls: Sequence[Call]
) -> list[str]:
    """Python lines that make all turns; `body`: those before the launches of a turn."""
    launches = python_tuple([launcher.launch(call) for call in calls])
    lines = [f"def {TURN}({variable}):", *(f"    {line}" for line in (*body, f"return {launches}"))]
    return [*lines, *launcher.turns(f"range({bounds})", calls).splitlines()]


def _is_linear(start: ast.Expr, variable: str, tensors: Set[str]) -> bool:
    """Whether a place moves as far on with each turn."""
    for product, _ in sized(start).terms:
        others = [factor for factor in product if factor != ast.Name(variable)]
        if len(product) - len(others) > 1 or _named(others) & {variable, *tensors}:
            return False
    return True


def _named(exprs: Sequence[ast.Expr]) -> set[str]:
    return {node.id for node in ast.walk(tuple(exprs)) if isinstance(node, ast.Name)}

"""The free choices of a sketch, and a schedule put in their place.

A Tune parameter's key is "kernel.NAME"; an inline Tune's is "kernel.axis.keyword" in a loop and
"kernel.target.keyword" in an assignment, with "#2" and so on when one key would name two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from akg_core.errors import SketchError
from akg_core.records import Choice, Schedule
from akg_core.sketch import ast
from akg_core.sketch.codes import near


def space(tree: ast.SketchFile) -> tuple[Choice, ...]:
    """Every free choice, kernel by kernel: its parameters, then inline ones in the order of the text."""
    return tuple(choice for kernel in tree.kernels for choice in choices(kernel))


def choices(kernel: ast.Kernel) -> Iterator[Choice]:
    """The free choices of one kernel, in that order."""
    for tune in kernel.tunes:
        yield Choice(key=f"{kernel.name}.{tune.name}", choices=tune.choices, default=tune.default)
    for node in ast.walk(kernel.body):
        if isinstance(node, ast.Tune):
            yield Choice(key=node.key, choices=node.choices, default=node.choices[0])


def default(tree: ast.SketchFile) -> Schedule:
    """The schedule of all defaults; an inline Tune's default is its first choice."""
    return defaults(space(tree))


def defaults(space: Sequence[Choice]) -> Schedule:
    """The schedule of the defaults of these choices."""
    return Schedule(values={choice.key: choice.default for choice in space})


def smaller(space: Sequence[Choice], schedule: Schedule, kernel: str) -> Schedule | None:
    """The schedule with the largest tile of a kernel one choice down; None where no tile of it can be smaller."""
    tiles = reduced(space, schedule, kernel)
    largest = max(tiles, key=lambda key: _value(space, schedule, key), default=None)
    return tiles[largest] if largest else None


def reduced(space: Sequence[Choice], schedule: Schedule, kernel: str) -> dict[str, Schedule]:
    """By the key of each tile of a kernel that can be smaller: the schedule with that tile one choice down."""
    found = {}
    for choice in space:
        owner, _, name = choice.key.partition(".")
        if owner != kernel or "." in name:  # what is chosen in place is no tile, but a hint
            continue
        value = schedule.values.get(choice.key, choice.default)
        less = [
            other for other in choice.choices if isinstance(other, int) and isinstance(value, int) and other < value
        ]
        if less:
            found[choice.key] = Schedule(values={**schedule.values, choice.key: max(less)})
    return found


def _value(space: Sequence[Choice], schedule: Schedule, key: str) -> int:
    value = schedule.values.get(key, next(choice.default for choice in space if choice.key == key))
    assert isinstance(value, int)
    return value


def bind(tree: ast.SketchFile, schedule: Schedule | None = None) -> ast.SketchFile:
    """The sketch with every Tune replaced by its value in `schedule`, or by its default.

    Raises SketchError when a key is unknown or a value is not among the choices.
    """
    values = (schedule or Schedule()).values
    known = {choice.key: choice for choice in space(tree)}
    for key, value in values.items():
        if key not in known:
            cure = near(key, known, f"Keys: {', '.join(known) or 'none'}.")
            raise SketchError(f"The schedule sets {key!r}, which the sketch does not have.", cure)
        if value not in known[key].choices:
            listed = ", ".join(map(repr, known[key].choices))
            raise SketchError(f"The schedule sets {key!r} to {value!r}, which is not a choice.", f"Choices: {listed}.")
    return replace(tree, kernels=tuple(bound(kernel, schedule or Schedule()) for kernel in tree.kernels))


def bound(kernel: ast.Kernel, schedule: Schedule) -> ast.Kernel:
    """A kernel with every Tune replaced by its value in `schedule`, which is one of the choices, or by its default."""
    chosen = {choice.key: schedule.values.get(choice.key, choice.default) for choice in choices(kernel)}
    names = {tune.name: chosen[f"{kernel.name}.{tune.name}"] for tune in kernel.tunes}

    def change(node: object) -> object:
        match node:
            case ast.Name(id=name) if name in names:
                return _constant(names[name], node)
            case ast.Tune(key=key):
                return _constant(chosen[key], node)
        return node

    body = ast.rewrite(kernel.body, change)
    tensors = ast.rewrite(kernel.tensors, change)
    return replace(kernel, tensors=tensors, tunes=(), body=body)


def _constant(value: int | str, node: ast.Expr) -> ast.Expr:
    if isinstance(value, str):
        return ast.Text(value, place=node.place, type=node.type)
    return ast.Number(value, place=node.place, type=node.type)

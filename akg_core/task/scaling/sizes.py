"""Which integers of a reference file are sizes, found out by changing one at a time: what shapes follow it?

A number that nothing follows (an axis, a stride, a count of heads), or that something follows the other way (a count of
groups, by which channels are divided), is no size; nor is that of a convolution's kernel, or a count of layers.
Worker side only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from akg_core.errors import TaskError
from akg_core.task.scaling.literals import Integer, integers, rewritten
from akg_core.task.scaling.shapes import Interface, Shapes, interface_of, shapes_of

K = TypeVar("K")
Role = Literal["batch", "extent", "feature", "result", "unknown", "none"]
SMALLEST = 8  # sizes inside of a module up to this are not asked about, nor made smaller

_FEWEST = 3  # the smallest batch that could be smaller
_PROBES = 200  # of integers


@dataclass(frozen=True, slots=True)
class Size:
    """What an integer stands for.

    "batch": how many rows inputs have, and nothing else; "extent": other dimensions of inputs alone; "feature": shapes
    of parameters, too; "result": a dimension of what comes out; "unknown": the file runs with no other number there;
    "none": no size. `moves`: the dimensions of inputs that follow it.
    """

    role: Role = "none"
    moves: tuple[tuple[int, int], ...] = ()
    rank: int = 0


def sizes_of(source: str, name: str, whole: Shapes) -> dict[Integer, Size]:
    """What each integer of a file is, whose shapes as it stands are `whole`."""
    found: dict[Integer, Size] = {}
    for probes, group in enumerate(_groups(integers(source))):
        size = _probed(source, name, group, whole) if probes < _PROBES else Size()
        found.update(dict.fromkeys(group, size))
    return found


def _groups(found: Sequence[Integer]) -> Iterator[tuple[Integer, ...]]:
    """What is asked about at once: each integer outside of classes, equal ones inside of them."""
    yield from ((each,) for each in found if not each.in_class and each.value >= _FEWEST)
    inner = [each for each in found if each.in_class and each.value > SMALLEST]
    for value in sorted({each.value for each in inner}):
        yield tuple(each for each in inner if each.value == value)


def _probed(source: str, name: str, group: Sequence[Integer], whole: Shapes) -> Size:
    value = group[0].value
    for other in (value // 2, 2 * value):
        text = rewritten(source, [(each, other) for each in group])
        try:
            changed = interface_of(text, name)
        except TaskError:
            continue
        size = _size(changed, whole, other > value)
        if size.role == "none" and changed == _interface(whole):
            return _of_results(text, name, whole, value, other)
        return size
    return Size("unknown" if not group[0].scope else "none")


def _size(changed: Interface, whole: Shapes, grew: bool) -> Size:
    """What a number is by the shapes that moved as it did."""
    if [*map(len, changed.inputs)] != [*map(len, whole.inputs)] or _ranks(changed) != _ranks(whole):
        return Size()
    moved = [*_moved(enumerate(whole.inputs), dict(enumerate(changed.inputs)))]
    held = [*_moved(whole.parameters.items(), changed.parameters)]
    if any((after > before) != grew for _, _, before, after in (*moved, *held)):
        return Size()
    if any((which, dim) in whole.windows for which, dim, _, _ in held):
        return Size()
    moves = tuple((which, dim) for which, dim, _, _ in moved)
    rank = max((len(whole.inputs[which]) for which, _ in moves), default=0)
    if held:
        return Size("feature", moves, rank)
    if moves:
        return Size("batch" if all(dim == 0 for _, dim in moves) else "extent", moves, rank)
    return Size()


def _of_results(text: str, name: str, whole: Shapes, value: int, other: int) -> Size:
    """Whether a number that no input and no parameter follows is itself a dimension of what comes out."""
    try:
        outputs = shapes_of(text, name).outputs
    except TaskError:
        return Size()
    pairs = zip(whole.outputs, outputs, strict=False)
    moved = {pair for one, two in pairs for pair in zip(one, two, strict=False) if pair[0] != pair[1]}
    return Size("result") if moved == {(value, other)} else Size()


def _ranks(interface: Interface) -> dict[str, int]:
    return {name: len(shape) for name, shape in interface.parameters.items()}


def _interface(whole: Shapes) -> Interface:
    return Interface(whole.inputs, whole.parameters, whole.windows)


def _moved(
    before: Iterable[tuple[K, tuple[int, ...]]], after: Mapping[K, tuple[int, ...]]
) -> Iterator[tuple[K, int, int, int]]:
    """Each dimension that is another: of which tensor, which, from and to."""
    for key, shape in before:
        pairs = zip(shape, after[key], strict=True)
        yield from ((key, dim, one, two) for dim, (one, two) in enumerate(pairs) if one != two)

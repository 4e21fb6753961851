"""What forward says of numbers and sizes by what it does with them: PyTorch raises an error at an index outside of a
dim, and where two sizes differ that have to be the same. Worker side only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from akg_core.records import Dim, Node
from akg_core.task.graph import GraphIndex, reference, references

_NAMES = "alias clone detach expand permute squeeze t transpose unsqueeze view _unsafe_view"
_VIEWS = frozenset(_NAMES.split())
"""Operators that give all numbers of their first argument, and no others."""
_OF_DIM = frozenset(("gather", "scatter", "scatter_add", "scatter_reduce", "index_select", "index_add", "index_copy"))


def end_of_places(index: GraphIndex, value: str, assumed: frozenset[str]) -> Dim | None:
    """What numbers lie below because they, or all of them seen in another shape, are places in a dim; None where they
    are not. The sizes of what is `assumed` prove nothing."""
    ends = [*_ends(index, value, assumed)]
    whole = [end for end in ends if isinstance(end, int)]
    return min(whole) if whole else next(iter(ends), None)


def _ends(index: GraphIndex, value: str, assumed: frozenset[str]) -> Iterator[Dim]:
    for same, node in [(each, user) for each in index.alike(value) for user in index.users(each)]:
        name, args = node.op.split(".")[1], node.args
        if name in _VIEWS or (name == "_to_copy" and node.dtypes[0] in ("i64", "i32")):
            yield from _ends(index, reference(node.name), assumed)
        elif name == "embedding" and args[1] == same:
            yield from _sizes(index, args[0], 0, assumed)
        elif name in _OF_DIM and args[2] == same:
            yield from _sizes(index, args[0], args[1], assumed)
        elif name in ("index", "index_put") and same in args[1]:
            for dim in (dim for dim, place in enumerate(args[1]) if place == same):
                yield from _sizes(index, args[0], dim, assumed)


def _sizes(index: GraphIndex, value: str, dim: int, assumed: frozenset[str]) -> Iterator[Dim]:
    shape = index.shape(value)
    if shape and value.removeprefix("%").split(":")[0] not in assumed:
        yield shape[dim]


def made_of(index: GraphIndex, nodes: list[Node]) -> frozenset[str]:
    """The names of nodes and of all that is made of what they give."""
    found, left = set[str](), [*nodes]
    while left:
        node = left.pop()
        if node.name not in found:
            found.add(node.name)
            left += [user for n in range(len(node.shapes)) for user in index.users(reference(node.name, n))]
    return frozenset(found)


def is_known_size(index: GraphIndex, node: Node) -> bool:
    """Whether a node's one dim has to be as long as its shape says, because it meets a dim of something else."""
    own = made_of(index, [node])
    left = [(reference(node.name), -1)]
    while left:
        value, dim = left.pop()
        for user in index.users(value):
            if _meets(index, user, value, dim, own):
                return True
            if (after := _after(index, user, dim)) is not None:
                left.append((reference(user.name), after))
    return False


def _meets(index: GraphIndex, user: Node, value: str, dim: int, own: frozenset[str]) -> bool:
    """Whether a node asks of a dim of `value`, counted from the last, that it is as long as one of another tensor."""
    name, size = user.op.split(".")[1], index.shape(value)[dim]
    others = [ref for ref in references(user) if ref.removeprefix("%").split(":")[0] not in own]
    if name in ("view", "_unsafe_view"):  # to a table whose sizes forward says
        return dim == -1 and len(user.args[1]) > 1 and all(isinstance(n, int) and n > 1 for n in user.args[1])
    if name in ("mm", "mv", "dot") and dim == -1 and len(others) == 1:
        return name != "mm" or user.args[0] == value
    sizes = [index.shape(ref)[dim] for ref in others if len(index.shape(ref)) >= -dim]
    return _is_pointwise(user.op) and size != 1 and size in sizes


def _after(index: GraphIndex, user: Node, dim: int) -> int | None:
    """Where a dim is in what a node gives, as long as before or so many shorter; None where that is not known."""
    name, args = user.op.split(".")[1], user.args
    if _is_pointwise(user.op):
        return dim
    if name == "unsqueeze":
        rank = len(user.shapes[0])
        return dim - 1 if args[1] % rank - rank > dim - 1 else dim
    if name == "slice":
        start, end, step = (*args[2:], *(None, None, 1)[len(args) - 2 :])[:3]
        whole = (start or 0) >= 0 and (end is None or end < 0 or end >= 2**62) and step == 1
        return dim if whole or args[1] % len(user.shapes[0]) - len(user.shapes[0]) != dim else None
    return None


def _is_pointwise(op: str) -> bool:
    namespace, name, *overload = op.split(".")
    found: Any = getattr(getattr(torch.ops, namespace), name, None)
    found = getattr(found, overload[0] if overload else "default", None)
    return name == "_to_copy" or (found is not None and torch.Tag.pointwise in found.tags)

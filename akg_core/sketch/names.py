"""Names in a kernel: those that it has, new ones, and where those of tensors stand."""

from __future__ import annotations

from itertools import chain, count

from akg_core.sketch import ast


def identifier(text: str) -> str:
    """A name that resembles a text, such as that of a parameter in a module that has numbers for names: `0.weight`."""
    name = "".join(c if c.isalnum() else "_" for c in text) or "t"
    return f"t{name}" if name[0].isdigit() else name


def fresh(hint: str, taken: set[str], first: int = 1) -> str:
    """A name that is not taken yet, `hint` or that with a number from `first` on; it is taken now."""
    found = next(name for name in chain([hint], (f"{hint}_{n}" for n in count(first))) if name not in taken)
    taken.add(found)
    return found


def elements_of(node: object, tensor: str) -> list[ast.Element]:
    """The elements of a tensor at and below a node, in the order of the text."""
    return [n for n in ast.walk(node) if isinstance(n, ast.Element) and n.tensor == tensor]


def names_of(kernel: ast.Kernel) -> set[str]:
    """Every name that a kernel uses or introduces."""
    found = {t.name for t in kernel.tensors} | {t.name for t in kernel.tunes}
    for node in ast.walk((kernel.body, kernel.tensors)):
        match node:
            case ast.Name(id=name) | ast.Grid(axis=name) | ast.Tiles(axis=name) | ast.Whole(axis=name):
                found.add(name)
            case ast.Assign(targets=targets):
                found |= set(targets)
    return found

"""How long a program needs the tensors that it allocates: the memory of one serves the next."""

from __future__ import annotations

from akg_core.sketch import ast
from akg_core.sketch.program import kept_tensors, nested, roots


def unneeded(program: ast.Program) -> dict[str, tuple[str, ...]]:
    """By the name of an allocated tensor, the tensors that nothing needs any longer when it is allocated: such as were
    allocated before it, each with all its views.

    Those that outlive a call, or hold a number, stay to the end.
    """
    kept = kept_tensors(program)
    numbers = {node.id for node in ast.walk(program.body) if isinstance(node, ast.Name)}
    last, names = _last_uses(program)
    waiting: list[str] = []
    found: dict[str, tuple[str, ...]] = {}
    for place, node in enumerate(program.body):
        if isinstance(node, ast.Allocate) and node.target not in kept:
            ended = [name for name in waiting if last[name] < place]
            found[node.target] = tuple(name for root in ended for name in names[root])
            waiting = [name for name in waiting if name not in ended]
            if node.target not in numbers and node.dims:
                waiting.append(node.target)
    return found


def _last_uses(program: ast.Program) -> tuple[dict[str, int], dict[str, list[str]]]:
    """By the name of what is no view: the last statement of the program's body that has to do with it, and its names,
    those of its views after its own.
    """
    root = roots(program)
    last: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for place, outer in enumerate(program.body):
        for node, _, _ in nested((outer,)):
            for name in _tensors(node):
                owner = root.get(name, name)
                last[owner] = place
                known = names.setdefault(owner, [owner])
                if name not in known:
                    known.append(name)
    return last, names


def _tensors(node: ast.Statement) -> tuple[str, ...]:
    match node:
        case ast.Allocate() | ast.View():
            return (node.target,)
        case ast.Launch() | ast.Return():
            return node.tensors
        case _:
            return ()

"""What the body of forward calls the names of a program."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping, Set

from akg_core.sketch import ast
from akg_core.sketch.program import statements


def unlike(
    program: ast.Program, tensors: Iterable[str], own: Mapping[str, str], arguments: Set[str], others: Set[str]
) -> dict[str, str]:
    """Names of a program, of its `tensors` among them, that are another's, with underscores to tell them apart.

    Others' are Python's, `arguments` but for the tensor's `own`, and `others`.
    """
    taken = {"self", "_", "_device", "_grad", *others, *keyword.kwlist}
    counters = [node.variable for node in statements(program) if isinstance(node, ast.Range)]
    names = [*tensors, *program.dimensions, *counters]
    result: dict[str, str] = {}
    for name in {name for name in names if name in taken or (name in arguments and own.get(name) != name)}:
        fresh = f"{name}_"
        while fresh in names or (fresh in arguments and own.get(name) != fresh):
            fresh += "_"
        result[name] = fresh
    return result

"""The program of a sketch: the explicit one, or the one that a single kernel implies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from akg_core.errors import SketchError
from akg_core.sketch import ast
from akg_core.sketch.codes import finding


def program_of(tree: ast.SketchFile) -> ast.Program:
    """The program, made up when there is one kernel and no `@program`.

    The implied program takes the kernel's In tensors as forward's arguments in order, allocates Out and Scratch,
    launches the kernel, and returns the Out tensors in order. Raises SketchError when that cannot be.
    """
    if tree.program:
        return tree.program
    first = tree.kernels[0]
    if len(tree.kernels) > 1:
        _fail("SK801", tree.kernels[1], f"There are {len(tree.kernels)} kernels and no @program.")
    written = [t for t in first.tensors if t.role == "InOut"]
    if written:
        _fail(
            "SK801", written[0], f"`{first.name}` updates `{written[0].name}` in place, which no implied program can."
        )
    unset = [c for c in first.constants if c.default is None]
    if unset:
        _fail("SK801", unset[0], f"Nothing sets the Const `{unset[0].name}` of `{first.name}`.")
    allocated = [t for t in first.tensors if t.role in ("Out", "Scratch")]
    outputs = tuple(t.name for t in allocated if t.role == "Out")
    body = (
        *(ast.Allocate(t.name, t.dtype, t.dims, place=t.place) for t in allocated),
        ast.Launch(first.name, tuple(t.name for t in first.tensors), place=first.place),
        ast.Return(outputs, place=first.place),
    )
    inputs = tuple(t for t in first.tensors if t.role == "In")
    return ast.Program(first.name, inputs, body, place=first.place)


def _fail(code: str, node: ast.Kernel | ast.TensorParameter | ast.ConstParameter, message: str) -> None:
    cure = "Write a @program that allocates tensors, launches the kernels and returns the results."
    found = finding(code, node.place, message, cure)
    raise SketchError(f"{node.place.line}:{node.place.column}: {code} {message}", cure, (found,))


def statements(program: ast.Program) -> Iterator[ast.Statement]:
    """Every statement of a program in the order of the text, those of loops after their loop."""
    return _listed(program.body)


def _listed(body: Sequence[ast.Statement]) -> Iterator[ast.Statement]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.Range):
            yield from _listed(statement.body)


def turns(loop: ast.Range) -> int:
    """How often a loop of a program turns; 1 where only a call knows."""
    bounds = [int(bound.value) for bound in (loop.start, loop.stop, loop.step) if isinstance(bound, ast.Number)]
    return len(range(*bounds)) if len(bounds) == 3 else 1


def roots(program: ast.Program) -> dict[str, str]:
    """By the name of a view, the tensor that it is of, through all views in between."""
    found: dict[str, str] = {}
    for node in statements(program):
        if isinstance(node, ast.View):
            found[node.target] = found.get(node.tensor, node.tensor)
    return found


def memory_orders(program: ast.Program) -> dict[str, tuple[int, ...]]:
    """The tensors from outside that a program takes by one permute alone, of which a kernel is given what comes of it:
    that is the order of their dims in memory.

    Callers that have them in another order hand over a copy; what is not named here lies row by row.
    """
    taken: dict[str, set[tuple[int, ...]]] = {tensor.name: set() for tensor in program.tensors}
    views = roots(program)
    launched: set[str] = set()
    for node in statements(program):
        if isinstance(node, ast.View):
            if node.tensor in taken:
                permuted = node.args if node.op == "permute" else ()
                taken[node.tensor].add(tuple(int(arg.value) for arg in permuted if isinstance(arg, ast.Number)))
        elif isinstance(node, (ast.Launch, ast.Return)):
            for name in taken.keys() & set(node.tensors):
                taken[name].add(())
            launched |= {views.get(name, "") for name in node.tensors if isinstance(node, ast.Launch)}
    found = {name: [*orders] for name, orders in taken.items() if name in launched}
    return {name: orders[0] for name, orders in found.items() if len(orders) == 1 and orders[0]}


def kept_tensors(program: ast.Program) -> frozenset[str]:
    """The tensors of the program's own that launches with once=True use, and all views of them: they outlive a call."""
    viewed = {node.target: node.tensor for node in program.body if isinstance(node, ast.View)}
    given = {tensor.name for tensor in program.tensors}
    found: set[str] = set()
    for node in program.body:
        for name in node.tensors if isinstance(node, ast.Launch) and node.once else ():
            found.add(name)
            while name in viewed:
                name = viewed[name]
                found.add(name)
    found -= given
    for node in program.body:
        if isinstance(node, ast.View) and node.tensor in found:
            found.add(node.target)
    return frozenset(found)


def nested(body: Sequence[ast.Statement], depth: int = 0, turned: int = 1) -> Iterator[tuple[ast.Statement, int, int]]:
    """The statements of a program in order, with how many loops are around each, and how often these turn it."""
    for node in body:
        yield node, depth, turned
        if isinstance(node, ast.Range):
            yield from nested(node.body, depth + 1, turned * turns(node))

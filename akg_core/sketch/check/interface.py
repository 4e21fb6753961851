"""Whether a sketch written by hand serves a task: its inputs, parameters and results against the interface."""

from __future__ import annotations

from akg_core.errors import SketchError
from akg_core.records import Dim, Task
from akg_core.sketch import ast
from akg_core.sketch.codes import near
from akg_core.sketch.program import program_of


def require_fit(tree: ast.SketchFile, task: Task) -> None:
    """Raise SketchError when the program takes other inputs or parameters, or gives another number of results.

    Only what can be read without running is compared: counts, dtypes, ranks, and sizes that are numbers on both sides.
    """
    program = program_of(tree)
    inputs = [tensor for tensor in program.tensors if tensor.role == "In"]
    if task.interface.seeded:
        seed = inputs.pop() if inputs else None
        if seed is None or (seed.dtype, seed.dims) != ("i64", ()):
            cure = 'Declare it as the last input: `seed: In["i64"]`.'
            _fail(program, program.place, f"takes no seed, but forward of {task.name} draws random numbers.", cure)
    wanted = [argument for argument in task.interface.arguments if argument.kind != "constant"]
    if len(inputs) != len(wanted):
        names = ", ".join(argument.name for argument in wanted)
        _fail(
            program,
            program.place,
            f"takes {len(inputs)} inputs, but forward of {task.name} takes {len(wanted)}: {names}.",
        )
    for tensor, argument in zip(inputs, wanted, strict=True):
        _compare(program, tensor, f"argument {argument.name}", argument.dtype or "f64", argument.shape)
    held = {parameter.name: parameter for parameter in task.interface.parameters}
    for tensor in program.tensors:
        if tensor.role == "Param":
            if tensor.source not in held:
                cure = near(tensor.source, held, f"It has {', '.join(held) or 'none'}.")
                _fail(program, tensor.place, f"names the parameter {tensor.source!r}, which Model does not have.", cure)
            parameter = held[tensor.source]
            _compare(program, tensor, f"parameter {parameter.name}", parameter.dtype, parameter.shape)
    returned = next(len(node.tensors) for node in program.body if isinstance(node, ast.Return))
    due = sum(output is not None for output in task.graph.outputs)
    if returned != due:
        updated = [argument.name for argument in task.interface.arguments if argument.mutated]
        more = f", the last of them for {', '.join(updated)}, which it updates" if updated else ""
        _fail(program, program.place, f"returns {returned} tensors, but forward of {task.name} returns {due}{more}.")


def _compare(program: ast.Program, tensor: ast.TensorParameter, what: str, dtype: str, shape: tuple[Dim, ...]) -> None:
    given = f"declares {tensor.name} for the {what} as"
    if tensor.dtype != dtype:
        _fail(program, tensor.place, f"{given} {tensor.dtype}, but it is {dtype}.")
    if len(tensor.dims) != len(shape):
        _fail(program, tensor.place, f"{given} {len(tensor.dims)}-dimensional, but it has the shape {list(shape)}.")
    for position, (dim, size) in enumerate(zip(tensor.dims, shape, strict=True)):
        if isinstance(dim, ast.Number) and isinstance(size, int) and dim.value != size:
            _fail(program, tensor.place, f"{given} of size {dim.value} in dimension {position}, but it is {size}.")


def _fail(program: ast.Program, place: ast.Place, message: str, cure: str = "") -> None:
    at = f"{place.line}:{place.column}: " if place.line else ""
    raise SketchError(
        f"{at}The program `{program.name}` {message}", cure or "The sketch must serve the reference file."
    )

"""What kind of task a captured graph is, by the heaviest thing that it computes; for the rows of a table."""

from __future__ import annotations

from akg_core.records import Task

# The first that a graph has an operator of decides.
_BY_OPERATOR = {
    "conv": ("convolution",),
    "matmul": ("mm", "bmm", "addmm", "baddbmm", "mv", "dot", "einsum", "scaled_dot_product", "addmv"),
    "pool": ("pool",),
    "scan": ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"),
}
_NORMS = ("layer_norm", "group_norm", "batch_norm", "_softmax", "_log_softmax", "linalg_vector_norm")
_REDUCTIONS = ("sum", "mean", "amax", "amin", "max", "min", "prod", "argmax", "argmin", "var", "std", "any", "all")


def category(task: Task) -> str:
    """ "conv", "matmul", "pool", "scan", "loss", "norm", "reduce" or "elementwise"."""
    names = [node.op.split(".")[1] if "." in node.op else node.op for node in task.graph.nodes]
    for kind, operators in _BY_OPERATOR.items():
        if any(_is(name, operator) for name in names for operator in operators):
            return kind
    reduces = any(name in _REDUCTIONS for name in names)
    sizes = _output_sizes(task)
    if sizes and all(rank == 0 for rank in sizes):
        return "loss"
    if any(operator in name for name in names for operator in _NORMS) or (reduces and _keeps_shape(task)):
        return "norm"
    return "reduce" if reduces else "elementwise"


def _is(name: str, operator: str) -> bool:
    """Whether an operator's name is, or (for words that are no part of others) contains, what is looked for."""
    return name.strip("_") == operator or (len(operator) > 3 and operator in name)


def _output_sizes(task: Task) -> list[int]:
    """The ranks of the outputs that are results of operators."""
    shapes = _shapes(task)
    return [len(shapes[name]) for name in task.graph.outputs if name in shapes]


def _keeps_shape(task: Task) -> bool:
    shapes = _shapes(task)
    inputs = [tuple(argument.shape) for argument in task.interface.arguments if argument.kind == "tensor"]
    return any(tuple(shapes.get(name or "", ())) in inputs for name in task.graph.outputs)


def _shapes(task: Task) -> dict[str, tuple[int | str, ...]]:
    """Shapes of the graph's results by reference ("%name" or "%name:1")."""
    found: dict[str, tuple[int | str, ...]] = {}
    for node in task.graph.nodes:
        for number, shape in enumerate(node.shapes):
            found[f"%{node.name}:{number}"] = tuple(shape)
        if node.shapes:
            found[f"%{node.name}"] = tuple(node.shapes[0])
    return found

"""A sketch against the reference that it stands for: interpreted on the task's own inputs, in a worker."""

from __future__ import annotations

import operator
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import Any

from akg_core.records import Schedule, Task


def trial_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{task, text, name, schedule, seed} → {outputs, counts, kernels, seconds}.

    `seed` is that of the inputs, and of the call where forward draws random numbers.

    An output is {dtype, shape, error, where, reference, agrees}: `error` is the largest absolute difference from eager
    PyTorch, at the index `where`, `reference` eager's value there, `agrees` whether all of it is within KernelBench's
    tolerance.
    """
    import time

    import torch

    from akg_core.sketch.interpret import interpret
    from akg_core.sketch.interpret.counts import Counts
    from akg_core.sketch.parse import parse
    from akg_core.task.arguments import flat, tables
    from akg_core.task.graph import held, pairs
    from akg_core.task.randomness import drawn_from
    from akg_core.task.source.load import load_source

    task = Task(**payload["task"])
    interface = task.interface
    module = load_source(task.source, task.name)
    reference = replace(module, pairs=pairs(interface), records=interface.records, held=held(interface))
    model = reference.model(payload["seed"], eval=not task.training)
    inputs = reference.inputs(payload["seed"] + 1)
    tensors = {
        "number": lambda value: torch.tensor(value, dtype=torch.float64),
        "size": lambda value: torch.empty((), dtype=torch.bool).expand(value),
        "tensor": lambda value: value,
    }
    arguments = [
        tensors[argument.kind](value)
        for value, argument in zip(flat(task.interface.arguments, inputs), task.interface.arguments, strict=True)
        if argument.kind != "constant"
    ]
    arguments += [torch.tensor(payload["seed"])] if task.interface.seeded else []
    state = {name: tensor.detach().clone() for name, tensor in (*model.named_parameters(), *model.named_buffers())}
    state |= tables(interface)
    for parameter in interface.parameters:
        if parameter.name not in state:
            state[parameter.name] = operator.attrgetter(parameter.name)(model).detach().clone()
    began = time.perf_counter()
    tree = parse(payload["text"], payload["name"])
    result = interpret(tree, arguments, state, Schedule(**payload["schedule"]), count=True)
    seconds = time.perf_counter() - began
    with torch.no_grad(), drawn_from(payload["seed"]) if task.interface.seeded else nullcontext():
        expected = torch.utils._pytree.tree_leaves(model(*inputs))
    left = zip(flat(task.interface.arguments, inputs), task.interface.arguments, strict=True)
    expected += [value for value, argument in left if argument.mutated]
    expected = [value for value in expected if isinstance(value, torch.Tensor)]
    return {
        "outputs": [_difference(found, due) for found, due in zip(result.outputs, expected, strict=True)],
        "counts": asdict(result.counts or Counts()),
        "kernels": {name: asdict(counts) for name, counts in result.kernels.items()},
        "seconds": seconds,
    }


def _difference(found: Any, due: Any) -> dict[str, Any]:
    import torch

    from akg_core.task.examine import same

    row = {"dtype": str(found.dtype).removeprefix("torch."), "shape": list(found.shape)}
    if found.shape != due.shape or found.dtype != due.dtype:
        return row | {"error": None, "where": [], "reference": f"{due.dtype} {list(due.shape)}", "agrees": False}
    if not due.numel():
        return row | {"error": 0.0, "where": [], "reference": "", "agrees": True}
    gap = (found.double() - due.double()).abs()
    gap[found.double() == due.double()] = 0.0
    gap[found.isnan() & due.isnan()] = 0.0
    gap = gap.nan_to_num(nan=float("inf"))
    where = torch.unravel_index(gap.argmax(), gap.shape)
    place = [int(index) for index in where]
    value = f"{due[tuple(place)].item():.6g}"
    return row | {"error": float(gap.max()), "where": place, "reference": value, "agrees": same([found], [due])}

"""Runs a captured graph with PyTorch's own operators, to show that it means what the reference does."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import nn

from akg_core.records import Node, Task
from akg_core.task.arguments import flat
from akg_core.task.export.translate import DTYPES
from akg_core.task.graph import evaluate, is_reference, resolve, size

_DTYPES = {name: dtype for dtype, name in DTYPES.items()}


def replay(
    task: Task, model: nn.Module, inputs: list[Any], symbols: dict[str, int] | None = None
) -> tuple[list[Any], dict[str, torch.Tensor]]:
    """Flat outputs, and what the mutated parameters hold after the call."""
    values: dict[str, tuple[Any, ...]] = {}
    arguments = {
        f"argument:{a.name}": v
        for a, v in zip(task.interface.arguments, flat(task.interface.arguments, inputs), strict=True)
    }
    for name, origin in task.graph.values.items():
        if origin.startswith("parameter:"):
            value: Any = model
            for part in origin.removeprefix("parameter:").split("."):
                value = getattr(value, part)
        else:
            value = arguments[origin]
            value = torch.tensor(value, dtype=torch.float64) if isinstance(value, float) else value
        values[name] = (value,)

    def argument(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [argument(item) for item in value]
        if is_reference(value):
            name, result = resolve(value)
            return values[name][result]
        if isinstance(value, str) and re.search(r"\bs\d", value):
            return evaluate(value, symbols or task.symbols)
        return value

    def run(node: Node) -> tuple[Any, ...]:
        kwargs = {k: argument(v) for k, v in node.kwargs.items() if k != "memory_format"}
        if kwargs.get("dtype"):
            kwargs["dtype"] = _DTYPES[kwargs["dtype"]]
        if node.op == "akg.tensor":
            return (torch.tensor(node.args[0], **kwargs),)
        _, packet, overload = node.op.split(".")
        result = getattr(getattr(torch.ops.aten, packet), overload)(*map(argument, node.args), **kwargs)
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    for node in task.graph.nodes:
        results = run(node)
        values[node.name] = results
        for result, dtype, shape in zip(results, node.dtypes, node.shapes, strict=True):
            if dtype:
                assert DTYPES[result.dtype] == dtype, node
                assert list(result.shape) == [size(d, symbols or task.symbols) for d in shape], node
    outputs = [None if o is None else argument(o) for o in task.graph.outputs]
    return outputs, {name: argument(text) for name, text in task.graph.mutations.items()}


def reference_text(body: str, init: str = "", inputs: str = "torch.randn(4, 6)", arguments: str = "x") -> str:
    """A reference file around the body of forward, the constructor's statements and the list of inputs."""
    return (
        "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\n\n"
        "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        + "".join(f"        {line}\n" for line in init.splitlines())
        + f"\n    def forward(self, {arguments}):\n"
        + "".join(f"        {line}\n" for line in body.splitlines())
        + f"\n\ndef get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return []\n"
    )

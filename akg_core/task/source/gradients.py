"""Forwards that take gradients and leave it to their callers that these are on. Worker side only.

Forces that are the gradient of an energy are written so. A judge calls forward without gradients, as KernelBench does.
"""

from __future__ import annotations

import ast
import functools
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only


def with_gradients(model: type[nn.Module], source: str) -> None:
    """Have a class's forward run with gradients if its file calls `autograd.grad` and does not say itself when they are
    on, which would cost eager PyTorch more than it must; what it gives back needs none."""
    nodes = list(ast.walk(ast.parse(source)))
    if any(map(_is_switch, nodes)) or not any(map(_is_gradient, nodes)):
        return
    forward = model.forward

    @functools.wraps(forward)
    def differentiable(*args: Any, **kwargs: Any) -> Any:
        with torch.enable_grad():
            return tree_map_only(Tensor, _plain, forward(*args, **kwargs))

    model.forward = differentiable


def _plain(x: Tensor) -> Tensor:
    return x.detach() if x.requires_grad else x


def _is_switch(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("enable_grad", "set_grad_enabled")


def _is_gradient(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "torch.autograd" and any(name.name == "grad" for name in node.names)
    return isinstance(node, ast.Attribute) and node.attr == "grad" and ast.unparse(node.value).endswith("autograd")

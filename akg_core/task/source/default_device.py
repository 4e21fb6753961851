"""Reference files whose forward makes tensors or layers and does not say where: on a device, made there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from akg_core.records import HOST

_MAKERS = (
    *("arange", "bartlett_window", "blackman_window", "empty", "eye", "full", "hamming_window", "hann_window"),
    *("kaiser_window", "linspace", "logspace", "normal", "ones", "rand", "randint", "randn", "randperm"),
    *("scalar_tensor", "tensor", "tril_indices", "triu_indices", "zeros"),
)
_NOT_RUN = ("__init__", "get_inputs", "get_init_inputs", "get_inputs_dyn_list", "get_input_groups")


def making_on(model: nn.Module, device: str, source: str) -> nn.Module:
    """A module of a file with this text that makes on `device` what it makes in forward without saying where.

    One that makes nothing so is left as it is, for the sake of its time.
    """
    if device == HOST or not any(_made(ast.parse(source))):
        return model
    kind = type(model)

    def forward(self: nn.Module, *arguments: Any, **named: Any) -> Any:
        with torch.device(device):
            return kind.forward(self, *arguments, **named)

    model.__class__ = type(kind.__name__, (kind,), {"forward": forward, "__module__": kind.__module__})
    return model


def _made(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls in functions that a call of the module may run, which make a tensor or a layer where none says."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and node.name not in _NOT_RUN:
            yield from (each for each in ast.walk(node) if isinstance(each, ast.Call) and _makes(each))
        elif isinstance(node, ast.ClassDef):
            yield from _made(node)


def _makes(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or any(each.arg == "device" for each in call.keywords):
        return False
    owner, name = ast.unparse(call.func.value), call.func.attr
    return (owner == "torch" and name in _MAKERS) or (owner in ("nn", "torch.nn") and name[:1].isupper())

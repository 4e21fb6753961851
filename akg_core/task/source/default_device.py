"""Reference files whose forward makes tensors or layers and does not say where: on a device, made there."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from akg_core.records import HOST

_MAKERS = (
    *("arange", "bartlett_window", "blackman_window", "empty", "eye", "full", "hamming_window", "hann_window"),
    *("kaiser_window", "linspace", "logspace", "normal", "ones", "rand", "randint", "randn", "randperm"),
    *("scalar_tensor", "tensor", "tril_indices", "triu_indices", "zeros"),
)
_KINDS = ("torch.nn", "torch.distributions")  # modules whose classes make tensors
_NOT_RUN = ("__init__", "get_inputs", "get_init_inputs", "get_inputs_dyn_list", "get_input_groups")


def making_on(model: nn.Module, device: str, source: str) -> nn.Module:
    """A module of a file with this text that makes on `device` what it makes in forward without saying where.

    One that makes nothing so is left as it is, for the sake of its time.
    """
    if device == HOST:
        return model
    tree = ast.parse(source)
    if not any(_made(tree, _imported(tree))):
        return model
    kind = type(model)

    def forward(self: nn.Module, *arguments: Any, **named: Any) -> Any:
        with torch.device(device):
            return kind.forward(self, *arguments, **named)

    model.__class__ = type(kind.__name__, (kind,), {"forward": forward, "__module__": kind.__module__})
    return model


def _imported(tree: ast.Module) -> dict[str, str]:
    """What the names stand for that a file imports: "torch.nn" for nn, "torch.distributions.Normal" for Normal."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.asname: each.name for each in node.names if each.asname}
        elif isinstance(node, ast.ImportFrom):
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return found


def _made(tree: ast.AST, imported: Mapping[str, str]) -> Iterator[ast.Call]:
    """Calls in functions that a call of the module may run, which make a tensor or a layer where none says."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and node.name not in _NOT_RUN:
            yield from (each for each in ast.walk(node) if isinstance(each, ast.Call) and _makes(each, imported))
        elif isinstance(node, ast.ClassDef):
            yield from _made(node, imported)


def _makes(call: ast.Call, imported: Mapping[str, str]) -> bool:
    if any(each.arg == "device" for each in call.keywords):
        return False
    first, dot, further = ast.unparse(call.func).partition(".")
    owner, _, name = f"{imported.get(first, first)}{dot}{further}".rpartition(".")
    return (owner == "torch" and name in _MAKERS) or (owner.startswith(_KINDS) and name[:1].isupper())

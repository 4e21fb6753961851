"""Tensors of a dtype that a chip lacks, of which a kernel reads nothing but the bits: it is handed these as ints."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from akg_core.plugin.lower import Instance
from akg_core.plugin.sketch import Call, ast

_INTS = {"f64": "i64", "f32": "i32"}


def with_bits(instance: Instance, lacks: Collection[str]) -> Instance:
    """The instance with ints in place of each `In` tensor whose dtype is among `lacks`, and read by `bits` alone."""
    nodes = list(ast.walk(instance.kernel))
    wide = {each.name for each in instance.kernel.tensors if each.role == "In" and each.dtype in {*lacks} & {*_INTS}}
    taken = [node.args[0] for node in nodes if isinstance(node, Call) and node.op == "bits"]
    read = {id(each.args[0]) for each in taken if isinstance(each, Call) and each.op == "load"}
    wide -= {node.tensor for node in nodes if isinstance(node, ast.Element) and id(node) not in read}
    if not wide:
        return instance

    def change(node: Any) -> Any:
        if isinstance(node, ast.TensorParameter) and node.name in wide:
            return replace(node, dtype=_INTS[node.dtype])
        if isinstance(node, Call) and node.op == "bits" and _tensor(node.args[0]) in wide:
            return replace(node.args[0], type=node.type)
        if isinstance(node, ast.Element) and node.tensor in wide and node.type:
            return replace(node, type=replace(node.type, dtype=_INTS[node.type.dtype]))
        return node

    return replace(instance, kernel=ast.rewrite(instance.kernel, change))


def _tensor(node: Any) -> str:
    """The tensor that a load reads; no name for anything else."""
    loaded = isinstance(node, Call) and node.op == "load"
    return node.args[0].tensor if loaded else ""

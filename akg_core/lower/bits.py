"""Tensors of a dtype that a chip lacks, which a kernel reads as bits or narrows: it is handed their bits, as ints."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from akg_core.lower.specialise import Instance
from akg_core.sketch import ast
from akg_core.sketch.ast import Call, Expr, Text

_INTS = {"f64": "i64", "f32": "i32"}
_NARROWED = ("f64", "f32")  # from what to what a helper narrows bits


def with_bits(instance: Instance, lacks: Collection[str]) -> Instance:
    """The instance with ints in place of each `In` tensor whose dtype is among `lacks`, where it is read by `bits`, or
    by a cast of f64 to f32: that becomes `cast(load, "f32", "f64")`, of bits.
    """
    nodes = list(ast.walk(instance.kernel))
    wide = {each.name for each in instance.kernel.tensors if each.role == "In" and each.dtype in {*lacks} & {*_INTS}}
    taken = [node.args[0] for node in nodes if isinstance(node, Call) and (node.op == "bits" or _narrows(node))]
    read = {id(each.args[0]) for each in taken if isinstance(each, Call) and each.op == "load"}
    wide -= {node.tensor for node in nodes if isinstance(node, ast.Element) and id(node) not in read}
    if not wide:
        return instance

    def change(node: Any) -> Any:
        if isinstance(node, ast.TensorParameter) and node.name in wide:
            return replace(node, dtype=_INTS[node.dtype])
        if isinstance(node, Call) and node.op == "bits" and _tensor(node.args[0]) in wide:
            return _as_int(node.args[0])
        if _narrows(node) and _tensor(node.args[0]) in wide:
            return replace(node, args=(_as_int(node.args[0]), node.args[1], Text("f64")))
        if isinstance(node, ast.Element) and node.tensor in wide and node.type:
            return replace(node, type=replace(node.type, dtype=_INTS[node.type.dtype]))
        return node

    return replace(instance, kernel=ast.rewrite(instance.kernel, change))


def _narrows(node: Any) -> bool:
    """Whether it is a cast from f64 to f32."""
    if not (isinstance(node, Call) and node.op == "cast" and isinstance(node.args[1], Text)):
        return False
    kind = node.args[0].type
    return kind is not None and (kind.dtype, node.args[1].value) == _NARROWED


def _as_int(load: Expr) -> Expr:
    assert load.type is not None, "a checked tree is typed"
    return replace(load, type=replace(load.type, dtype=_INTS.get(load.type.dtype, load.type.dtype)))


def _tensor(node: Any) -> str:
    """The tensor that a load reads; no name for anything else."""
    loaded = isinstance(node, Call) and node.op == "load"
    return node.args[0].tensor if loaded else ""

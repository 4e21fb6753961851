"""Chips that lack dtypes: without f64 kernels are handed float arguments in f32; what computes in others is refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from akg_core.errors import Unsupported
from akg_core.lower.specialise import Instance
from akg_core.records import Interface
from akg_core.sketch import ast
from akg_core.sketch.ast import Expr

WIDE, NARROW = "f64", "f32"


def float_dtype(interface: Interface, lacks: Collection[str]) -> str:
    """The dtype of float arguments: f32 where f64 is among what the chip `lacks` and no tensor of the module is f64."""
    dtypes = {argument.dtype for argument in interface.arguments if argument.kind == "tensor"}
    dtypes |= {parameter.dtype for parameter in interface.parameters}
    return NARROW if WIDE in lacks and WIDE not in dtypes else WIDE


def with_floats(instance: Instance, dtype: str) -> Instance:
    """The instance with f32 in place of f64, where that is the `dtype` of float arguments and all f64 that it takes."""
    wide = [tensor for tensor in instance.kernel.tensors if tensor.dtype == WIDE]
    if dtype == WIDE or not wide or any(tensor.dims or tensor.role != "In" for tensor in wide):
        return instance
    return replace(instance, kernel=ast.rewrite(instance.kernel, _narrow))


def refuse_lacking(instance: Instance, lacks: Collection[str]) -> None:
    """Raise Unsupported where a kernel computes in a dtype that its chip lacks."""
    kinds = (node.type if isinstance(node, Expr) else node for node in ast.walk(instance.kernel))
    used = {kind.dtype for kind in kinds if isinstance(kind, ast.Type | ast.TensorParameter)}
    if missing := sorted(used.intersection(lacks)):
        raise Unsupported(f"The chip cannot compute in {', '.join(missing)}.", "Compute in another dtype.")


def _narrow(node: Any) -> Any:
    if isinstance(node, ast.TensorParameter) and node.dtype == WIDE:
        return replace(node, dtype=NARROW)
    if isinstance(node, Expr) and node.type and node.type.dtype == WIDE:
        return replace(node, type=replace(node.type, dtype=NARROW))
    return node

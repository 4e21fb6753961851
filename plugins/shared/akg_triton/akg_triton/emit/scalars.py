"""Float arguments of `forward` on chips without f64: kernels are handed them in f32."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from akg_core.plugin import Interface
from akg_core.plugin.lower import Instance
from akg_core.plugin.sketch import Expr, ast
from akg_triton.dialect import Dialect

WIDE, NARROW = "f64", "f32"


def floats_of(interface: Interface, dialect: Dialect) -> str:
    """The dtype of float arguments: f32 where the chip has no f64 and no tensor of the module is f64."""
    dtypes = {argument.dtype for argument in interface.arguments if argument.kind == "tensor"}
    dtypes |= {parameter.dtype for parameter in interface.parameters}
    return NARROW if WIDE in dialect.lacks and WIDE not in dtypes else WIDE


def with_floats(instance: Instance, floats: str) -> Instance:
    """The instance with f32 in place of f64, where float arguments are f32 and nothing else that it takes is f64."""
    wide = [tensor for tensor in instance.kernel.tensors if tensor.dtype == WIDE]
    if floats == WIDE or not wide or any(tensor.dims or tensor.role != "In" for tensor in wide):
        return instance
    return replace(instance, kernel=ast.rewrite(instance.kernel, _narrow))


def _narrow(node: Any) -> Any:
    if isinstance(node, ast.TensorParameter) and node.dtype == WIDE:
        return replace(node, dtype=NARROW)
    if isinstance(node, Expr) and node.type and node.type.dtype == WIDE:
        return replace(node, type=replace(node.type, dtype=NARROW))
    return node

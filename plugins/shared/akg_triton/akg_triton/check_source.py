"""What a Triton kernel must have and must not do, found by reading its source."""

from __future__ import annotations

import ast
from typing import TypeGuard

from akg_core.plugin import Finding, KernelSource
from akg_core.plugin.check_source import is_decorated, kernel_findings, python_trees


def check_source(source: KernelSource) -> tuple[Finding, ...]:
    """What core finds in the Python files, and whether there is a kernel where there is something to compute."""
    return kernel_findings(source, "Triton", "triton.jit", _is_kernel)


def kernels(source: KernelSource) -> list[str]:
    """The names of a source's functions under triton.jit, but for those that others of them call."""
    found = [node for tree in python_trees(source) for node in ast.walk(tree) if _is_kernel(node)]
    called = {name.id for kernel in found for name in ast.walk(kernel) if isinstance(name, ast.Name)}
    return [node.name for node in found if node.name not in called]


def _is_kernel(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    return is_decorated(node, "triton.jit")

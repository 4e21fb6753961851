"""What a TileLang kernel must have and must not do, found by reading its source."""

from __future__ import annotations

import ast

from akg_core.plugin import Finding, KernelSource
from akg_core.plugin.check_source import is_decorated, kernel_findings


def check_source(source: KernelSource) -> tuple[Finding, ...]:
    """What core finds in the Python files, and whether there is a kernel where there is something to compute."""
    return kernel_findings(source, "TileLang", "T.prim_func", _is_prim_func, _is_kernel)


def _is_prim_func(node: ast.AST) -> bool:
    return is_decorated(node, "prim_func")


def _is_kernel(node: ast.AST) -> bool:
    """Whether a function's body is TileLang: a kernel, what makes one, or a macro."""
    made = isinstance(node, ast.FunctionDef) and any(map(_is_prim_func, ast.walk(node)))
    return made or is_decorated(node, "macro")

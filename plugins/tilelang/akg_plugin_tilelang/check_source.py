"""What a TileLang kernel must have and must not do, found by reading its source."""

from __future__ import annotations

import ast

from akg_core.plugin import Finding, KernelSource
from akg_core.plugin.check_source import only_views, python_findings, python_trees


def check_source(source: KernelSource) -> tuple[Finding, ...]:
    """What core finds in the Python files, and whether there is a kernel where there is something to compute."""
    findings = python_findings(source, "TILELANG", _is_kernel)
    trees = python_trees(source)
    if trees and not any(_is_prim_func(n) for tree in trees for n in ast.walk(tree)) and not only_views(source):
        findings.append(
            Finding(
                code="TILELANG104",
                message="There is no TileLang kernel: no function is decorated with T.prim_func.",
                suggestion="Write the computation as a function under @T.prim_func and launch it in forward.",
            )
        )
    return tuple(findings)


def _is_prim_func(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any("prim_func" in ast.unparse(d) for d in node.decorator_list)


def _is_kernel(node: ast.AST) -> bool:
    """Whether a function's body is TileLang: a kernel, what makes one, or a macro."""
    if not isinstance(node, ast.FunctionDef):
        return False
    decorated = any("macro" in ast.unparse(each) for each in node.decorator_list)
    return decorated or any(_is_prim_func(inner) for inner in ast.walk(node))

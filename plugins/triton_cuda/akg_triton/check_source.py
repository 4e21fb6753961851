"""What a Triton kernel must have and must not do, found by reading its source.

The judge's guard catches what runs; this catches it earlier, with the line and what to do instead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from akg_core.records import Finding, KernelSource

# Operators of torch that compute. The guard of the judge knows them all; these are the usual ones.
_OPERATORS = """
    matmul mm bmm addmm baddbmm einsum mv linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    softmax log_softmax layer_norm batch_norm group_norm instance_norm rms_norm mean var std prod cumsum cumprod
    topk argmax argmin amax amin relu gelu silu sigmoid tanh sqrt rsqrt softplus clamp max_pool1d max_pool2d max_pool3d
    avg_pool1d avg_pool2d avg_pool3d scaled_dot_product_attention cross_entropy mse_loss nll_loss kl_div embedding
    masked_fill index_select logsumexp dropout
"""
_METHODS = frozenset(_OPERATORS.split())
# Names that other objects than tensors have as methods too, so that they count only as torch.NAME.
_AMBIGUOUS = "add sub mul div exp log pow sort dot outer norm cat stack where gather abs sum"
_FUNCTIONS = _METHODS | frozenset(_AMBIGUOUS.split())


def check_source(source: KernelSource) -> tuple[Finding, ...]:
    """Findings in the Python files, the entry file first."""
    names = [source.entry, *(n for n in source.files if n.endswith(".py") and n not in (source.entry, "reference.py"))]
    trees: dict[str, ast.Module] = {}
    findings: list[Finding] = []
    for name in names:
        try:
            trees[name] = ast.parse(source.files[name])
        except SyntaxError as error:
            message = f"{name} does not parse: {error.msg}."
            findings.append(Finding(code="TRITON101", message=message, line=error.lineno or 0))
    if source.entry in trees:
        findings += _entry(source.entry, trees[source.entry])
    for name, tree in trees.items():
        findings += _calls(name, tree)
    if trees and not any(_is_kernel(node) for tree in trees.values() for node in ast.walk(tree)):
        findings.append(
            Finding(
                code="TRITON104",
                message="There is no Triton kernel: no function is decorated with triton.jit.",
                suggestion="Write the computation as a function under @triton.jit and launch it in forward.",
            )
        )
    return tuple(findings)


def _entry(name: str, tree: ast.Module) -> Iterator[Finding]:
    models = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ModelNew"]
    if not models:
        yield Finding(
            code="TRITON102",
            message=f"{name} defines no class ModelNew.",
            suggestion="Define class ModelNew(Model) with the constructor and forward of Model.",
        )
    elif not any(isinstance(node, ast.FunctionDef) and node.name == "forward" for node in models[0].body):
        yield Finding(
            code="TRITON103",
            message="ModelNew has no forward of its own, so that it is the reference.",
            line=models[0].lineno,
            suggestion="Give it a forward that launches the kernels.",
        )


def _calls(name: str, tree: ast.Module) -> Iterator[Finding]:
    kernels = [node for node in ast.walk(tree) if _is_kernel(node)]
    inside = {id(node) for kernel in kernels for node in ast.walk(kernel)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            yield Finding(
                code="TRITON201",
                message=f"{name} has a try block, which can hide a kernel that fails behind something else.",
                line=node.lineno,
                suggestion="Let errors out.",
            )
        if id(node) not in inside and isinstance(node, ast.Call) and (called := _library(node.func)):
            yield Finding(
                code="TRITON202",
                message=f"{name} calls {called}, which is the library's work.",
                line=node.lineno,
                column=node.col_offset + 1,
                suggestion="Compute it in a Triton kernel.",
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield Finding(
                code="TRITON202",
                message=f"{name} multiplies matrices by @, which is the library's work.",
                line=node.lineno,
                suggestion="Use tl.dot in a Triton kernel.",
            )


def _library(function: ast.expr) -> str:
    """The name of a library operator that computes, "" for any other call."""
    if not isinstance(function, ast.Attribute):
        return ""
    text = ast.unparse(function)
    if text.startswith(("torch.nn.functional.", "F.", "torch.compile", "torch.ops.")):
        return text
    if text.startswith("torch."):
        return text if function.attr in _FUNCTIONS else ""
    return text if function.attr in _METHODS and not text.startswith(("tl.", "libdevice.", "math.")) else ""


def _is_kernel(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any("triton.jit" in ast.unparse(d) for d in node.decorator_list)

"""What every `akg_check_source` begins with: what a kernel's Python files must have and must not do, found by reading.

The guard catches what runs; this catches it earlier, with the line and what to do instead. A code is the plugin's
prefix and a number: 101 does not parse, 102 no ModelNew, 103 no forward, 104 no kernel, 201 a try block, 202 the
library computes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeGuard

from akg_core.python_text import module_of
from akg_core.records import Finding, KernelSource

# Operators of torch that compute. The guard knows them all; these are the usual ones.
_OPERATORS = """
    matmul mm bmm addmm baddbmm einsum mv linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    softmax log_softmax layer_norm batch_norm group_norm instance_norm rms_norm sum mean var std prod cumsum cumprod
    topk argmax argmin amax amin relu gelu silu sigmoid tanh sqrt rsqrt softplus clamp max_pool1d max_pool2d max_pool3d
    avg_pool1d avg_pool2d avg_pool3d scaled_dot_product_attention cross_entropy mse_loss nll_loss kl_div embedding
    masked_fill index_select logsumexp dropout
"""
_METHODS = frozenset(_OPERATORS.split())
# Names that other objects than tensors have as methods too, so that they count only as torch.NAME.
_AMBIGUOUS = "add sub mul div exp log pow sort dot outer norm cat stack where gather abs sin cos flip compile"
_FUNCTIONS = _METHODS | frozenset(_AMBIGUOUS.split())
_WHOLLY = ("torch.nn.functional.", "torch.ops.", "super.forward", "super.__call__")
# What forward may call where there is no kernel: the host's own checks, views, and fresh tensors.
_CHECKS = "type get attrgetter is_contiguous is_neg _is_grad_enabled _fitted _refuse_shape _check_sizes _constant"
_CHECKS += " _without_gradients _extent _led _refuse_numbers _numbers"
_MOVES = "view permute narrow expand unfold slice empty zeros full tensor view_as_complex _pairs"
_VIEWS = frozenset(f"{_CHECKS} {_MOVES}".split())

IsKernel = Callable[[ast.AST], bool]


def python_findings(source: KernelSource, prefix: str, is_kernel: IsKernel = lambda node: False) -> list[Finding]:
    """Findings in the Python files, the entry file first; what is inside of a kernel written in Python is not read."""
    findings: list[Finding] = []
    for name in _python_files(source):
        try:
            tree = module_of(source.files[name])
        except SyntaxError as error:
            said = f"{name} does not parse: {error.msg}."
            findings.append(Finding(code=f"{prefix}101", message=said, line=error.lineno or 0))
            continue
        if name == source.entry:
            findings += _structure(name, tree, prefix)
        findings += _forbidden(name, tree, prefix, is_kernel)
    return findings


def kernel_findings(
    source: KernelSource, language: str, decorator: str, is_kernel: IsKernel, inside: IsKernel | None = None
) -> tuple[Finding, ...]:
    """Findings where kernels are Python functions under a decorator, of which there is one if anything is computed.

    `inside`: what is not read, where that is more than kernels. Codes begin with the language.
    """
    findings = python_findings(source, prefix := language.upper(), inside or is_kernel)
    trees = python_trees(source)
    if trees and not any(is_kernel(node) for tree in trees for node in ast.walk(tree)) and not only_views(source):
        findings.append(
            Finding(
                code=f"{prefix}104",
                message=f"There is no {language} kernel: no function is decorated with {decorator}.",
                suggestion=f"Write the computation as a function under @{decorator} and launch it in forward.",
            )
        )
    return tuple(findings)


def is_decorated(node: ast.AST, by: str) -> TypeGuard[ast.FunctionDef]:
    """Whether a node is a function with a decorator in whose text `by` is."""
    return isinstance(node, ast.FunctionDef) and any(by in ast.unparse(each) for each in node.decorator_list)


def python_trees(source: KernelSource) -> list[ast.Module]:
    """The Python files that parse, the entry file first."""
    trees = []
    for name in _python_files(source):
        try:
            trees.append(module_of(source.files[name]))
        except SyntaxError:
            continue  # python_findings says so
    return trees


def only_views(source: KernelSource) -> bool:
    """Whether all that forward calls are checks, views and allocations: there is nothing for a kernel to compute."""
    try:
        forward = _forward(_model_new(module_of(source.files[source.entry])))
    except SyntaxError:
        return False
    if forward is None:
        return False
    called = [node.func for node in ast.walk(forward) if isinstance(node, ast.Call)]
    names = [f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else "" for f in called]
    return _VIEWS.issuperset(names)


def _python_files(source: KernelSource) -> list[str]:
    """Names of the kernel's own Python files: the reference's text beside them is not the kernel's."""
    own = [name for name in source.files if name.endswith(".py") and name not in (source.entry, "reference.py")]
    return [source.entry, *own]


def _model_new(tree: ast.Module) -> ast.ClassDef | None:
    return next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ModelNew"), None)


def _forward(model: ast.ClassDef | None) -> ast.FunctionDef | None:
    body = model.body if model else []
    return next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == "forward"), None)


def _structure(name: str, tree: ast.Module, prefix: str) -> Iterator[Finding]:
    model = _model_new(tree)
    if model is None:
        yield Finding(
            code=f"{prefix}102",
            message=f"{name} defines no class ModelNew.",
            suggestion="Define class ModelNew(Model) with the constructor and forward of Model.",
        )
    elif _forward(model) is None:
        yield Finding(
            code=f"{prefix}103",
            message="ModelNew has no forward of its own, so that it is the reference.",
            line=model.lineno,
            suggestion="Give it a forward that launches the kernels.",
        )


def _forbidden(name: str, tree: ast.Module, prefix: str, is_kernel: IsKernel) -> Iterator[Finding]:
    imported = _imported(tree)
    for node in _outside(tree, is_kernel):
        if isinstance(node, ast.Try):
            yield Finding(
                code=f"{prefix}201",
                message=f"{name} has a try block, which can hide a kernel that fails behind something else.",
                line=node.lineno,
                column=node.col_offset + 1,
                suggestion="Let errors out.",
            )
        elif isinstance(node, ast.Call | ast.BinOp) and (called := _library_call(node, imported)):
            yield Finding(
                code=f"{prefix}202",
                message=f"{name} computes with the library: {called}.",
                line=node.lineno,
                column=node.col_offset + 1,
                suggestion="Compute it in a kernel; Python may only check, allocate, view and launch.",
            )


def _outside(tree: ast.AST, is_kernel: IsKernel) -> Iterator[ast.AST]:
    """Every node that is not inside of a kernel, in the order of the text, however deep it lies."""
    waiting = [ast.iter_child_nodes(tree)]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
        elif not is_kernel(node):
            yield node
            waiting.append(ast.iter_child_nodes(node))


def _library_call(node: ast.Call | ast.BinOp, imported: dict[str, str]) -> str:
    """The library operator that a call or an operator computes with, as it is written; "" when it is none."""
    if isinstance(node, ast.BinOp):
        return "`@`" if isinstance(node.op, ast.MatMult) else ""
    names = _path(node.func)
    if not names:  # x.softmax(1).sum(): a method of whatever an expression gives
        return f".{node.func.attr}" if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS else ""
    written = ".".join(names)
    meant = ".".join([imported.get(names[0], names[0]), *names[1:]])
    if meant.startswith("torch.return_types."):
        return ""  # a named tuple, which holds results
    if meant.startswith(_WHOLLY):
        return written
    if meant.startswith("torch."):
        return written if meant.rpartition(".")[2] in _FUNCTIONS else ""
    if names[0] in imported:
        return ""  # another module's
    return written if len(names) > 1 and names[-1] in _METHODS else ""


def _imported(tree: ast.Module) -> dict[str, str]:
    """From each name that an import binds to what it stands for: `F` to `torch.nn.functional`."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                names[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module or ''}.{alias.name}" for alias in node.names}
    return names


def _path(node: ast.expr) -> list[str]:
    """`a.b.c` as its names, `super().b` as "super" and "b"; empty when it starts with another expression."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        node = node.func
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []

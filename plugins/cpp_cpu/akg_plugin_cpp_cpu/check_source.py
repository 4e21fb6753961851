"""What a kernel of this plugin must have and must not do, found by reading its source.

The judge's guard catches what runs; this catches it earlier, with the line and what to do instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from akg_core.records import Finding, KernelSource

# Operators of torch that compute. The guard of the judge knows them all; these are the usual ones.
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
# What forward may call where there is no kernel: the host's own checks, views, and fresh tensors.
_CHECKS = "_tensor _state _shape _constant"
_MOVES = "view permute narrow expand slice empty zeros full tensor"
_VIEWS = frozenset(f"{_CHECKS} {_MOVES}".split())
_LIBRARIES = re.compile(r'#\s*include\s*[<"](torch|ATen|c10|mkl|cblas|openblas|dnnl|oneapi|Eigen)[/._>"]')
_KERNEL = re.compile(r'extern\s+"C"\s*(\{|[^;{]*\bvoid\s+\w+\s*\()')


def check_source(source: KernelSource) -> tuple[Finding, ...]:
    """Findings in the entry file, the other Python files and the C++ files, in this order."""
    findings = [*_entry(source)]
    for name, text in source.files.items():
        if name.endswith(".py") and name != "reference.py":
            findings += _python(name, text, is_entry=name == source.entry)
    findings += _cpp(source)
    return tuple(findings)


def _entry(source: KernelSource) -> Iterator[Finding]:
    try:
        tree = ast.parse(source.files[source.entry])
    except SyntaxError as error:
        yield Finding(code="CPP101", message=f"{source.entry} does not parse: {error.msg}.", line=error.lineno or 0)
        return
    models = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ModelNew"]
    if not models:
        yield Finding(
            code="CPP102",
            message=f"{source.entry} defines no class ModelNew.",
            suggestion="Define class ModelNew(Model) with the constructor and forward of Model.",
        )
    elif not any(isinstance(node, ast.FunctionDef) and node.name == "forward" for node in models[0].body):
        yield Finding(
            code="CPP103",
            message="ModelNew has no forward of its own, so that it is the reference.",
            line=models[0].lineno,
            suggestion="Give it a forward that launches the kernels.",
        )


def _python(name: str, text: str, is_entry: bool) -> Iterator[Finding]:
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        if not is_entry:
            yield Finding(code="CPP101", message=f"{name} does not parse: {error.msg}.", line=error.lineno or 0)
        return
    functional = _functional_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            yield Finding(
                code="CPP201",
                message=f"{name} has a try block, which can hide a kernel that fails behind something else.",
                line=node.lineno,
                column=node.col_offset + 1,
                suggestion="Let errors out.",
            )
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield _library(name, node, "`@`")
        elif isinstance(node, ast.Call) and (called := _library_call(node, functional)):
            yield _library(name, node, called)


def _library_call(node: ast.Call, functional: set[str]) -> str:
    """The name of the library operator that a call computes with, "" when it is none."""
    path = _path(node.func)
    if not path:  # x.softmax(1).sum(): a method of whatever an expression gives
        return f".{node.func.attr}" if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS else ""
    whole, name = ".".join(path), path[-1]
    if whole.startswith("torch.return_types."):
        return ""  # a named tuple, which holds results
    if path[0] in functional or whole.startswith(("torch.ops.", "torch.nn.functional.", "super.")):
        return whole
    if path[0] == "torch":
        return whole if name in _FUNCTIONS else ""
    if path[0] in ("math", "np", "numpy"):
        return ""
    return whole if len(path) > 1 and name in _METHODS else ""


def _functional_names(tree: ast.Module) -> set[str]:
    """Names under which torch.nn.functional, or a function of it, was imported."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname for alias in node.names if alias.asname and alias.name == "torch.nn.functional"}
        elif isinstance(node, ast.ImportFrom) and node.module in ("torch.nn", "torch.nn.functional"):
            whole = node.module == "torch.nn.functional"
            names |= {alias.asname or alias.name for alias in node.names if whole or alias.name == "functional"}
    return names


def _path(node: ast.expr) -> list[str]:
    """`a.b.c` as its names; empty when it starts with something else than a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        return ["super", *reversed(names)]
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def _library(name: str, node: ast.expr, called: str) -> Finding:
    return Finding(
        code="CPP202",
        message=f"{name} computes with the library: {called}.",
        line=node.lineno,
        column=node.col_offset + 1,
        suggestion="Compute it in a kernel; Python may only check, allocate, view and launch.",
    )


def _only_views(entry: str) -> bool:
    """Whether all that forward calls are checks, views and allocations: there is nothing to compute."""
    try:
        tree = ast.parse(entry)
    except SyntaxError:
        return False
    models = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ModelNew"]
    forwards = [n for m in models for n in m.body if isinstance(n, ast.FunctionDef) and n.name == "forward"]
    called = [n.func for f in forwards for n in ast.walk(f) if isinstance(n, ast.Call)]
    names = [f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else "" for f in called]
    return bool(forwards) and _VIEWS.issuperset(names)


def _cpp(source: KernelSource) -> Iterator[Finding]:
    texts = {name: text for name, text in source.files.items() if name.endswith((".cpp", ".hpp", ".h", ".cc"))}
    has_kernel = any(_KERNEL.search(text) for name, text in texts.items() if name.endswith(".cpp"))
    if not has_kernel and not _only_views(source.files[source.entry]):
        yield Finding(
            code="CPP301",
            message='No .cpp file has a kernel: a function with extern "C".',
            suggestion='Write extern "C" void akg_NAME(void* const* tensors, const std::int64_t* sizes) in kernel.cpp.',
        )
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if match := _LIBRARIES.search(line):
                yield Finding(
                    code="CPP302",
                    message=f"{name} includes {match[1]}, a library that does the kernel's work or is not linked.",
                    line=number,
                    suggestion="Use the headers akg/*.hpp.",
                )

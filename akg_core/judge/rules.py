"""What the Python text of a kernel must not name: libraries that compute for it, and switches of the guard.

Read before anything of the kernel runs. The guard sees what is called under other names, as far as it is torch's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

LIBRARIES = frozenset(
    {"scipy", "numexpr", "jax", "tensorflow", "onnxruntime", "sklearn", "pandas", "torchvision", "torchaudio"}
    | {"cupy", "cupyx", "flash_attn", "xformers", "nvmath", "tensorrt", "transformer_engine", "onnxscript"}
)
_SWITCHES = frozenset(
    {
        "_DisableTorchDispatch",
        "_disable_profiler",
        "_enable_profiler",
        "_enable_record_function",
        "_pop_torch_dispatch_stack",
        "_pop_mode",
    }
)
_TYPES = frozenset(
    {"ctypeslib", "dtype", "ndarray", "float16", "float32", "float64", "bool_"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
"""What of numpy describes memory and computes nothing."""


def broken_rule(folder: Path, reference: str) -> str:
    """The first rule that a Python file of the kernel breaks, with its place; "" when there is none.

    A copy of the reference's own text is not the kernel's.
    """
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if text == reference:
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue  # it will not import, which is told then
        place = f"in {path.name}, line"
        for line, name in _names(tree):
            if name in _SWITCHES:
                return f"switches the guard off: {name} {place} {line}"
            if name in LIBRARIES:
                return f"another library: {name} {place} {line}"
        for line in _numpy(tree):
            return f"another library: numpy {place} {line}"
    return ""


def _names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Each name in question with its line: packages imported, attributes, and strings that could be either."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
            case ast.ImportFrom(level=0):
                yield node.lineno, (node.module or "").partition(".")[0]
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.Attribute():
                yield node.lineno, node.attr
            case ast.Constant(value=str(text)):
                yield node.lineno, text
            case ast.BinOp(op=ast.Add(), lineno=line) if text := _joined(node):
                yield line, text


def _joined(node: ast.AST) -> str:
    """The text that a sum of strings is; "" when it is something else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            parts = [_joined(left), _joined(right)]
            return "".join(parts) if all(parts) else ""
    return ""


def _numpy(tree: ast.AST) -> Iterator[int]:
    """Lines on which numpy does more than say where memory is and of which type: `x.numpy().ctypes`, `np.float32`."""
    aliases, addresses = set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                aliases |= {a.asname or a.name for a in node.names if a.name.partition(".")[0] == "numpy"}
            case ast.Attribute(attr="ctypes" | "__array_interface__", value=ast.Call(func=made)):
                addresses.add(made)
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] == "numpy":
                if any(alias.name not in _TYPES for alias in node.names):
                    yield node.lineno
            case ast.Attribute(value=ast.Name(id=name)) if name in aliases and node.attr not in _TYPES:
                yield node.lineno
            case ast.Attribute(attr="numpy" | "__array__") if node not in addresses:
                yield node.lineno
            case ast.Call(args=[ast.expr(), name, *_]) if _joined(name) in ("numpy", "__array__"):  # getattr
                yield node.lineno

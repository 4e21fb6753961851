"""What the Python text of a kernel must not name: libraries that compute for it, and switches of the guard.

Read before anything of the kernel runs. The guard sees what is called under other names, as far as it is torch's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from akg_core.judge.source.belongings import Nodes, TooMuchText, joined, own_files
from akg_core.judge.source.imports import allowed, imported, is_there, lies_in

LIBRARIES = frozenset(
    {"scipy", "numexpr", "jax", "tensorflow", "onnxruntime", "sklearn", "pandas", "torchvision", "torchaudio"}
    | {"cupy", "cupyx", "flash_attn", "xformers", "nvmath", "tensorrt", "transformer_engine", "onnxscript"}
)
LIBRARY_KERNELS = re.compile(r"torch\.(sparse\._triton_ops|_inductor\.kernel|_native\.ops\.[\w.]*kernel)")
"""Modules of torch that are kernels in a language that kernels are written in, too: they are no operators."""
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
_WORD = re.compile(r"\w+")
_TYPES = frozenset(
    {"ctypeslib", "dtype", "ndarray", "float16", "float32", "float64", "bool_"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
"""What of numpy describes memory and computes nothing."""

COPIES_ONLY = "has little but copies of the library as its work"


def broken_rule(folder: Path, reference: str, entry: str = "model_new.py", modules: Iterable[str] = ()) -> str:
    """The first rule that a file of the kernel breaks, with its place; "" when there is none.

    A copy of the reference's own text is not the kernel's. `modules`: what its language is imported by.
    """
    try:
        return _broken_rule(folder, reference, entry, frozenset(modules))
    except TooMuchText as error:
        return f"has more Python text than is read: {error}"


def _broken_rule(folder: Path, reference: str, entry: str, modules: frozenset[str]) -> str:
    known = allowed(modules, reference)
    for path, text, nodes in own_files(folder, entry):
        if text == reference:
            continue
        place = f"in {path.name}, line"
        for line, name in _names(nodes):
            if name in _SWITCHES:
                return f"switches the guard off: {name} {place} {line}"
            if name in LIBRARIES - modules or LIBRARY_KERNELS.match(name):
                return f"another library: {name} {place} {line}"
        for line, name in imported(nodes):
            if name not in known and not lies_in(folder, name) and is_there(name):
                return f"another library: {name} {place} {line}"
        for line in _numpy(nodes):
            return f"another library: numpy {place} {line}"
    return ""


def _names(nodes: Nodes) -> Iterator[tuple[int, str]]:
    """Each name in question with its line: packages imported, attributes, and strings that could be either."""
    for node in nodes:
        match node:
            case ast.Import():
                yield from ((node.lineno, name) for alias in node.names for name in (alias.name, _first(alias.name)))
            case ast.ImportFrom(level=0, module=str(module)):
                yield node.lineno, _first(module)
                yield from ((node.lineno, name) for a in node.names for name in (a.name, f"{module}.{a.name}"))
            case ast.Attribute():
                yield node.lineno, node.attr
            case ast.Constant(value=str(text)):
                yield node.lineno, text
                yield from ((node.lineno, word) for word in _WORD.findall(text) if word in _SWITCHES)
            case ast.BinOp(op=ast.Add(), lineno=line) if text := joined(node):
                yield line, text


def _first(module: str) -> str:
    return module.partition(".")[0]


def _numpy(nodes: Nodes) -> Iterator[int]:
    """Lines on which numpy does more than say where memory is and of which type: `x.numpy().ctypes`, `np.float32`."""
    aliases, addresses = set(), set()
    for node in nodes:
        match node:
            case ast.Import():
                aliases |= {a.asname or a.name for a in node.names if a.name.partition(".")[0] == "numpy"}
            case ast.Attribute(attr="ctypes" | "__array_interface__", value=ast.Call(func=made)):
                addresses.add(made)
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] == "numpy":
                if any(alias.name not in _TYPES for alias in node.names):
                    yield node.lineno
            case ast.Attribute(value=ast.Name(id=name)) if name in aliases and node.attr not in _TYPES:
                yield node.lineno
            case ast.Attribute(attr="numpy" | "__array__") if node not in addresses:
                yield node.lineno
            case ast.Call(args=[ast.expr(), name, *_]) if joined(name) in ("numpy", "__array__"):  # getattr
                yield node.lineno

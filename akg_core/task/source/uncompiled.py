"""Reference files that use `torch.compile`: what they compute is asked for, so that functions stay as they are written.

A decorator leaves empty lines, and `torch.compile(f, …)` becomes `(f)`, on lines with the same numbers.
"""

from __future__ import annotations

import ast


def uncompiled(source: str) -> str:
    """The text of a reference file without `torch.compile`; as it is where it is no Python."""
    text = source.encode()
    while b"torch.compile" in text and (found := _first(text)):
        begin, end, instead = found
        lines = b"\n" * (text[begin:end].count(b"\n") - instead.count(b"\n"))
        text = text[:begin] + (b"(" + instead + lines + b")" if instead else lines) + text[end:]
    return text.decode()


def _first(text: bytes) -> tuple[int, int, bytes] | None:
    """Where one use is, in bytes, and what stands there instead, in parentheses, if anything."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None  # which is said when it is run
    starts = [0]
    for line in text.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)

    def place(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    for node in ast.walk(tree):
        for decorator in getattr(node, "decorator_list", ()):
            if _is_compile(decorator.func if isinstance(decorator, ast.Call) else decorator):
                begin, end = place(decorator)
                return text.rindex(b"@", 0, begin), end, b""
        if isinstance(node, ast.Call) and _is_compile(node.func) and len(node.args) == 1:
            return *place(node), text[slice(*place(node.args[0]))]
    return None


def _is_compile(node: ast.expr) -> bool:
    return ast.unparse(node) == "torch.compile"

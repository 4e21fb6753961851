"""The last touch on a kernel: what nothing reads goes."""

from __future__ import annotations

from dataclasses import replace

from akg_core.sketch import ast

Body = tuple[ast.Statement, ...]


def without_unread(body: Body) -> Body:
    """The statements less assignments to names that nothing reads, and loops that are left with nothing to do."""
    while True:
        read = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
        kept = _kept(body, read)
        if kept == body:
            return body
        body = kept


def _kept(body: Body, read: set[str]) -> Body:
    found: list[ast.Statement] = []
    for node in body:
        match node:
            case ast.Assign(targets=targets) if read.isdisjoint(targets):
                continue
            case ast.Grid() | ast.Tiles() | ast.Range():
                inner = _kept(node.body, read)
                found += [replace(node, body=inner)] if inner else []
            case ast.If():
                inner, other = _kept(node.body, read), _kept(node.orelse, read)
                found += [replace(node, body=inner, orelse=other)] if inner or other else []
            case _:
                found.append(node)
    return tuple(found)

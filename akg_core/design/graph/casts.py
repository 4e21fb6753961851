"""What values are below casts."""

from __future__ import annotations

from dataclasses import replace

from akg_core.design.graph.values import NARROW, Pointwise, Value, View


def uncast(value: Value) -> Value:
    """What `value` is a wider form of, below views and copies; itself where it is none."""
    match value:
        case View(arg=arg):
            inner = uncast(arg)
            return value if inner is arg else replace(value, arg=inner, dtype=inner.dtype)
        case Pointwise(op="copy", args=(arg,)):
            inner = uncast(arg)
            return value if inner is arg else inner
        case Pointwise(op="cast", dtype="f32", args=(arg,)) if arg.dtype in NARROW:
            return arg
        case Pointwise(op="cast", dtype="i32", args=(arg,)) if arg.dtype == "i8":
            return arg
    return value

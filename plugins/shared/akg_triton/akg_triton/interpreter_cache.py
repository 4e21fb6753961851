"""Makes Triton's interpreter quick: what it works out anew for every operation is kept.

Most of the time of an interpreted operation goes into descriptions of types and shapes, of which a kernel has few, and
into looking for overflows of whole numbers, which wrap around on a chip.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def cache_types(interpreter: Any, tl: Any) -> None:
    """Have the interpreter of this process keep what it knows of types and shapes, and let whole numbers overflow."""
    object.__setattr__(interpreter.interpreter_builder.options, "sanitize_overflow", False)
    interpreter._get_np_dtype = _kept(interpreter._get_np_dtype, lambda dtype: dtype.name)
    _keep_attributes(tl.core.block_type, lambda scalar, shape: (scalar.name, *map(int, shape)))
    _keep_attributes(tl.core.tensor, lambda handle, type: type.name, own="handle")


def patch_once(interpreter: Any) -> None:
    """Have what functions see of the language be patched once in a launch, not again by each function they call."""
    patch = interpreter._patch_lang
    held: dict[int, Any] = {}  # by what functions see: what ends the patch
    depth = 0

    def restore() -> None:
        nonlocal depth
        depth -= 1
        while held and not depth:
            held.popitem()[1].restore()

    def patched(function: Any) -> Any:
        nonlocal depth
        seen = id(function.__globals__)
        if seen not in held:
            held[seen] = patch(function)
        depth += 1
        return SimpleNamespace(restore=restore)

    interpreter._patch_lang = patched


def _kept(function: Callable[[Any], Any], key: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function, which is asked once for all arguments that have the same key."""
    known: dict[Any, Any] = {}

    def answer(argument: Any) -> Any:
        name = key(argument)
        if name not in known:
            known[name] = function(argument)
        return known[name]

    return answer


def _keep_attributes(kind: Any, key: Callable[..., Any], own: str = "") -> None:
    """Let objects of a class that are made with the same key share their attributes but `own`, the first argument."""
    known: dict[Any, dict[str, Any]] = {}
    make = kind.__init__

    def __init__(self: Any, first: Any, second: Any) -> None:
        name = key(first, second)
        if name not in known:
            make(self, first, second)
            known[name] = dict(self.__dict__)
        self.__dict__.update(known[name])
        if own:
            setattr(self, own, first)

    kind.__init__ = __init__

"""How results are handed back, as Python text."""

from __future__ import annotations

from collections.abc import Iterator

from akg_core.lower.host.checks import python_tuple
from akg_core.records import NAMED_IN_REFERENCE, Interface, Packing


def packed(form: Interface | Packing, results: Iterator[str]) -> str:
    """The expression that packs results, in their order, as `form` says; one that has no parts takes all of them."""
    if form.packing in ("tensor", "constant"):
        return next(results) if form.packing == "tensor" else form.constant
    items = [packed(part, results) for part in form.parts] or list(results)
    match form.packing:
        case "list":
            return f"[{', '.join(items)}]"
        case "dict":
            pairs = list(zip(form.keys, items, strict=True))
            if form.named:
                return f"{form.named}({', '.join(f'{key}={item}' for key, item in pairs)})"
            return f"{{{', '.join(f'{key!r}: {item}' for key, item in pairs)}}}"
    starred = "*" if form.named.startswith(NAMED_IN_REFERENCE) else ""
    return f"{form.named}({starred}{python_tuple(items)})" if form.named else python_tuple(items)

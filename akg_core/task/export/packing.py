"""How the outputs of forward are packed: tuples, lists, dicts, named tuples, dataclasses of each other. Worker side."""

from __future__ import annotations

import dataclasses
import sys
from collections import namedtuple
from collections.abc import Iterator

from torch.utils._pytree import TreeSpec

from akg_core.errors import TaskError
from akg_core.records import NAMED_IN_REFERENCE, Packing
from akg_core.task.source.load import is_reference


def packing(file: str, spec: TreeSpec, constants: Iterator[str]) -> Packing:
    """How outputs are packed, collections in collections included; `constants`: for each leaf the text of what is the
    same in every call, "" for a tensor."""
    if spec.is_leaf():
        constant = next(constants)
        return Packing(packing="constant", constant=constant) if constant else Packing()
    parts = tuple(packing(file, child, constants) for child in spec.children())
    kind = spec.type
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and (named := name_in_reference(kind)):
        given, absent = spec.context
        parts += tuple(Packing(packing="constant") for _ in absent)
        return Packing(packing="dict", keys=(*given, *absent), named=named, parts=parts)
    if isinstance(kind, type) and issubclass(kind, dict):
        keys = spec.context if isinstance(spec.context, list) else list(spec.context[1])
        return Packing(packing="dict", keys=tuple(str(key) for key in keys), parts=parts)
    if isinstance(kind, type) and kind.__module__ == "torch.return_types":
        return Packing(packing="tuple", named=f"torch.return_types.{kind.__name__}", parts=parts)
    if kind is namedtuple and (named := name_in_reference(spec.context)):
        return Packing(packing="tuple", named=named, parts=parts)
    if kind not in (tuple, list):
        name = getattr(spec.context if kind is namedtuple else kind, "__name__", "collection")
        raise TaskError(
            f"{file}: forward returns a {name}, a type of its own.", "Return a plain tuple, list or dict of tensors."
        )
    return Packing(packing="tuple" if kind is tuple else "list", parts=parts)


def name_in_reference(kind: type) -> str:
    """How the module of a kernel calls a type that stands in the reference file; "" for any other."""
    found = getattr(sys.modules.get(kind.__module__), kind.__name__, None)
    return f"{NAMED_IN_REFERENCE}{kind.__name__}" if found is kind and is_reference(kind.__module__) else ""


def has_named(form: Packing) -> bool:
    """Whether a type of the reference file is among what forward gives."""
    return form.named.startswith(NAMED_IN_REFERENCE) or any(map(has_named, form.parts))

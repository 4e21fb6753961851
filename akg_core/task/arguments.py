"""The arguments of forward one by one: collections that hold tensors are taken apart, so that each tensor has a name.

Worker side. A collection without tensors is one value: kernels are made for it as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from akg_core.dtypes import DTYPES
from akg_core.errors import TaskError
from akg_core.records import Argument, Interface
from akg_core.task.graph import COMPLEX, DTYPE

Path = tuple[str | int, ...]
_COLLECTIONS = (list, tuple, dict, torch.Size)
_PLAIN = (bool, int, float, str, torch.dtype)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that forward takes, and how it is reached: ("xs", 1) is xs[1]. `given`: by get_inputs, not by default."""

    name: str
    path: Path
    value: Any
    given: bool = True


def leaves(names: Sequence[str], values: Sequence[Any], given: int) -> list[Leaf]:
    """The leaves of the parameters of forward, of which get_inputs gives so many; their names are all different."""
    found: list[Leaf] = []
    taken = set(names)
    for place, (parameter, value) in enumerate(zip(names, values, strict=True)):
        for path, leaf in _walk(value, (parameter,)):
            name = "_".join(re.sub(r"\W", "_", str(part)) for part in path)
            while len(path) > 1 and name in taken:
                name += "_"
            taken.add(name)
            found.append(Leaf(name, path, leaf, place < given))
    return found


def flat(arguments: Sequence[Argument], inputs: Sequence[Any]) -> list[Any]:
    """The value of each argument among the inputs that get_inputs gives; of others their default."""
    values = [leaf for value in inputs for _, leaf in _walk(value, ())]
    return values + [argument.value for argument in arguments[len(values) :]]


def rebuilt(inputs: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The inputs with other leaves, given in the order of `flat`; more than there are places for are left over."""
    left = iter(values)
    return [_mapped(value, lambda _: next(left)) for value in inputs]


def holding(inputs: Sequence[Any], held: Mapping[int, Any]) -> list[Any]:
    """The inputs with tensors that hold this, nested lists by places in the order of `flat`."""
    if not held:
        return list(inputs)
    values = flat((), inputs)
    for place, content in held.items():
        values[place] = filled(values[place], content)
    return rebuilt(inputs, values)


def filled(tensor: torch.Tensor, content: Any) -> torch.Tensor:
    """A tensor like this one that holds nested lists."""
    return torch.tensor(content, dtype=tensor.dtype, device=tensor.device).reshape(tuple(tensor.shape))


def tables(interface: Interface) -> dict[str, torch.Tensor]:
    """The tensors that forward makes of Python's numbers, by their names as parameters."""
    found = (p for p in interface.parameters if p.kind == "numbers")
    return {p.name: torch.tensor(p.value, dtype=getattr(torch, DTYPES[p.dtype].torch)) for p in found}


def portable(value: Any) -> Any:
    """A plain value as JSON can hold it; raises TypeError with the name of the type of one that is not plain."""
    if isinstance(value, torch.SymInt):
        return int(value)
    if isinstance(value, torch.dtype):
        return {DTYPE: str(value).removeprefix("torch.")}
    if type(value) is complex:
        return {COMPLEX: [value.real, value.imag]}
    if value is None or type(value) in _PLAIN:
        return value
    if type(value) in (list, tuple, torch.Size):
        return [portable(item) for item in value]
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {key: portable(item) for key, item in value.items()}
    raise TypeError(type(value).__name__)


def require_apart(file: str, found: Sequence[Leaf], updated: Sequence[str]) -> None:
    """Raise TaskError where an argument that forward updates lies in the memory of another."""
    storages = {leaf.name: leaf.value.untyped_storage() for leaf in found if isinstance(leaf.value, torch.Tensor)}
    for name in updated:
        shared = [o for o, storage in storages.items() if o != name and storage._cdata == storages[name]._cdata]
        if shared:
            raise TaskError(
                f"{file}: forward updates its argument {name}, whose memory is also that of {shared[0]}.",
                "Give each of them a tensor of its own (clone).",
            )


def _walk(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if _is_taken_apart(value):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _walk(item, (*path, key))
    else:
        yield path, value


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if not _is_taken_apart(value):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    return type(value)(_mapped(item, change) for item in value)


def _is_taken_apart(value: Any) -> bool:
    return type(value) in (list, tuple, dict) and _holds_tensor(value)


def _holds_tensor(value: Any) -> bool:
    if type(value) in _COLLECTIONS:
        return any(map(_holds_tensor, value.values() if isinstance(value, dict) else value))
    return isinstance(value, torch.Tensor)

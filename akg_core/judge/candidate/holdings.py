"""What a foreign module holds, its parameters and buffers, read and written without calling anything of the module's.

Worker side, in the candidate's own process. A module may define what it likes under every name that `nn.Module` has;
only its own dictionary is looked into, by functions that were taken here before any foreign code was loaded.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from akg_core.device import Device
from akg_core.judge.compare.bits import flatten, same_bits
from akg_core.worker.answers import COUNT, DEPTH, described
from akg_core.worker.tensors import taken

_inside = vars(nn.Module)["__dict__"].__get__
_items, _get = dict.items, dict.get
_set_data = vars(torch._C.TensorBase)["data"].__set__
_asks_for_gradients = vars(torch._C.TensorBase)["requires_grad"].__get__
_data, _without_overrides = vars(torch._C.TensorBase)["data"].__get__, torch._C.DisableTorchFunction


def held(model: nn.Module, device: Device) -> dict[str, torch.Tensor]:
    """Parameters and buffers by qualified name, those that no state dict holds too, as tensors of ours on their memory.

    Raises TypeError where one is no plain tensor.
    """
    found = {name: tensor for name, tensor, _ in _walk(model)}
    table = described(found)["tensors"]
    return {name: taken(told, device) for name, told in zip(found, table, strict=True)}


def parameters(model: nn.Module) -> list[torch.Tensor]:
    """Parameters and buffers themselves."""
    return [tensor for _, tensor, _ in _walk(model)]


def marks(model: nn.Module, arguments: Sequence[Any]) -> dict[Any, Any]:
    """Which parameters and tensors among arguments ask for gradients, and which modules are in training mode; a module
    by where it keeps what it has."""
    given = {name: value for name, value in flatten(arguments).items() if isinstance(value, torch.Tensor)}
    tensors = {**given, **{f"state {name}": tensor for name, tensor, _ in _walk(model)}}
    asking = {name: _asks_for_gradients(tensor) for name, tensor in tensors.items()}
    return {**asking, **{id(inside): _get(inside, "training") for inside in _modules(model)}}


def transient(model: nn.Module) -> dict[str, torch.Tensor]:
    """Copies of the buffers that no state dict holds."""
    return {name: tensor.clone() for name, tensor, persists in _ours(model) if not persists}


def entries(model: nn.Module, names: Sequence[str]) -> list[tuple[Mapping[str, Any], str]]:
    """Where a module holds the parameters and buffers of these names: in which dictionary, by which key.

    Raises TypeError where it holds none of a name.
    """
    found = {name: (holder, key) for name, holder, key, _ in _places(model)}
    if missing := [name for name in names if name not in found]:
        raise TypeError(f"ModelNew has no parameter or buffer {missing[0]}")
    return [found[name] for name in names]


def put(model: nn.Module, state: Mapping[str, torch.Tensor], others: Mapping[str, torch.Tensor]) -> None:
    """Have a module hold a state, and what `transient` gave. No tensor counts that as a write, as `data` does not
    either: who has prepared something from a parameter goes by what it holds.

    Raises RuntimeError where the module's parameters and buffers are not the state's.
    """
    own = list(_ours(model))
    mine = {name: tensor for name, tensor, persists in own if persists or name in state}
    if state:
        _require_alike(mine, state)
        if not same_bits(dict(state), mine):
            for name, value in state.items():
                mine[name].copy_(value)
    for name, tensor, _ in own:
        before = None if name in state else others.get(name)
        if before is not None and before.shape == tensor.shape and not same_bits(before, tensor):
            tensor.copy_(before)


def move(model: nn.Module, placed: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Give each parameter and buffer the memory that `placed` makes of it, but those that share theirs."""
    ours = list({id(tensor): tensor for tensor in parameters(model)}.values())
    described(ours)  # which refuses what is no plain one
    with _without_overrides():
        places = [_data(tensor).untyped_storage().data_ptr() for tensor in ours]
        known = Counter(places)
        for tensor, place in zip(ours, places, strict=True):
            if known[place] == 1:
                _set_data(tensor, placed(_data(tensor)))


def _require_alike(mine: Mapping[str, torch.Tensor], state: Mapping[str, torch.Tensor]) -> None:
    for name in state.keys() ^ mine.keys():
        one, other = ("ModelNew", "Model") if name in mine else ("Model", "ModelNew")
        raise RuntimeError(f"{one} has the parameter or buffer {name}, and {other} has not")
    for name, value in state.items():
        for what, due, found in (("dtype", value.dtype, mine[name].dtype), ("shape", value.shape, mine[name].shape)):
            if due != found:
                raise RuntimeError(f"{name} has the {what} {found} in ModelNew and {due} in Model")


def _ours(model: nn.Module) -> Iterator[tuple[str, torch.Tensor, bool]]:
    """Each parameter and buffer, as a tensor of ours that shares its memory, and not its count of writes."""
    for name, tensor, persists in _walk(model):
        described(tensor)  # which refuses what is no plain one
        with _without_overrides():
            yield name, _data(tensor), persists


def _walk(model: nn.Module) -> Iterator[tuple[str, torch.Tensor, bool]]:
    """Each parameter and buffer with its name, and whether a state dict holds it."""
    for name, holder, key, persists in _places(model):
        yield name, holder[key], persists


def _places(model: nn.Module, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, dict[str, Any], str, bool]]:
    """Of each parameter and buffer its name, which dictionary holds it, by which key, and whether a state dict does."""
    if depth > DEPTH:
        raise TypeError(f"its modules lie more than {DEPTH} deep")
    inside = _inside(model)
    for part in ("_parameters", "_buffers"):
        passing = _passing(inside) if part == "_buffers" else frozenset()
        for name, tensor in _entries(inside, part):
            if tensor is not None:
                yield prefix + name, inside[part], name, name not in passing
    for name, module in _entries(inside, "_modules"):
        if module is not None:
            yield from _places(module, f"{prefix}{name}.", depth + 1)


def _modules(model: nn.Module) -> Iterator[dict[str, Any]]:
    """What each module has, the whole one first; `_places` has found that they do not lie too deep."""
    yield (inside := _inside(model))
    for _, module in _entries(inside, "_modules"):
        if module is not None:
            yield from _modules(module)


def _entries(inside: dict[str, Any], part: str) -> list[tuple[str, Any]]:
    entries: Any = _get(inside, part)
    if type(entries) not in (dict, OrderedDict) or len(entries) > COUNT:
        raise TypeError(f"a module's {part} are not a dict, or too many")
    return [(name, value) for name, value in list(_items(entries)) if type(name) is str]


def _passing(inside: dict[str, Any]) -> frozenset[str]:
    """Names of the buffers that no state dict holds."""
    names: Any = _get(inside, "_non_persistent_buffers_set")
    return frozenset(name for name in list(names) if type(name) is str) if type(names) is set else frozenset()

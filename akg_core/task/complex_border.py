"""Complex tensors at the border of a forward, as kernels take and give them: pairs of real numbers.

Unsigned whole numbers of more than 8 bits go in likewise, as signed ones of the same bits. Worker side. A module, be it
the reference's or a kernel's, is called with real tensors of one dim more, as `torch.view_as_real` makes them, and
gives and holds such; inside its own forward everything is complex as ever. So whoever draws, compares or hands on
tensors meets real ones only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from akg_core.task.arguments import flat, rebuilt
from akg_core.task.unsigned import SIGNED, UNSIGNED, is_unsigned
from akg_core.worker.tensors import transform

_KEPT = "_akg_pairs"  # of a module: the places of complex arguments, the names of complex tensors that it holds


def as_pairs(model: nn.Module, places: Sequence[int]) -> nn.Module:
    """The module with real tensors for its complex ones, as its forward then takes and gives them.

    `places`: the complex arguments, counted as the interface's are.
    """
    made: dict[int, torch.Tensor] = {}  # what is held twice stays one tensor
    names = []
    for prefix, module in model.named_modules():
        for store in (module._parameters, module._buffers, vars(module)):
            for key, value in store.items():
                if isinstance(value, torch.Tensor) and value.is_complex():
                    store[key] = made.setdefault(id(value), _real_state(value))
                    names.append(f"{prefix}.{key}".removeprefix("."))
    vars(model)[_KEPT] = tuple(places), tuple(names)
    model.__class__ = _class_of_pairs(type(model))
    return model


def held(model: nn.Module) -> tuple[str, ...]:
    """The qualified names of the complex tensors that a module of pairs holds; none of any other module."""
    return vars(model).get(_KEPT, ((), ()))[1]


def holds_complex(model: nn.Module) -> bool:
    """Whether a module has complex parameters, buffers or plain attributes."""
    stores = (store for m in model.modules() for store in (m._parameters, m._buffers, vars(m)))
    return any(isinstance(value, torch.Tensor) and value.is_complex() for store in stores for value in store.values())


def complex_places(values: Sequence[Any]) -> tuple[int, ...]:
    """The places of the complex and unsigned tensors among some values."""
    return tuple(
        at for at, v in enumerate(values) if isinstance(v, torch.Tensor) and (v.is_complex() or is_unsigned(v))
    )


def real(value: Any) -> Any:
    """A tree with a real tensor for each complex one, and a signed one for each unsigned, a view where that can be."""

    def one(t: torch.Tensor) -> torch.Tensor:
        if is_unsigned(t):
            return t.view(SIGNED[t.dtype])
        return torch.view_as_real(t.resolve_conj()) if t.is_complex() else t

    return transform(value, one)


def _complex(tensor: torch.Tensor) -> torch.Tensor:
    """What a tensor of pairs, or of bits, means: a view, unless pairs do not begin where complex numbers may."""
    if tensor.dtype in UNSIGNED:
        return tensor.view(UNSIGNED[tensor.dtype])
    *others, last = (*tensor.stride(), tensor.storage_offset())
    fits = tensor.stride(-1) == 1 and last % 2 == 0 and all(step % 2 == 0 for step in others[:-1])
    return torch.view_as_complex(tensor if fits else tensor.clone(memory_format=torch.contiguous_format))


def _real_state(value: torch.Tensor) -> torch.Tensor:
    pairs = torch.view_as_real(value.detach().resolve_conj())
    return nn.Parameter(pairs, value.requires_grad) if isinstance(value, nn.Parameter) else pairs


def _class_of_pairs(kind: type[nn.Module]) -> type[nn.Module]:
    """The class with a forward around its own that takes, holds and gives pairs."""

    def forward(self: nn.Module, *arguments: Any) -> Any:
        places, names = vars(self)[_KEPT]
        values = flat((), arguments)
        given = [_complex(value) if at in places else value for at, value in enumerate(values)]
        with _complex_inside(self, names):
            return real(kind.forward(self, *rebuilt(arguments, given)))

    return type(kind.__name__, (kind,), {"forward": forward, "__module__": kind.__module__})


@contextmanager
def _complex_inside(model: nn.Module, names: Sequence[str]) -> Iterator[None]:
    """Inside, the attributes of these names are complex; what is assigned to them goes into the real tensors."""
    shadows: list[tuple[nn.Module, dict[str, Any], str, torch.Tensor, torch.Tensor]] = []
    for name in names:
        path, _, key = name.rpartition(".")
        owner = model.get_submodule(path)
        stores: tuple[dict[str, Any], ...] = (owner._parameters, owner._buffers, vars(owner))
        store = next(each for each in stores if key in each)
        pairs = store[key]
        vars(owner)[key] = view = _complex(pairs)
        shadows.append((owner, store, key, pairs, view))
    try:
        yield
    finally:
        for owner, store, key, pairs, view in shadows:
            inside = vars(owner).pop(key)
            new = store.get(key, inside) if store is not vars(owner) else inside
            store[key] = pairs
            for assigned in (new, inside):
                if assigned is not pairs and assigned is not view:
                    pairs.copy_(torch.view_as_real(assigned.resolve_conj()))
                    break

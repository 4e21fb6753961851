"""Recurrent layers as one operator each while forward is traced, however many steps they take.

PyTorch's own tracing runs them step by step, even on tensors without data: minutes for some hundred steps. Inside
`whole`, `torch.lstm`, `gru`, `rnn_tanh` and `rnn_relu` are operators of our own with the same arguments, which know
only what shapes come out. Beside them are those of packed sequences, by lengths. Worker side only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from akg_core.task.graph import RECURRENT
from akg_core.task.tracing import choices
from akg_core.task.tracing.arrays import array
from akg_core.task.tracing.contents import Contents
from akg_core.task.tracing.items import Items
from akg_core.task.tracing.picking import Picking, plain

_NAMESPACE = "akg_core"
_OF_PACKED = "_of_packed"
_OPTIONS = (
    "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first"
)
_LIBRARY = torch.library.Library(_NAMESPACE, "DEF")
_DATA = vars(torch._C.TensorBase)["data"].__get__


def captured_as(op: str) -> str:
    """The name of PyTorch's operator for what stands for it in a trace: "aten.lstm.input"; other names are as given.

    "aten.lstm.data", which takes packed sequences, is one of padded sequences and then their lengths.
    """
    namespace, _, name = op.partition(".")
    kind = name.partition(".")[0]
    packed = kind.endswith(_OF_PACKED)
    return f"aten.{kind.removesuffix(_OF_PACKED)}.{'data' if packed else 'input'}" if namespace == _NAMESPACE else op


class whole(TorchFunctionMode):
    """Inside, recurrent layers over a padded sequence are not run step by step, and `x.data` is `x.detach()`.

    What PyTorch makes of the former cannot be decomposed: it ends the process. `x[mask]` and `mask.nonzero()` are
    `Picked`, and with `items`, `x.item()` is a tensor. With `contents`, what tensors hold may be known.
    """

    def __init__(self, items: Items | None = None, contents: Contents | None = None) -> None:
        super().__init__()
        self._picking, self._items, self._contents = Picking(), items, contents
        choices.restart()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if self._contents:
            return self._contents.call(self._called, func, args, kwargs or {})
        return self._called(func, args, kwargs or {})

    def _called(self, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if func == _DATA:
            return args[0].detach()
        if (converted := array(func, args)) is not None:
            return converted
        name = getattr(func, "__name__", "")
        if name in ("__getitem__", "__setitem__"):
            args = (args[0], plain(args[1]), *args[2:])
        if found := self._picking.called(func, args, kwargs):
            return found[0]
        choices.note(name, args, kwargs)
        if self._items and (found := self._items.called(func, args, kwargs)):
            return found[0]
        if name in RECURRENT and func == getattr(torch._C._VariableFunctions, name) and _padded(name, args):
            return _layers(getattr(getattr(torch.ops, _NAMESPACE), name), *args, **kwargs)
        result = func(*args, **kwargs)
        return self._picking.known(func, args, kwargs, result)


def layers_by_lengths(name: str, *args: Any) -> Any:
    """A recurrent layer over sequences [T, B, I] that end where lengths [B] say, which follow the layer's arguments.

    States stay what they are after the end of a sequence, from which on those of all steps mean nothing.
    """
    *options, lengths = args
    layer = getattr(getattr(torch.ops, _NAMESPACE), name + _OF_PACKED)
    return _layers(lambda *each: layer(*each, lengths), *options)


def _layers(
    layer: Any,
    x: Tensor,
    hx: Any,
    params: Sequence[Tensor],
    has_biases: bool,
    count: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    """All layers as one operator; with dropout between them, which PyTorch draws step by step first, one each."""
    if not (train and dropout and count > 1):
        return layer(x, hx, params, has_biases, count, dropout, train, bidirectional, batch_first)
    states, ways = (hx if isinstance(hx, (list, tuple)) else [hx]), 2 if bidirectional else 1
    own = len(params) // count
    x, ends = x.transpose(0, 1) if batch_first else x, []
    for n in range(count):
        first = [state[n * ways : (n + 1) * ways] for state in states]
        x, *last = layer(
            torch.dropout(x, dropout, True) if n else x,
            first if isinstance(hx, (list, tuple)) else first[0],
            params[n * own : (n + 1) * own],
            has_biases, 1, 0.0, train, bidirectional, False,
        )  # fmt: skip
        ends.append(last)
    return (x.transpose(0, 1) if batch_first else x, *(torch.cat(each) for each in zip(*ends, strict=True)))


def _padded(name: str, args: Sequence[Any]) -> bool:
    """Whether a call is the one over a tensor of all steps, not the one over a packed sequence."""
    return len(args) > 2 and isinstance(args[2], (list, tuple)) and not (name == "lstm" and torch.is_tensor(args[1]))


def _empty(x: Tensor, hx: Any, *options: Any) -> tuple[Tensor, ...]:
    """Empty tensors for the states of the last layer at all steps, and for each kind of last states of all layers."""
    bidirectional, batch_first = options[5:7]
    lasts = hx if isinstance(hx, (list, tuple)) else [hx]
    batch, steps = (x.shape[0], x.shape[1]) if batch_first else (x.shape[1], x.shape[0])
    states = x.new_empty((steps, batch, lasts[0].shape[-1] * (2 if bidirectional else 1)))
    return states.transpose(0, 1) if batch_first else states, *(x.new_empty(last.shape) for last in lasts)


for _name in RECURRENT:
    _hx, _results = ("Tensor[] hx", "Tensor, Tensor, Tensor") if _name == "lstm" else ("Tensor hx", "Tensor, Tensor")
    for _full, _more in ((_name, ""), (_name + _OF_PACKED, ", Tensor lengths")):
        _LIBRARY.define(f"{_full}(Tensor input, {_hx}, {_OPTIONS}{_more}) -> ({_results})")
        torch.library.register_fake(f"{_NAMESPACE}::{_full}", _empty, lib=_LIBRARY)

"""What a kernel is judged on: inputs drawn plainly and harder, sizes it has not seen, parameters that matter.

Worker side. Everything is a function of a seed. A hard draw may leave the domain of the reference (a logarithm of a
negative number, a product beyond f16): the caller keeps a draw only when the reference runs on it and
`finite` holds for its outputs, in the task's own dtypes and in float64.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn

from akg_core.records import Interface, Task
from akg_core.task import arguments, layout
from akg_core.task.export import ranks
from akg_core.task.graph import answers, size
from akg_core.task.inputs import edges
from akg_core.task.inputs.patterns import EXACT, Deal, dealt, normal
from akg_core.task.source.load import ReferenceModule
from akg_core.worker.tensors import transform

KINDS = ("drawn", "signed", "large", "small", "constant_rows", "cancelling", "disturbed", "offset", "huge", "tiny",
         "border")  # fmt: skip
"""Kinds of draws, the file's own first. `disturbed`: the same but for one row, whose elements have changed places;
`signed`: standard normal; for the others see `akg_core.task.inputs.patterns`."""
WHOLE = "whole numbers"  # the kind of a draw whose whole numbers take all bits; see `whole_numbers`
DEALT = "dealt"  # the kind of a draw that has many, by a `Deal`
_COUNTED = 1 << 27  # elements at once
_SALTS = (*KINDS, DEALT)  # a draw of one kind has nothing in common with that of another by the same seed


def inputs(
    reference: ReferenceModule,
    seed: int,
    kind: str = "drawn",
    interface: Interface | None = None,
    deal: Deal | None = None,
) -> list[Any]:
    """Positional arguments of `forward`, of the shapes that the file's `get_inputs` gives.

    Floating tensors are redrawn in the manner of `kind`; what their first draw shows to be meant is kept: exact zeros
    of a sparse or triangular tensor, symmetry, rows that are probabilities, labels such as -1 and 1. Integer and
    bool tensors (indices, masks) and other values come from the file's generator. The layout is kept: strides, and
    elements that share memory as those of an expanded tensor do. With `interface`, arguments captured as numbers
    vary too, by a factor of 0.5 to 1.5. With a `deal` each row of the arguments that it names is of one of its kinds.
    """
    if kind not in (*KINDS, DEALT):
        raise ValueError(f"no kind of draw is called {kind!r}")
    return harder(reference.inputs(seed), seed, kind, interface, deal)


def harder(
    values: Sequence[Any], seed: int, kind: str, interface: Interface | None = None, deal: Deal | None = None
) -> list[Any]:
    """`inputs`, starting from arguments that exist; their tensors are left as they are."""
    return list(values) if kind == "drawn" else _harder(values, seed, kind, interface, deal)


def finite(outputs: Iterable[Any]) -> bool:
    """Whether no floating output has an infinity or a NaN."""
    floats = [o for o in outputs if isinstance(o, torch.Tensor) and o.is_floating_point() and o.numel()]
    return all(bool(torch.isfinite(end)) for o in floats for end in torch.aminmax(o))  # one pass; a NaN is both ends


def is_free(values: Sequence[Any]) -> bool:
    """Whether any number may stand anywhere in the floating tensors: none is sparse, symmetric, or means labels."""
    floats = [v for v in arguments.flat((), values) if isinstance(v, torch.Tensor) and v.is_floating_point()]
    return not any(
        v.numel() and (_is_discrete(v) or _has_zeros(v) or is_symmetric(v) or is_probabilities(v)) for v in floats
    )


# --- sizes ---------------------------------------------------------------------------------------------


def fewer(task: Task) -> list[dict[str, int]]:
    """The sizes of a task's example where tensors lack leading dims, for each number of these that they may lack; and
    without elements, if they may be so."""
    lacking = [ranks.without(task.interface.arguments, task.symbols, absent) for absent in task.interface.absent]
    return [*lacking, *([task.symbols | {[*task.symbols][-1]: 0}] if task.interface.empty else [])]


def resized(
    reference: ReferenceModule,
    interface: Interface,
    symbols: dict[str, int],
    seed: int,
    kind: str = "drawn",
    deal: Deal | None = None,
) -> list[Any]:
    """Arguments of `forward` with the sizes that `symbols` gives: the file's own draw, cropped or repeated.

    They may give one dimension of one argument a size of its own (`edges.place`). Values keep their range (indices stay
    valid), triangular tensors their shape, and dimensions their order in memory.
    """
    given = harder(reference.inputs(seed), seed, kind, interface, deal)
    values = arguments.flat(interface.arguments, given)
    for i, argument in enumerate(interface.arguments):
        if argument.kind == "tensor":
            old = new = values[i]
            for d, dim in enumerate(argument.shape):
                length = symbols.get(edges.place(argument.name, d)) or size(dim, symbols)
                index = torch.arange(length, device=old.device) % max(1, old.shape[d])
                new = new.index_select(d, index)
            values[i] = layout.ordered_like(new, old)
        elif argument.kind == "size":
            values[i] = size(argument.shape[0], symbols)
    values = ranks.lowered(interface.arguments, values, symbols)
    return arguments.rebuilt(given, values)


# --- parameters ----------------------------------------------------------------------------------------


def redraw_state(
    model: nn.Module, seed: int, *, exchanged: int | None = None, signed: bool = False
) -> dict[str, torch.Tensor]:
    """A state dict for `model` in which every parameter matters. `exchanged`: a seed by which two elements of each
    parameter change places then, which neither its sum nor most samples of it tell. `signed`: of each parameter, about
    half of the elements are negated and some are zero, which many references do not take, whatever it began with.

    PyTorch's own initialisation shrinks a signal at every layer and makes the affine part of norms the identity, so
    that a kernel which ignores them passes. Here weights preserve variance (normal, standard deviation
    sqrt(2 / fan_in), He et al. 2015), vectors scatter around what they were (0.3 wide), running means and variances
    are those of plausible data. Other buffers keep their values. Draw inputs with another seed: weights drawn with
    the seed of the inputs correlate with them.
    """
    draw = _generator(model.state_dict().values(), seed)
    state = {name: value.detach().clone() for name, value in model.state_dict().items()}
    modules = dict(model.named_modules(remove_duplicate=False))
    drawn: dict[int, torch.Tensor] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if parameter.is_floating_point():
            owner = modules[name.rpartition(".")[0]]
            if id(parameter) not in drawn:
                drawn[id(parameter)] = _redrawn(parameter.detach(), owner, draw)
                if signed:
                    drawn[id(parameter)] = _signed(drawn[id(parameter)], draw)
                if exchanged is not None:
                    _exchange(drawn[id(parameter)], exchanged)
            state[name] = drawn[id(parameter)]
    for name, value in state.items():
        if name.endswith("running_mean"):
            state[name] = _like(0.3 * normal(value.shape, draw), value)
        elif name.endswith("running_var"):
            state[name] = _like(0.5 + torch.rand(value.shape, generator=draw, device=draw.device), value)
    return state


def _exchange(value: torch.Tensor, seed: int) -> None:
    """Let two elements change places, of which none is the first or the last."""
    if value.numel() > 3:
        one, other = random.Random(seed).sample(range(1, value.numel() - 1), 2)
        places = torch.unravel_index(torch.tensor([one, other], device=value.device), value.shape)
        value[places] = value[places].flip(0)


def _signed(value: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """`value` with each element negated, or not, and one in eight zero."""
    factors = torch.tensor([-1, 1, -1, 1, -1, 1, 1, 0], dtype=value.dtype, device=value.device)
    return value * factors[torch.randint(8, value.shape, generator=draw, device=draw.device).to(value.device)]


def _redrawn(value: torch.Tensor, owner: nn.Module, draw: torch.Generator) -> torch.Tensor:
    if sum(n > 1 for n in value.shape) < 2:  # a bias, a scale: also those of shape (C, 1, 1)
        return value + _like(0.3 * normal(value.shape, draw), value)
    if isinstance(owner, (nn.Embedding, nn.EmbeddingBag)):
        return _like(normal(value.shape, draw), value)
    fan_in = value[0].numel()
    if isinstance(owner, nn.modules.conv._ConvTransposeNd):
        groups, stride = owner.groups, owner.stride
        fan_in = max(1, value.shape[0] // groups * math.prod(value.shape[2:]) // math.prod(stride))
    elif type(owner).__module__.startswith("akg_reference") and value.dim() == 2:
        fan_in = max(value.shape)  # a bare parameter: which side it contracts is not known
    if float(value.std()) == 0.0:  # the affine part of a norm over several dimensions
        return value + _like(0.3 * normal(value.shape, draw), value)
    return _like(math.sqrt(2 / fan_in) * normal(value.shape, draw), value)


# --- harder values ---------------------------------------------------------------------------------------


def _harder(values: Sequence[Any], seed: int, kind: str, interface: Interface | None, deal: Deal | None) -> list[Any]:
    leaves = arguments.flat((), values)
    draw = _generator(leaves, seed * len(_SALTS) + _SALTS.index(kind) + 7919)
    if kind == "disturbed":
        return transform(list(values), lambda tensor: _disturbed(tensor, draw))
    result: list[Any] = []
    plain = Deal(("signed" if deal else kind,))
    for i, value in enumerate(leaves):
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel():
            mine = deal if deal and (i in deal.leaves or not deal.leaves or deal.kinds == (EXACT,)) else plain
            result.append(layout.replaced(value, functools.partial(_redraw_tensor, deal=mine, draw=draw)))
        elif interface and interface.arguments[i].kind == "number":
            result.append(value * (0.5 + float(torch.rand((), generator=draw, device=draw.device))))
        else:
            result.append(value)
    if interface and not answers(interface, result):  # forward is another then
        result = [old if type(old) is float else new for old, new in zip(leaves, result, strict=True)]
    return arguments.rebuilt(values, result)


def _redraw_tensor(value: torch.Tensor, deal: Deal, draw: torch.Generator) -> torch.Tensor:
    if _is_discrete(value):
        return value
    if is_probabilities(value):
        return _probabilities(value, deal.kinds[0], draw)
    new = _like(dealt(value.shape, value.dtype, deal, draw), value)
    if is_symmetric(value):
        new = (new + new.mT) / 2
    if _has_zeros(value):
        new = new.masked_fill(value == 0, 0)
    return new


def _is_discrete(value: torch.Tensor) -> bool:
    """Whether these are labels, counts, one-hot rows."""
    sample = value.flatten()[:4096].double()
    return value.numel() > 4 and bool((sample == sample.round()).all())


def _has_zeros(value: torch.Tensor) -> bool:
    """Whether so many zeros are no chance. Counted piece by piece: a device makes a whole number of each element."""
    pieces = value.reshape(-1).split(_COUNTED)
    return sum(int(torch.count_nonzero(piece)) for piece in pieces) < 0.99 * value.numel()


def _disturbed(value: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """`value` with the elements of one row that are not zero turned by one place; what is in order stays so: it may be
    where bags begin, or borders that are searched."""
    if value.dim() == 0 or value.numel() == 0 or is_symmetric(value):
        return value

    def turned(base: torch.Tensor) -> torch.Tensor:
        rows = base.reshape(-1, base.shape[-1]).clone()
        row = rows[int(torch.randint(0, max(1, len(rows)), (), generator=draw, device=draw.device))]
        places = row.nonzero()[:, 0]
        if len(row) < 3 or bool((row[1:] < row[:-1]).any()):
            row[places] = row[places.roll(1)]
        return rows.view_as(base)

    return layout.replaced(value, turned)


def is_symmetric(value: torch.Tensor) -> bool:
    """Whether a tensor holds square matrices that are their own transposes."""
    if value.dim() < 2 or value.shape[-1] != value.shape[-2] or value.shape[-1] < 2:
        return False
    corner = value[..., :32, :32]  # tells most apart without reading all
    return bool((corner == corner.mT).all()) and bool((value == value.mT).all())


def is_probabilities(value: torch.Tensor) -> bool:
    """Whether rows sum to one, as a softmax leaves them."""
    if value.dim() == 0 or value.shape[-1] < 2 or float(value.min()) < 0:
        return False
    rows = value.reshape(-1, value.shape[-1])[:64].double().sum(-1)
    return bool(((rows - 1).abs() < 1e-2).all())


def _probabilities(value: torch.Tensor, kind: str, draw: torch.Generator) -> torch.Tensor:
    if kind == "constant_rows":
        return torch.full_like(value, 1 / value.shape[-1])
    if kind == EXACT:  # quarters and their like, some of them zero
        shares = torch.randint(3, value.shape, generator=draw, device=draw.device).to(torch.float32)
        shares[..., 0] += 1
        return _like(shares / shares.sum(-1, keepdim=True), value)
    width = {"large": 4.0, "small": 1e-3}.get(kind, 1.0)
    return _like((width * normal(value.shape, draw)).softmax(-1), value)


def _generator(values: Iterable[Any], seed: int) -> torch.Generator:
    """A generator on the device of the first tensor."""
    devices = (value.device for value in values if isinstance(value, torch.Tensor))
    return torch.Generator(next(devices, torch.device("cpu"))).manual_seed(seed)


def _like(new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    return new.to(dtype=old.dtype, device=old.device)

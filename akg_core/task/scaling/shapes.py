"""What one call of a reference touches, found out on fake tensors: shapes everywhere, and how much work it is.

Worker side only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from akg_core.errors import ValuesUnknown
from akg_core.task.arguments import holding
from akg_core.task.export.fake import fake_mode, fake_or_real, run
from akg_core.task.export.held import decisive
from akg_core.task.scaling.writes import require
from akg_core.task.source import load
from akg_core.task.source.load import ReferenceModule
from akg_core.task.tracing.contents import Contents

Shape = tuple[int, ...]

_A_PRODUCT = 256  # operations of a product that cost about as much as an element that is moved
_A_WINDOW = 8  # elements that a pooling looks at, likewise


@dataclass(frozen=True, slots=True)
class Interface:
    """The shapes of what goes into forward and of the module's state; `windows`: the state's dims that are kernels'."""

    inputs: tuple[Shape, ...]
    parameters: dict[str, Shape]
    windows: frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Shapes(Interface):
    """And those of what comes out, and of every result on the way, with its operator.

    `work`: what one call costs, counted in elements that are moved. `indexes`: whether some operator takes integers,
    which may be positions that have to exist.
    """

    outputs: tuple[Shape, ...]
    results: tuple[tuple[str, tuple[Shape, ...]], ...]
    work: int
    indexes: bool


def interface_of(source: str, name: str) -> Interface:
    """Shapes of what goes into forward and of the module's state. Raises TaskError."""
    return _made(source, name)[0]


def shapes_of(source: str, name: str) -> Shapes:
    """All shapes of a call of forward. Raises TaskError where it does not run."""
    found, reference, model, inputs, mode = _made(source, name)
    watch = _Watch()
    try:
        outputs = run(name, mode, model, inputs, watch)
    except ValuesUnknown:
        if not (contents := decisive(reference, eval=False)):
            raise
        watch, held = _Watch(), contents[0]
        outputs = run(name, mode, model, holding(inputs, held), watch, contents=Contents(held))
    elements = sum(map(math.prod, (*found.inputs, *found.parameters.values())))
    return Shapes(
        inputs=found.inputs,
        parameters=found.parameters,
        windows=found.windows,
        outputs=_tensor_shapes(outputs),
        results=tuple(watch.results),
        work=elements + watch.elements + watch.products // _A_PRODUCT,
        indexes=watch.indexes,
    )


def is_degenerate(shapes: Shapes, whole: Shapes) -> bool:
    """Whether something is empty, or of one element along a dimension, that is not at the sizes of the file."""
    alike = [op for op, _ in shapes.results] == [op for op, _ in whole.results]
    ours = [s for _, results in shapes.results for s in results] if alike else [*shapes.outputs]
    theirs = [s for _, results in whole.results for s in results] if alike else [*whole.outputs]
    return any(
        len(one) == len(other) and any(a < 2 and a < b for a, b in zip(one, other, strict=True))
        for one, other in zip(ours, theirs, strict=False)
    )


class _Watch(TorchDispatchMode):
    """Sees every operator: the shapes of what it makes, the elements that it moves, the operations of its products."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[tuple[str, tuple[Shape, ...]]] = []
        self.elements = self.products = 0
        self.indexes = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        require(func, args)
        made = func(*args, **(kwargs or {}))
        shapes = _tensor_shapes(torch.utils._pytree.tree_leaves(made))
        self.results.append((str(func), shapes))
        if not _is_view(func):
            sizes = [*map(math.prod, shapes)]
            self.elements += sum(sizes) + _window(func, args) * sum(sizes[:1]) // _A_WINDOW
        if count := flop_registry.get(func._overloadpacket):
            self.products += count(*args, **(kwargs or {}), out_val=made)
        self.indexes = self.indexes or any(map(_is_integral, torch.utils._pytree.tree_leaves(args)))
        return made


def _made(source: str, name: str) -> tuple[Interface, ReferenceModule, nn.Module, list[Any], Any]:
    """A file, its module and inputs, fake where that works, and the mode that they are of."""
    reference = load.load_source(source, name, traced=True).with_plain_arguments()
    mode = fake_mode()
    model: nn.Module = fake_or_real(mode, reference.model)
    inputs: list[Any] = fake_or_real(mode, reference.inputs)
    state = {**model.state_dict(), **dict(model.named_buffers())}
    parameters = {n: tuple(p.shape) for n, p in state.items() if isinstance(p, torch.Tensor)}
    weights = [
        (f"{n}.weight".lstrip("."), m.weight.dim())
        for n, m in model.named_modules()
        if isinstance(m, nn.modules.conv._ConvNd)
    ]
    windows = frozenset((weight, dim) for weight, rank in weights for dim in range(2, rank))
    tensors = torch.utils._pytree.tree_leaves(inputs)
    return Interface(_tensor_shapes(tensors), parameters, windows), reference, model, inputs, mode


def _tensor_shapes(values: Iterable[Any]) -> tuple[Shape, ...]:
    return tuple(tuple(v.shape) for v in values if isinstance(v, torch.Tensor))


def _is_view(func: Any) -> bool:
    infos = [each.alias_info for each in func._schema.returns]
    return any(info is not None and not info.is_write for info in infos)


def _is_integral(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in (torch.int64, torch.int32) and value.dim() > 0


def _window(func: Any, args: Any) -> int:
    """How many elements an operator that slides a window looks at for each of its results."""
    pools = "pool" in str(func) and "adaptive" not in str(func) and "backward" not in str(func)
    sizes = args[1] if pools and len(args) > 1 else ()
    return math.prod(sizes) if isinstance(sizes, (list, tuple)) else 0

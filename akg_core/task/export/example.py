"""The call that is traced: the module and its arguments, fake where that works, and what forward gives for them.

Worker side.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from akg_core.errors import TaskError
from akg_core.task.argument_records import holds_records
from akg_core.task.arguments import Leaf, leaves, portable, rebuilt, require_apart
from akg_core.task.complex_border import complex_places, holds_complex
from akg_core.task.export.fake import fake_mode, fake_or_real, faked, run
from akg_core.task.export.returned import returned
from akg_core.task.export.translate import dtype_name
from akg_core.task.graph import spelled
from akg_core.task.source.attributes import collected
from akg_core.task.source.load import ReferenceModule, as_buffers
from akg_core.task.tracing import steps
from akg_core.task.tracing.asked import Asked
from akg_core.task.tracing.contents import Contents
from akg_core.task.tracing.items import Items
from akg_core.task.tracing.recurrent import whole
from akg_core.task.unsigned import SIGNED, is_unsigned

_HELD = "module_of_the_reference"  # by what must not have its names at the top; nobody else calls one so
_OTHER_SEED = 1  # than that of the module that is traced
_DEPTH = 8  # of collections in each other that are looked into


@dataclass(frozen=True, slots=True)
class Example:
    """`inputs`: as get_inputs gives them; `leaves`: the same taken apart, and defaults that are left to forward.

    `varying`: for each leaf the dimensions that vary. `outputs`: flat, fake; `handed`: those that are an argument
    itself, by the name of its leaf. `replaced`: attributes that forward replaces or updates, buffers of `model`.
    `others`: the leaves of each entry of get_inputs_dyn_list.
    `settled`: what the module holds beside the numbers of its own tensors depends on the seed of its construction.
    Where something at the border is complex, all of this is of `reference` with pairs; `complex_outputs` were complex.
    """

    reference: ReferenceModule
    mode: FakeTensorMode
    model: nn.Module
    inputs: list[Any]
    leaves: list[Leaf]
    varying: tuple[frozenset[int], ...]
    outputs: list[Any]
    handed: dict[int, str]
    replaced: tuple[str, ...] = ()
    complex_outputs: tuple[int, ...] = ()
    settled: bool = False
    others: Sequence[Sequence[Any]] = ()


def make_example(reference: ReferenceModule, *, dynamic: bool, eval: bool) -> Example:
    """Run forward on fake tensors. Raises TaskError for what does not fit or cannot be traced."""
    steps.restart()
    example = _example(reference, dynamic=dynamic, eval=eval)
    places = complex_places([leaf.value for leaf in example.leaves])
    outputs = complex_places(example.outputs)
    for unsigned in filter(is_unsigned, example.outputs):
        dtype_name(unsigned.dtype)  # which no kernel answers in
    if not (places or outputs or holds_complex(example.model)):
        return example
    example = _example(replace(reference, pairs=places), dynamic=dynamic, eval=eval)
    return replace(example, complex_outputs=outputs)


def _example(reference: ReferenceModule, *, dynamic: bool, eval: bool) -> Example:
    mode = fake_mode()
    model = fake_or_real(mode, lambda: reference.model(eval=eval))
    inputs = fake_or_real(mode, reference.inputs)
    if not reference.records and any(map(holds_records, inputs)):
        return _example(replace(reference, records=True), dynamic=dynamic, eval=eval)
    lists = reference.input_lists() if reference.held else fake_or_real(mode, reference.input_lists)
    found = _leaves(reference, inputs)
    others = [[leaf.value for leaf in _leaves(reference, values)] for values in lists]
    varying = tuple(
        frozenset[int]()
        if i in reference.held
        else frozenset(range(leaf.value.dim()))
        if dynamic and isinstance(leaf.value, torch.Tensor)
        else _differing(leaf.value, [other[i] for other in others if i < len(other)])
        for i, leaf in enumerate(found)
    )
    # Forward may leave something in its module, so the one that is traced is another.
    probe = fake_or_real(mode, lambda: reference.model(_OTHER_SEED, eval=eval))
    settled = _settings(probe) != _settings(model) or _draws_collected(reference, probe)
    before = tensor_attributes(probe)
    written = {name: tensor._version for name, tensor in before.items()}
    fakes = faked(mode, inputs)
    given = {leaf.name: leaf.value for leaf in _leaves(reference, fakes) if isinstance(leaf.value, torch.Tensor)}
    shapes = {name: value.shape for name, value in given.items()}
    versions = {name: value._version for name, value in given.items()}
    outputs = run(reference.name, mode, probe, fakes, contents=known(reference))
    replaced = _replaced(reference.name, before, tensor_attributes(probe))
    _require_no_late_state(reference, mode, probe, inputs, before)
    replaced += tuple(n for n, t in before.items() if t._version != written[n] and n not in replaced)
    for name, value in given.items():
        if value.shape != shapes[name]:
            raise TaskError(
                f"{reference.name}: forward changes the shape of its argument {name}, which a kernel cannot.",
                "Make a new tensor of that shape.",
            )
    require_apart(reference.name, found, [name for name, value in given.items() if value._version != versions[name]])
    handed = {place: name for place, out in enumerate(outputs) for name, value in given.items() if out is value}
    traced = as_buffers(model, replaced)
    return Example(
        reference, mode, traced, inputs, found, varying, outputs, handed, replaced, settled=settled, others=others
    )


def _replaced(file: str, before: dict[str, torch.Tensor], after: dict[str, torch.Tensor]) -> tuple[str, ...]:
    """The attributes that forward has replaced by tensors of the same shape and dtype."""
    names = tuple(name for name, tensor in after.items() if before.get(name, tensor) is not tensor)
    for name in names:
        old, new = before[name], after[name]
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            raise TaskError(
                f"{file}: forward replaces the module's attribute {name} by a tensor of another shape or dtype, which "
                "a kernel cannot.",
                "Give it the shape and dtype in the constructor that it has after a call.",
            )
    return names


def _require_no_late_state(
    reference: ReferenceModule, mode: FakeTensorMode, probe: nn.Module, inputs: list[Any], before: Collection[str]
) -> None:
    """Raise TaskError where a call reads what the first one has put where the module had no tensor."""
    made = {name: tensor for name, tensor in tensor_attributes(probe).items() if name not in before}
    if not made:
        return
    reads = _Reads(made)
    with contextlib.suppress(TaskError):
        run(reference.name, mode, probe, faked(mode, inputs), reads, known(reference))
    if reads.found:
        raise TaskError(
            f"{reference.name}: forward makes the module's attribute {reads.found}, which the next call reads: it does "
            "other work than the first.",
            "Give the attribute its first value in the constructor: register_buffer.",
        )


class _Reads(TorchDispatchMode):
    """Notes the name of one of these tensors, once an operator reads it."""

    def __init__(self, tensors: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self._tensors, self.found = tensors, ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for leaf in tree_leaves((args, kwargs or {})):
            self.found = self.found or next((n for n, tensor in self._tensors.items() if tensor is leaf), "")
        return func(*args, **(kwargs or {}))


def tensor_attributes(model: nn.Module) -> dict[str, torch.Tensor]:
    """The tensors that are plain attributes of a module or its parts, by qualified name."""
    return {
        f"{prefix}.{key}".removeprefix("."): value
        for prefix, module in model.named_modules()
        for key, value in vars(module).items()
        if isinstance(value, torch.Tensor)
    }


def _settings(model: nn.Module) -> dict[str, str]:
    """What a module and its parts hold, by qualified name, as text: numbers and texts, and the shapes of tensors."""
    return {
        f"{prefix}.{key}": _spelled(value, _DEPTH)
        for prefix, module in model.named_modules()
        for key, value in vars(module).items()
    }


def _draws_collected(reference: ReferenceModule, probe: nn.Module) -> bool:
    """Whether the constructor draws tensors that lists and the like hold, which are constants of the graph."""
    if not collected(probe):
        return False
    one, other = (collected(reference.model(seed)) for seed in (0, _OTHER_SEED))
    return len(one) != len(other) or not all(map(torch.equal, one, other))


def _spelled(value: Any, depth: int) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {tuple(value.shape)}"
    if isinstance(value, (list, tuple)) and depth:
        return str([_spelled(item, depth - 1) for item in value])
    if isinstance(value, dict) and depth:
        return str({str(key): _spelled(item, depth - 1) for key, item in value.items()})
    return repr(value) if isinstance(value, (int, float, complex, str, torch.dtype)) else ""


def known(reference: ReferenceModule) -> Contents | None:
    """What is known of the content of arguments during a run of forward."""
    return Contents(reference.held) if reference.held else None


def is_size(value: Any) -> bool:
    """Whether a value may be a size that varies: tracing takes 0 and 1 for constants."""
    return type(value) is int and value > 1


@contextmanager
def flat_forward(
    model: nn.Module,
    inputs: Sequence[Any],
    values: Sequence[Any],
    names: Sequence[str],
    replaced: Sequence[str],
    extents: Collection[str],
    asking: Asked,
    contents: Contents | None,
) -> Iterator[nn.Module]:
    """Inside, forward takes only the tensors among the leaves of its inputs, under these names; the rest is as given.

    Whatever Python values a file gives are then none that tracing meets, but for those that tensors called `extents`
    stand for: the ints that are their sizes. Buffers that forward has `replaced` are updated. What is `asking` answers
    what it knows of floats, and `contents` what it knows of tensors. Gives what `forward_as` gives.
    """
    original = model.forward

    def forward(*tensors: Any) -> Any:
        pairs = zip(names, tensors, strict=True)
        given = iter([t.shape[0] if name in extents else asking.take(name, t) for name, t in pairs])
        leaves = [next(given) if isinstance(value, torch.Tensor) else value for value in values]
        if contents:
            contents.take(leaves)
        held = {name: model.get_buffer(name) for name in replaced}
        with (
            whole(items=Items(traced=True), contents=contents),
            asking,
        ):  # in here: what export does with calls of its own comes after
            result = returned(original(*rebuilt(inputs, leaves)))
        for name, tensor in held.items():
            path, _, attribute = name.rpartition(".")
            owner = model.get_submodule(path)
            if (new := getattr(owner, attribute)) is not tensor:
                setattr(owner, attribute, tensor.copy_(new))
        return result

    with forward_as(model, forward, names) as traced:
        yield traced


@contextmanager
def forward_as(model: nn.Module, forward: Callable[..., Any], names: Sequence[str]) -> Iterator[nn.Module]:
    """Inside, a module has this forward, whose parameters are called by these names. Gives what is to be traced.

    That is another module which holds it where a graph has a name of its own for what the module holds ("code").
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    forward.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    own = torch.fx.GraphModule({}, torch.fx.Graph())
    held = [*model.state_dict(), *dict(model.named_buffers()), *tensor_attributes(model)]
    traced = model
    if any(hasattr(own, name.partition(".")[0]) for name in held):
        traced = nn.Module()
        setattr(traced, _HELD, model)
        traced.training = model.training
    vars(traced)["forward"] = forward
    try:
        yield traced
    finally:
        del vars(traced)["forward"]


def with_own_names(program: ExportedProgram) -> ExportedProgram:
    """A program of what `forward_as` gives, with what it holds called as the module does."""
    signature, constants = program.graph_signature, program.constants
    for spec in (*signature.input_specs, *signature.output_specs):
        spec.target = spec.target and spec.target.removeprefix(f"{_HELD}.")
    for name in [*constants]:
        constants[name.removeprefix(f"{_HELD}.")] = constants.pop(name)
    return program


def _leaves(reference: ReferenceModule, inputs: Sequence[Any]) -> list[Leaf]:
    names = list(reference.argument_names(inputs))
    defaults = {name: value for name, value in reference.defaults(inputs).items() if _is_plain(value)}
    found = leaves([*names, *defaults], [*inputs, *defaults.values()], len(inputs))
    for leaf in found:
        _check(reference.name, leaf)
    return found


def _check(file: str, leaf: Leaf) -> None:
    value, name = leaf.value, spelled(leaf.path)
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.is_quantized:
            raise TaskError(f"{file}: the argument {name} is a sparse or quantised tensor.", "Use dense tensors.")
        dtype_name(SIGNED.get(value.dtype, value.dtype.to_real()))
    elif not _is_plain(value):
        raise TaskError(
            f"{file}: the argument {name} of forward is or holds a {_odd(value)}.",
            "Arguments are tensors, numbers, bools, strings, None, dtypes, sizes, and lists, tuples, dicts (with "
            "strings as keys), dataclasses and named tuples of these.",
        )


def _is_plain(value: Any) -> bool:
    return not _odd(value)


def _odd(value: Any) -> str:
    """The name of the type that keeps a value from being plain; "" where none does."""
    try:
        portable(value)
    except TypeError as error:
        return str(error)
    return ""


def _differing(value: Any, others: Sequence[Any]) -> frozenset[int]:
    if is_size(value):
        return frozenset({0} if any(type(o) is int and o != value for o in others) else ())
    if not isinstance(value, torch.Tensor):
        return frozenset()
    rank = value.dim()  # one of fewer dims lacks leading ones
    shapes = [(1,) * (rank - o.dim()) + o.shape for o in others if isinstance(o, torch.Tensor) and o.dim() <= rank]
    return frozenset(d for d in range(rank) if any(shape[d] != value.shape[d] for shape in shapes))

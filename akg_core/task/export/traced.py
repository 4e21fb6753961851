"""Forward traced by `torch.export`, with as much left open as can be: sizes that vary, floats, dims, empty tensors.

Worker side only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import Dim as Vary
from torch.export import ExportedProgram
from torch.export._trace import _export
from torch.export.graph_signature import CustomObjArgument

from akg_core.records import Argument, Graph
from akg_core.task.arguments import Leaf, portable
from akg_core.task.decompositions import complex_pairs
from akg_core.task.decompositions.decompose import decomposed
from akg_core.task.export import wording
from akg_core.task.export.example import (
    Example,
    flat_forward,
    forward_as,
    is_size,
    known,
    tensor_attributes,
    with_own_names,
)
from akg_core.task.export.guards import conditions
from akg_core.task.export.ranks import lacking, may_be_empty, may_lack
from akg_core.task.export.single import from_two
from akg_core.task.export.translate import Sizes, Translated, dtype_name, translate
from akg_core.task.graph import size
from akg_core.task.layout import memory_order
from akg_core.task.source import load
from akg_core.task.source.load import ReferenceModule, as_buffers
from akg_core.task.tracing.asked import Asked
from akg_core.task.tracing.unchecked import unchecked

Floats = Literal["tensors", "asked", "constants"]
"""What float arguments are while tracing: tensors, such of which is known what the example's answer, or themselves."""


def attempts(example: Example, integers: bool) -> list[tuple[tuple[frozenset[int], ...], Floats, bool]]:
    """(what varies, what floats are, traced early), from what is wanted most to what always works.

    Early: before PyTorch's autograd, which knows what lines wrote. Inside `torch.func`'s transforms, only after it.
    """
    pairs = [*zip(example.leaves, example.varying, strict=True)]
    shapes = tuple(frozenset[int]() if is_size(leaf.value) else varying for leaf, varying in pairs)
    vary = dict.fromkeys([example.varying if integers else shapes, shapes, (frozenset[int](),) * len(pairs)])
    floats: tuple[Floats, ...] = ("tensors", "asked", "constants")
    floats = floats if any(map(_may_vary, example.leaves)) else ("constants",)
    return [(v, f, early) for early in (True, False) for v in vary for f in floats]


def _may_vary(leaf: Leaf) -> bool:
    """Whether a leaf may be a number that is handed to kernels."""
    return isinstance(leaf.value, float) and leaf.given and len(leaf.path) == 1


class _Mismatch(Exception):
    """The traced program does something else than the reference."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A forward, traced; `guards`, `asked`, `absent`, `empty`: as of an interface."""

    program: ExportedProgram
    sizes: Sizes
    translated: Translated
    guards: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    absent: tuple[int, ...] = ()
    empty: bool = False


def trace(reference: ReferenceModule, example: Example, *, floats: Floats, early: bool, eval: bool) -> Traced:
    """Trace forward; where sizes vary, find out at which of them the graph holds."""
    traced = _traced(reference, example, floats=floats, early=early, eval=eval)
    if not traced.sizes.values:
        return traced

    graph, symbols = traced.translated.graph, traced.sizes.values
    arguments = arguments_of(traced.program, example, traced.sizes, floats, traced.translated.updated)
    shapes = {argument.name: argument.shape for argument in arguments if argument.kind in ("tensor", "size")}

    def of(fixed: Mapping[str, tuple[int, ...]]) -> Graph:
        """The graph where tensors have these shapes, and ints are these sizes."""

        def resized(leaf: Leaf, shape: tuple[int, ...]) -> Leaf:
            with example.mode:
                return replace(leaf, value=shape[0] if is_size(leaf.value) else leaf.value.new_empty(shape))

        leaves = [resized(leaf, fixed[leaf.name]) if leaf.name in fixed else leaf for leaf in example.leaves]
        still = replace(example, leaves=leaves, varying=(frozenset[int](),) * len(leaves))
        return _traced(reference, still, floats=floats, early=early, eval=eval).translated.graph

    def at(sizes: dict[str, int]) -> Graph:
        return of({name: tuple(size(dim, sizes) for dim in shape) for name, shape in shapes.items()})

    several = from_two(graph, shapes, traced.guards, symbols, at)
    if several:
        return replace(traced, guards=(*traced.guards, *(f"({name} >= 2)" for name in several)))
    lack = [lacking(arguments, values) for values in example.others]
    empty = any(isinstance(v, torch.Tensor) and not v.numel() for values in example.others for v in values)
    return replace(
        traced,
        absent=may_lack(graph, arguments, symbols, lack, of),
        empty=empty and may_be_empty(graph, arguments, symbols, of),
    )


def _extents(example: Example) -> set[str]:
    """The names of the ints that vary."""
    pairs = zip(example.leaves, example.varying, strict=True)
    return {leaf.name for leaf, varying in pairs if varying and is_size(leaf.value)}


def _traced(reference: ReferenceModule, example: Example, *, floats: Floats, early: bool, eval: bool) -> Traced:
    extents = _extents(example)

    def value(leaf: Leaf) -> Any:
        if leaf.name in extents:
            with example.mode:
                return torch.empty(leaf.value, dtype=torch.bool)
        return (
            torch.tensor(leaf.value, dtype=torch.float64) if floats != "constants" and _may_vary(leaf) else leaf.value
        )

    values = [*map(value, example.leaves)]
    names = [leaf.name for leaf, v in zip(example.leaves, values, strict=True) if isinstance(v, torch.Tensor)]
    inputs = tuple(value for value in values if isinstance(value, torch.Tensor))
    dims = None
    if vary := any(example.varying):
        pairs = zip(values, example.varying, strict=True)
        dims = tuple(dict.fromkeys(sorted(varying), Vary.AUTO) for v, varying in pairs if isinstance(v, torch.Tensor))

    asking = Asked({leaf.name: leaf.value for leaf in example.leaves if _may_vary(leaf)} if floats == "asked" else {})

    def export(model: nn.Module) -> ExportedProgram:
        contents = known(example.reference)
        flat = flat_forward(model, example.inputs, values, names, example.replaced, extents, asking, contents)
        with flat as traced, unchecked():
            if early:
                return torch.export.export(traced, inputs, dynamic_shapes=dims, strict=False)
            return _export(traced, inputs, dynamic_shapes=dims, strict=False, pre_dispatch=False)

    model = example.model
    program = export(model)
    if any(isinstance(spec.arg, CustomObjArgument) for spec in program.graph_signature.input_specs):
        raise wording.no_tensor()
    if any(isinstance(constant, FakeTensor) for constant in program.constants.values()):
        # Decomposition computes with constants, so they must be real.
        model = as_buffers(reference.model(eval=eval), example.replaced)
        program = export(model)
    exported, program = program, with_own_names(decomposed(program))
    if complex_pairs.has_complex(program):
        paired = complex_pairs.paired_forward(program, model)
        try:
            with forward_as(model, paired, names) as again:
                program = torch.export.export(again, inputs, dynamic_shapes=dims, strict=False)
        except complex_pairs.Unknown as unknown:
            raise wording.complex_numbers(unknown.node, load.reference_filename(reference.name)) from None
        program = with_own_names(decomposed(program))
    sizes = _declare_sizes(program, inputs)
    attributes = {*tensor_attributes(model), *example.replaced}
    translated = translate(program, names, sizes, load.reference_filename(reference.name), attributes)
    if any(_may_vary(leaf) and leaf.name in translated.updated for leaf in example.leaves):
        raise _Mismatch("a number is no tensor that can be updated")
    if floats != "constants":
        _check_outputs(program, example.outputs)
    guards = conditions((exported, program), sizes) if vary else ()
    return Traced(program, sizes, translated, guards, tuple(asking.conditions))


def _declare_sizes(program: ExportedProgram, inputs: Sequence[Any]) -> Sizes:
    sizes = Sizes()
    values = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
    for name, example in zip(program.graph_signature.user_inputs, inputs, strict=True):
        traced = values.get(name) if isinstance(name, str) else None
        if isinstance(traced, torch.Tensor) and isinstance(example, torch.Tensor):
            for size, value in zip(traced.shape, example.shape, strict=True):
                sizes.declare(size, int(value))
    return sizes


def _check_outputs(program: ExportedProgram, expected: list[Any]) -> None:
    """A float turned into a tensor may promote otherwise than a float does: int tensor times 2.5 is one case."""
    values = {n.name: n.meta.get("val") for n in program.graph.nodes}
    for name, want in zip(program.graph_signature.user_outputs, expected, strict=True):
        got = values.get(name) if isinstance(name, str) else None
        if isinstance(want, torch.Tensor) and (not isinstance(got, torch.Tensor) or got.dtype != want.dtype):
            raise _Mismatch(str(name))


def arguments_of(
    program: ExportedProgram, example: Example, sizes: Sizes, floats: Floats, updated: Collection[str]
) -> tuple[Argument, ...]:
    placeholders = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
    traced = (placeholders[name] for name in program.graph_signature.user_inputs)
    arguments, extents = [], _extents(example)
    for place, leaf in enumerate(example.leaves):
        common: dict[str, Any] = {
            "name": leaf.name,
            "path": leaf.path if len(leaf.path) > 1 else (),
            "given": leaf.given,
            "pairs": place in (example.reference.pairs or ()),
        }
        if isinstance(leaf.value, torch.Tensor):
            shape, dtype = sizes.dims(next(traced).shape), dtype_name(leaf.value.dtype)
            mutated = leaf.name in updated
            order = () if mutated or common["pairs"] else memory_order(leaf.value)
            value = example.reference.held.get(place)
            found = Argument(
                kind="tensor", dtype=dtype, shape=shape, value=value, mutated=mutated, order=order, **common
            )
            arguments.append(found)
        elif leaf.name in extents and isinstance((extent := sizes.dims(next(traced).shape))[0], str):
            found = Argument(kind="size", dtype="bool", shape=extent, value=leaf.value, **common)
            arguments.append(found)
        elif floats != "constants" and _may_vary(leaf):
            next(traced)
            arguments.append(Argument(kind="number", dtype="f64", value=leaf.value, **common))
        else:
            arguments.append(Argument(kind="constant", value=portable(leaf.value), **common))
    return tuple(arguments)

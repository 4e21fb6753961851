"""A reference file becomes a Task: its forward traced with `torch.export`, without computing anything.

The module and its inputs are made of fake tensors (shapes without data), so that capture takes the same
fraction of a second at any size; where a constructor or a generator looks at values, that part is made for real.
Worker side only.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch._decomp import get_decompositions
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.export import Dim, ExportedProgram

from akg_core.errors import TaskError
from akg_core.records import Argument, Graph, Interface, Task
from akg_core.task import load
from akg_core.task.fake import fake_mode, fake_or_real, quiet, run
from akg_core.task.graph import random_nodes, resolve
from akg_core.task.load import ReferenceModule
from akg_core.task.translate import Sizes, Translated, dtype_name, translate


def capture_job(payload: dict[str, Any]) -> dict[str, Any]:
    """Worker job: {path, name, dynamic, eval, scale, work} to a Task as JSON; `name`: the path as the user gave it."""
    task = capture_file(
        payload["path"],
        payload.get("name", ""),
        dynamic=payload.get("dynamic", False),
        eval=payload.get("eval", False),
        scale=payload.get("scale", 1.0),
        work=payload.get("work", 0),
    )
    return task.model_dump(mode="json")


def capture_file(
    path: str | Path,
    name: str = "",
    *,
    dynamic: bool = False,
    eval: bool = False,
    scale: float = 1.0,
    work: int = 0,
) -> Task:
    """Capture the reference file at `path`, which messages call `name`.

    `dynamic`: every size of every tensor may vary, as far as tracing allows (a file with `get_inputs_dyn_list`
    says itself which do). `eval`: switch the module to eval mode first. `scale`: shrink the file's integer constants;
    `work`: without a scale, shrink them until one call does at most about so much, first how many matrices or images
    there are (`akg_core.task.scale`).
    Raises TaskError.
    """
    source, name = load.read(path), name or str(path)
    notes: tuple[str, ...] = ()
    if scale != 1.0:
        from akg_core.task.scale import scaled

        source, notes = scaled(source, name, scale)
    elif work:
        from akg_core.task.scale import fitting, with_small_batch

        source, fewer = with_small_batch(source, name, work, rank=3)
        source, notes = fitting(source, name, work)
        notes = fewer + notes
    task = capture(load.load_source(source, name), dynamic=dynamic, eval=eval)
    return task.model_copy(update={"scale": scale, "notes": notes + task.notes})


def capture(reference: ReferenceModule, *, dynamic: bool = False, eval: bool = False) -> Task:
    """Capture a loaded reference; see `capture_file`."""
    try:
        return _capture(reference, dynamic=dynamic, eval=eval)
    except TaskError as error:
        if error.message.startswith(reference.name):
            raise
        raise TaskError(f"{reference.name}: {error.message}", error.cure) from None


def _capture(reference: ReferenceModule, *, dynamic: bool, eval: bool) -> Task:
    example = _example(reference, dynamic=dynamic, eval=eval)
    errors: list[Exception] = []
    for vary, numbers in _attempts(example):
        try:
            with quiet():
                program, sizes, translated = _trace(reference, example, vary=vary, numbers=numbers, eval=eval)
        except TaskError:
            raise
        except Exception as error:  # torch.export raises whatever the traced code and its own passes raise
            errors.append(error)
            continue
        return _task(reference, example, program, sizes, translated, vary, numbers)
    first = errors[0]
    line = load.line_of(first, reference.name)
    place = f"{reference.name}, line {line}" if line else reference.name
    raise TaskError(
        f"{place}: forward cannot be traced: {load.sentence(first)}.",
        "Make its control flow and sizes independent of tensor values.",
    ) from None


# --- the example call --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Example:
    """What is traced: a module (fake where that works), the arguments, and what forward gives for them."""

    mode: FakeTensorMode
    model: nn.Module
    names: tuple[str, ...]
    inputs: list[Any]
    varying: tuple[frozenset[int], ...]  # per argument, the dimensions that vary
    outputs: list[Any]  # flat, fake


def _example(reference: ReferenceModule, *, dynamic: bool, eval: bool) -> _Example:
    mode = fake_mode()
    model = fake_or_real(mode, lambda: reference.model(eval=eval))
    inputs = fake_or_real(mode, reference.inputs)
    lists = fake_or_real(mode, reference.input_lists)
    names = reference.argument_names(inputs)
    for name, value in zip(names, inputs, strict=True):
        _check_argument(reference.name, name, value)
    varying = tuple(
        frozenset(range(value.dim()))
        if dynamic and isinstance(value, torch.Tensor)
        else _differing(value, [other[i] for other in lists if i < len(other)])
        for i, value in enumerate(inputs)
    )
    # Forward may leave something in its module, so the one that is traced is another.
    probe = fake_or_real(mode, lambda: reference.model(eval=eval))
    before = tensor_attributes(probe)
    outputs = run(reference.name, mode, probe, inputs)
    for name, tensor in tensor_attributes(probe).items():
        if before.get(name, tensor) is not tensor:
            raise TaskError(
                f"{reference.name}: forward replaces the module's attribute {name}, which a kernel cannot.",
                "Make it a buffer (register_buffer) and update it in place.",
            )
    return _Example(mode, model, names, inputs, varying, outputs)


def _check_argument(file: str, name: str, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.is_quantized:
            raise TaskError(f"{file}: the argument {name} is a sparse or quantised tensor.", "Use dense tensors.")
        dtype_name(value.dtype)
    elif not _is_plain(value):
        raise TaskError(
            f"{file}: the argument {name} of forward is a {type(value).__name__}.",
            "Arguments are tensors, numbers, bools, strings, None, or lists of plain values.",
        )


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(item) for item in value)
    return value is None or type(value) in (bool, int, float, str)


def _differing(value: Any, others: Sequence[Any]) -> frozenset[int]:
    if not isinstance(value, torch.Tensor):
        return frozenset()
    same_rank = [o for o in others if isinstance(o, torch.Tensor) and o.dim() == value.dim()]
    return frozenset(d for d in range(value.dim()) if any(o.shape[d] != value.shape[d] for o in same_rank))


# --- tracing -----------------------------------------------------------------------------------------


def _attempts(example: _Example) -> list[tuple[bool, bool]]:
    """(sizes vary, floats are numbers), from what is wanted most to what always works."""
    vary = [True, False] if any(example.varying) else [False]
    numbers = [True, False] if any(isinstance(v, float) for v in example.inputs) else [False]
    return [(v, n) for v in vary for n in numbers]


class _Mismatch(Exception):
    """The traced program gives other dtypes or shapes than the reference."""


def _trace(
    reference: ReferenceModule, example: _Example, *, vary: bool, numbers: bool, eval: bool
) -> tuple[ExportedProgram, Sizes, Translated]:
    inputs = tuple(
        torch.tensor(value, dtype=torch.float64) if numbers and isinstance(value, float) else value
        for value in example.inputs
    )
    dims = None
    if vary:
        dims = tuple(
            dict.fromkeys(sorted(varying), Dim.AUTO) if isinstance(value, torch.Tensor) else None
            for value, varying in zip(inputs, example.varying, strict=True)
        )
    model = example.model
    program = torch.export.export(model, inputs, dynamic_shapes=dims, strict=False)
    if any(isinstance(constant, FakeTensor) for constant in program.constants.values()):
        # Decomposition computes with constants, so they must be real.
        model = reference.model(eval=eval)
        program = torch.export.export(model, inputs, dynamic_shapes=dims, strict=False)
    program = program.run_decompositions(_decompositions())
    sizes = _declare_sizes(program, inputs)
    tensors = [n if isinstance(v, torch.Tensor) else None for n, v in zip(example.names, inputs, strict=True)]
    attributes = tensor_attributes(model)
    translated = translate(program, tensors, sizes, load.reference_filename(reference.name), attributes)
    if numbers:
        _check_outputs(program, example.outputs)
    return program, sizes, translated


def _decompositions() -> Any:
    """PyTorch's own table, with interpolation, which is gathers and elementwise work.

    Without recurrent layers: unrolled, they are thousands of operators and minutes.
    """
    table = torch.export.default_decompositions()
    aten = torch.ops.aten
    interpolation = [aten.upsample_nearest2d.vec, aten.upsample_bilinear2d.vec, aten.grid_sampler_2d.default]
    table.update(get_decompositions(interpolation))
    for packet in (torch.ops.aten.lstm, torch.ops.aten.gru, torch.ops.aten.rnn_tanh, torch.ops.aten.rnn_relu):
        for overload in packet.overloads():
            table.pop(getattr(packet, overload), None)
    return table


def _declare_sizes(program: ExportedProgram, inputs: Sequence[Any]) -> Sizes:
    sizes = Sizes()
    values = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
    for name, example in zip(program.graph_signature.user_inputs, inputs, strict=True):
        traced = values.get(name) if isinstance(name, str) else None
        if isinstance(traced, torch.Tensor) and isinstance(example, torch.Tensor):
            for size, value in zip(traced.shape, example.shape, strict=True):
                sizes.declare(size, int(value))
    for symbol, bounds in program.range_constraints.items():
        sizes.bound(symbol, int(bounds.lower))
    return sizes


def tensor_attributes(model: nn.Module) -> dict[str, torch.Tensor]:
    """The tensors that are plain attributes of a module or its parts, by qualified name."""
    return {
        f"{prefix}.{key}".removeprefix("."): value
        for prefix, module in model.named_modules()
        for key, value in vars(module).items()
        if isinstance(value, torch.Tensor)
    }


def _check_outputs(program: ExportedProgram, expected: list[Any]) -> None:
    """A float turned into a tensor may promote otherwise than a float does: int tensor times 2.5 is one case."""
    values = {n.name: n.meta.get("val") for n in program.graph.nodes}
    for name, want in zip(program.graph_signature.user_outputs, expected, strict=True):
        got = values.get(name) if isinstance(name, str) else None
        if isinstance(want, torch.Tensor) and (not isinstance(got, torch.Tensor) or got.dtype != want.dtype):
            raise _Mismatch(str(name))


# --- the record --------------------------------------------------------------------------------------


def _task(
    reference: ReferenceModule,
    example: _Example,
    program: ExportedProgram,
    sizes: Sizes,
    translated: Translated,
    vary: bool,
    numbers: bool,
) -> Task:
    arguments = _arguments(program, example, sizes, numbers)
    packing, keys, named = _packing(reference.name, program)
    graph = _with_output_strides(translated.graph, example.outputs, sizes.values if vary else {})
    interface = Interface(
        arguments=arguments, parameters=translated.parameters, packing=packing, keys=keys, named=named
    )
    notes = (*translated.notes, *_notes(example, arguments, graph, vary))
    notes += tuple(
        f"The size {name} is at least {least}: forward depends on it." for name, least in sizes.least.items()
    )
    return Task(
        name=Path(reference.name).stem,
        source=reference.source,
        interface=interface,
        graph=graph,
        training=example.model.training,
        symbols=sizes.values,
        least=sizes.least,
        notes=notes,
    )


def _arguments(program: ExportedProgram, example: _Example, sizes: Sizes, numbers: bool) -> tuple[Argument, ...]:
    traced = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
    arguments = []
    for name, value, graph_name in zip(example.names, example.inputs, program.graph_signature.user_inputs, strict=True):
        if isinstance(value, torch.Tensor):
            shape = sizes.dims(traced[graph_name].shape)
            arguments.append(Argument(name=name, kind="tensor", dtype=dtype_name(value.dtype), shape=shape))
        elif numbers and isinstance(value, float):
            arguments.append(Argument(name=name, kind="number", dtype="f64", value=value))
        else:
            arguments.append(Argument(name=name, kind="constant", value=value))
    return tuple(arguments)


def _packing(file: str, program: ExportedProgram) -> tuple[Any, tuple[str, ...], str]:
    """How outputs are packed, the keys of a dict, and which named tuple of PyTorch's a tuple is."""
    spec = program.call_spec.out_spec
    if spec.is_leaf():
        return "tensor", (), ""
    if not all(child.is_leaf() for child in spec.children()):
        raise TaskError(f"{file}: forward returns nested collections.", "Return a flat tuple, list or dict of tensors.")
    kind = spec.type
    if isinstance(kind, type) and issubclass(kind, dict):
        keys = spec.context if isinstance(spec.context, list) else list(spec.context[1])
        return "dict", tuple(str(key) for key in keys), ""
    if isinstance(kind, type) and kind.__module__ == "torch.return_types":
        return "tuple", (), f"torch.return_types.{kind.__name__}"
    if kind not in (tuple, list):
        name = getattr(spec.context if kind is namedtuple else kind, "__name__", "collection")
        raise TaskError(
            f"{file}: forward returns a {name}, a type of its own.", "Return a plain tuple, list or dict of tensors."
        )
    return kind.__name__, (), ""


def _with_output_strides(graph: Graph, outputs: list[Any], symbols: dict[str, int]) -> Graph:
    """Give the outputs the strides of the reference's: decompositions may lay results out otherwise.

    Where sizes vary, what is contiguous in the example is so at all sizes, and other strides are the trace's.
    """
    strides: dict[tuple[str, int], tuple[int | str, ...]] = {}
    shapes = {(node.name, i): shape for node in graph.nodes for i, shape in enumerate(node.shapes)}
    for text, tensor in zip(graph.outputs, outputs, strict=True):
        if text is not None and isinstance(tensor, torch.Tensor):
            if not symbols:
                strides[resolve(text)] = tuple(tensor.stride())
            elif tensor.is_contiguous() and (shape := shapes.get(resolve(text))):
                strides[resolve(text)] = _contiguous(shape)
    nodes = tuple(
        node.model_copy(update={"strides": tuple(strides.get((node.name, i), s) for i, s in enumerate(node.strides))})
        for node in graph.nodes
    )
    return graph.model_copy(update={"nodes": nodes})


def _contiguous(shape: tuple[int | str, ...]) -> tuple[int | str, ...]:
    strides: list[int | str] = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, size if strides[0] == 1 else f"({size} * {strides[0]})")
    return tuple(strides)


def _notes(example: _Example, arguments: Sequence[Argument], graph: Graph, vary: bool) -> list[str]:
    notes = []
    if any(example.varying) and not vary:
        notes.append("The sizes were captured as they are: tracing with varying sizes failed.")
    elif vary:
        for argument, varying in zip(arguments, example.varying, strict=True):
            for d in sorted(varying):
                if isinstance(argument.shape[d], int):
                    notes.append(f"Dimension {d} of {argument.name} stays {argument.shape[d]}: forward depends on it.")
    notes += [f"The argument {a.name} is fixed to {a.value!r}." for a in arguments if a.kind == "constant"]
    for node in random_nodes(graph):
        notes.append(f"forward draws random numbers with {node.op}" + (f" ({node.where})." if node.where else "."))
    if graph.mutations:
        notes.append(f"forward updates {', '.join(graph.mutations)}.")
    return notes

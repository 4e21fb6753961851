"""A reference file becomes a Task: its forward traced with `torch.export`, without computing anything.

The module and its inputs are made of fake tensors (shapes without data), so that capture takes the same
fraction of a second at any size; where a constructor or a generator looks at values, that part is made for real.
Worker side only.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from akg_core.errors import TaskError, ValuesUnknown
from akg_core.records import Graph, Interface, Task
from akg_core.task import complex_border
from akg_core.task.export import wording
from akg_core.task.export.cases import cases_of, refusing
from akg_core.task.export.example import Example, make_example
from akg_core.task.export.fake import quiet
from akg_core.task.export.held import decisive
from akg_core.task.export.notes import guarded, notes_of, redrawn
from akg_core.task.export.packing import has_named, packing
from akg_core.task.export.traced import Floats, Traced, arguments_of, attempts, trace
from akg_core.task.graph import dense, random_nodes, resolve
from akg_core.task.source import load
from akg_core.task.source.load import ReferenceModule
from akg_core.task.tracing.bincount import require_bounded


def capture_job(payload: dict[str, Any]) -> dict[str, Any]:
    """Worker job: {path, name, dynamic, eval, scale, work, integers} to a Task as JSON; `name`: as the user gave it."""
    task = capture_file(
        payload["path"],
        payload.get("name", ""),
        dynamic=payload.get("dynamic", False),
        eval=payload.get("eval", False),
        scale=payload.get("scale", 1.0),
        work=payload.get("work", 0),
        integers=payload.get("integers", True),
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
    integers: bool = True,
) -> Task:
    """Capture the reference file at `path`, which messages call `name`.

    `dynamic`: every size of every tensor may vary, as far as tracing allows (a file with `get_inputs_dyn_list`
    says itself which do). `eval`: switch the module to eval mode first. `scale`: shrink the sizes that the file
    spells out; `work`: without a scale, shrink them until one call does at most about so much, first how many matrices
    or images there are, then how large these are (`akg_core.task.scaling.scale`). `integers`: ints may be sizes that
    vary.
    Raises TaskError.
    """
    source, name = load.read(path), name or str(path)
    notes: tuple[str, ...] = ()
    if scale != 1.0:
        from akg_core.task.scaling.scale import scaled

        source, notes = scaled(source, name, scale)
    elif work:
        from akg_core.task.scaling.scale import fitting

        source, notes = fitting(source, name, work, rank=3)
    task = capture(load.load_source(source, name, traced=True), dynamic=dynamic, eval=eval, integers=integers)
    return task.model_copy(update={"scale": scale, "notes": notes + task.notes})


def capture(reference: ReferenceModule, *, dynamic: bool = False, eval: bool = False, integers: bool = True) -> Task:
    """Capture a loaded reference; see `capture_file`."""
    try:
        return _capture(reference, dynamic=dynamic, eval=eval, integers=integers)
    except TaskError as error:
        if error.message.startswith(reference.name):
            raise
        between = ", " if error.message.startswith("line ") else ": "
        raise TaskError(f"{reference.name}{between}{error.message}", error.cure) from None


def _capture(reference: ReferenceModule, *, dynamic: bool, eval: bool, integers: bool) -> Task:
    try:
        return _captured(reference, dynamic=dynamic, eval=eval, integers=integers)
    except ValuesUnknown as error:
        reference, refused = reference.with_plain_arguments(), error
    errors = list[TaskError]()
    for held in decisive(reference, eval=eval):
        try:
            task = _captured(replace(reference, held=held), dynamic=dynamic, eval=eval, integers=integers)
        except TaskError as error:
            errors.append(error)
            continue
        return task.model_copy(update={"notes": (*task.notes, *redrawn(reference, task.interface))})
    raise next((each for each in errors if not isinstance(each, ValuesUnknown)), refused) from None


def _captured(reference: ReferenceModule, *, dynamic: bool, eval: bool, integers: bool) -> Task:
    example = make_example(reference, dynamic=dynamic, eval=eval)
    reference = example.reference
    errors: list[Exception] = []
    for varying, floats, early in attempts(example, integers):
        tried = replace(example, varying=varying)
        try:
            with quiet():
                traced = trace(reference, tried, floats=floats, early=early, eval=eval)
        except TaskError:
            raise
        except Exception as error:  # torch.export raises whatever the traced code and its own passes raise
            errors.append(error)
            continue
        return _task(reference, example, tried, traced, floats)
    first = errors[0]
    if "torch._C.Generator" in str(first):  # as versions of PyTorch say that cannot trace one
        raise wording.no_tensor() from None
    if (refused := wording.of_values(first, reference.name)) is not None:
        raise refused from None
    line = load.line_of(first, reference.name)
    place = f"{reference.name}, line {line}" if line else reference.name
    raise TaskError(
        f"{place}: forward cannot be traced: {load.sentence(first)}.",
        "Make its control flow and sizes independent of tensor values.",
    ) from None


def _task(reference: ReferenceModule, example: Example, tried: Example, traced: Traced, floats: Floats) -> Task:
    """The record of `tried`, the example with so much varying as could be traced."""
    sizes, translated, vary = traced.sizes, traced.translated, any(tried.varying)
    arguments = arguments_of(traced.program, tried, sizes, floats, translated.updated)
    held = complex_border.held(example.model)
    packed = packing(reference.name, traced.program.call_spec.out_spec, iter(translated.constants))
    if reference.held and (numbers := [text for text in translated.constants if text not in ("", "None")]):
        said = f"{_place(reference)}: forward returns {numbers[0]}, which is not a tensor and which tensors may decide."
        raise TaskError(said, "Return tensors only.")
    tensors = [place for place, output in enumerate(translated.graph.outputs) if output is not None]
    handed = {tensors.index(at): name for at, name in example.handed.items() if name in translated.updated}
    if not any(translated.graph.outputs):  # what updates arguments is among these
        raise TaskError(f"{_place(reference)}: forward returns nothing.", "Return a tensor.")
    graph = _with_output_strides(translated.graph, example.outputs, sizes.values if vary else {})
    interface = Interface(
        arguments=arguments,
        parameters=tuple(p.model_copy(update={"pairs": p.name in held}) for p in translated.parameters),
        packing=packed.packing,
        keys=packed.keys,
        named=packed.named,
        parts=packed.parts if any(part.packing != "tensor" for part in packed.parts) else (),
        handed=handed,
        guards=traced.guards,
        absent=traced.absent,
        empty=traced.empty,
        asked=traced.asked,
        seeded=bool(random_nodes(graph)),
        pairs=example.complex_outputs,
        records=reference.records or has_named(packed),
        settled=example.settled,
    )
    require_bounded(graph, interface)
    notes = (*translated.notes, *notes_of(example, arguments, graph, vary))
    cases, refused = cases_of(example.others, sizes.values if vary else {}, interface)
    notes += (*guarded(interface), *refusing(len(refused), len(example.others)))
    return Task(
        name=Path(reference.name).stem,
        source=reference.source,
        interface=interface,
        graph=graph,
        training=example.model.training,
        symbols=sizes.values,
        cases=cases,
        refused=refused,
        notes=notes,
    )


def _place(reference: ReferenceModule) -> str:
    """The file, and the line of `forward` where it is in the file."""
    code = getattr(inspect.unwrap(reference.Model.forward), "__code__", None)
    if code is not None and code.co_filename == load.reference_filename(reference.name):
        return f"{reference.name}, line {code.co_firstlineno}"
    return reference.name


def _with_output_strides(graph: Graph, outputs: list[Any], symbols: dict[str, int]) -> Graph:
    """Give the outputs the strides of the reference's: decompositions may lay results out otherwise.

    Where sizes vary, what is contiguous in the example is so at all sizes, and other strides are the trace's.
    """
    strides: dict[tuple[str, int], tuple[int | str, ...]] = {}
    shapes = {(node.name, i): shape for node in graph.nodes for i, shape in enumerate(node.shapes)}
    for text, tensor in zip(graph.outputs, outputs, strict=False):  # what updates arguments has no strides of its own
        if text is not None and isinstance(tensor, torch.Tensor):
            if not symbols:
                strides[resolve(text)] = tuple(tensor.stride())
            elif tensor.is_contiguous() and (shape := shapes.get(resolve(text))):
                strides[resolve(text)] = dense(shape)
    nodes = tuple(
        node.model_copy(update={"strides": tuple(strides.get((node.name, i), s) for i, s in enumerate(node.strides))})
        for node in graph.nodes
    )
    return graph.model_copy(update={"nodes": nodes})

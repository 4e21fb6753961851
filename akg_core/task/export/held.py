"""Arguments whose content says how large results are or how often a loop turns: grids of patches, lengths.

Where no trace goes without it, such an argument is held: the graph is for the content that `get_inputs` gives first.
Worker side only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from akg_core.errors import TaskError
from akg_core.task.arguments import flat
from akg_core.task.export.fake import fake_mode, fake_or_real, run
from akg_core.task.source.load import ReferenceModule
from akg_core.task.tracing import steps
from akg_core.task.tracing.contents import Contents

_MOST = 1 << 12  # elements of an argument
_DTYPES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)  # masks are data


def decisive(reference: ReferenceModule, *, eval: bool) -> list[dict[int, Any]]:
    """What arguments hold that forward has to know, by their places: as few as do to run it, and all that it asks for,
    which a trace may need. None where that does not help."""
    if not _candidates(reference):
        return []
    values = flat((), reference.inputs())
    candidates = {place: value.tolist() for place, value in enumerate(values) if _may_be_held(value)}
    read = _read(reference, candidates, eval)
    asked = found = {place: candidates[place] for place in sorted(read or ())}
    for place in asked if len(asked) > 1 else ():
        fewer = {other: content for other, content in found.items() if other != place}
        if _read(reference, fewer, eval) is not None:
            found = fewer
    return [each for each in (found, asked if len(asked) > len(found) else {}) if each]


def required(reference: ReferenceModule, *, eval: bool) -> dict[int, Any]:
    """What is `decisive`, where forward does not run without; else none."""
    if not _candidates(reference) or _read(reference, {}, eval) is not None:
        return {}
    return next(iter(decisive(reference, eval=eval)), {})


def _candidates(reference: ReferenceModule) -> bool:
    """Whether an argument may be held, by its shape."""
    return any(map(_may_be_held, flat((), reference.examples())))


def _may_be_held(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in _DTYPES and 0 < value.numel() <= _MOST


def _read(reference: ReferenceModule, held: Mapping[int, Any], eval: bool) -> set[int] | None:
    """Of which of these arguments forward asks what they hold, if that is all that it has to know."""
    steps.restart()
    mode, contents = fake_mode(), Contents(held)
    try:
        model = fake_or_real(mode, lambda: reference.model(eval=eval))
        inputs = fake_or_real(mode, replace(reference, held=held).inputs)
        run(reference.name, mode, model, inputs, contents=contents)
    except TaskError:
        return None
    return contents.read

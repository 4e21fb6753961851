"""Cases at sizes of which the captured graph says nothing: a kernel refuses them, or answers as the reference does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from akg_core.judge.records import OutputComparison
from akg_core.judge.reference.drawing import Reference
from akg_core.judge.reference.host_checks import checked
from akg_core.task.source.load import sentence


def refusal(reference: Reference, arguments: Sequence[Any]) -> str:
    """Why the reference raises on these arguments; "" where it does not, or only for want of memory."""
    try:
        with torch.no_grad(), checked(reference.device.name):
            reference.model(*arguments)
    except (MemoryError, torch.OutOfMemoryError):
        return ""
    except Exception as error:
        return sentence(error)
    return ""


def answered(why: str) -> dict[str, Any]:
    """The comparison of an answer with none: what `compare_job` says where the reference raises."""
    output = OutputComparison(name="output", ok=False, reason=f"there must be none, for the reference raises ({why})")
    return {"outputs": [output.model_dump(mode="json")], "unexpected": [], "same": None, "error": ""}

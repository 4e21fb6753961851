"""launches.json: with which dtypes, numbers and options kernels are launched, for a compiler that comes before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from akg_core.plugin import KernelSource

DESCRIPTION = "launches.json"  # beside model_new.py


def describe(launches: Sequence[dict[str, Any]], module: str) -> str:
    """The file's text for a model_new.py, which each launch names: one that is changed launches otherwise."""
    return json.dumps([{**each, "of": _digest(module)} for each in launches], indent=1) + "\n"


def launches_of(source: KernelSource) -> list[dict[str, Any]]:
    """The launches that were described for this source's model_new.py; none where nobody did."""
    try:
        told = json.loads(source.files.get(DESCRIPTION, "[]"))
    except ValueError:
        return []
    known = [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []
    return [each for each in known if each.get("of") == _digest(source.files[source.entry])]


def _digest(module: str) -> str:
    return hashlib.sha256(module.encode()).hexdigest()[:16]

"""A job that says where it runs and what it finds there."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from typing import Any


def look(payload: dict[str, Any]) -> dict[str, Any]:
    """Worker job: {} → the versions of tiler, the Python's folder, and where some modules are found."""
    import tiler

    found = {name: importlib.util.find_spec(name) for name in ("akg_core", "pydantic", "torch")}
    places = {name.removeprefix("akg_"): spec.origin for name, spec in found.items() if spec}
    return {"tiler": tiler.VERSION, "metadata": importlib.metadata.version("tiler"), "prefix": sys.prefix, **places}


look_here = look

"""Loops whose turns overlap: which these are, and how many turns' factors are in shared memory at once."""

from __future__ import annotations

import re

from akg_core.plugin.lower import Lines, Op
from akg_core.plugin.sketch import DTYPES, Number
from akg_plugin_tilelang.emit.region import RegionPrinter

STAGES, BYTES = 3, 200 * 1024  # of factors that are loaded ahead
_FOLLOWS = re.compile(r"T\.(gemm|copy|reduce_\w+)\(|for .* in T\.Parallel\(|[\w.]+(\[.*\])? = ")


def stages(printer: RegionPrinter, op: Op, body: Lines) -> int:
    """How many turns of a loop are at hand at once: as many as the sketch says or is usual, and fit; 1: they follow."""
    if not _is_staged(printer, body):
        return 1
    asked = op.hints.get("stages")
    loaded = [each.target for each in op.body if each.target is not None and each.target.name in printer.factors]
    if any(value.name in printer.gathered for value in loaded):
        printer.options["tl.disable_warp_specialized"] = True
    size = sum(printer.body.lanes_of(value.axes) * DTYPES[value.dtype].size for value in loaded)
    return min(int(asked.value) if isinstance(asked, Number) else STAGES, BYTES // max(size, 1))


def _is_staged(printer: RegionPrinter, body: Lines) -> bool:
    """Whether the turns load factors, multiply them, and go on with what they hold: TileLang overlaps these.

    Nothing else may read or write memory: its place in time would change.
    """
    _begin, *rest = (line.text.strip() for line in body.flat())
    if not any(text.startswith("T.gemm(") for text in rest) or not all(map(_FOLLOWS.match, rest)):
        return False
    others = [text for text in rest if not text.startswith("T.copy(") and text.partition("[")[0] not in printer.copied]
    named = {name for text in others for name in re.findall(r"(\w+)\[", text)}
    return len(others) < len(rest) and not named & set(printer.terms.tensors)

"""Loops whose turns overlap: which these are, and how many turns' factors are in shared memory at once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from akg_core.plugin.lower import Lines, Op
from akg_core.plugin.sketch import DTYPES, Number
from akg_plugin_tilelang.emit.reads import is_loaded
from akg_plugin_tilelang.emit.region import RegionPrinter

STAGES, BYTES = 3, 224 * 1024  # of factors that are loaded ahead
_FOLLOWS = re.compile(r"T\.(gemm|copy|im2col|reduce_\w+)\(|for .* in T\.Parallel\(|[\w.]+(\[.*\])? = ")


def stages(printer: RegionPrinter, op: Op, body: Lines) -> int:
    """How many turns of a loop are loaded ahead: as many as the sketch says or is usual, and fit; 0: they follow."""
    asked = op.hints.get("stages")
    wanted = int(asked.value) if isinstance(asked, Number) else STAGES
    branches = [each for each in op.body if each.kind == "if"]
    plain = all(
        each.kind == "map" and not each.loads() for branch in branches for each in (*branch.body, *branch.orelse)
    )
    if wanted < 1 or not plain or not _is_staged(printer, body, len(branches)):
        return 0
    made = {each.target.name for each in op.body if each.target is not None}
    if made & printer.gathered:
        printer.options["tl.disable_warp_specialized"] = True
    once, *loops = _factor_bytes(printer, printer.region.ops)
    own = sum(_factor_bytes(printer, op.body))
    others = max(sum(loops) - own, 0)  # one turn each, beside what those before load ahead
    room = BYTES - once - others - printer.ahead
    found = max(min(wanted, room // max(own, 1)), 1)
    printer.ahead += (found - 1) * own
    return found


def _factor_bytes(printer: RegionPrinter, ops: Sequence[Op]) -> list[int]:
    """The bytes of factors that are loaded there, and of those of a turn of each loop, which all have their own."""
    once, loops = 0, list[int]()
    for op in ops:
        inner, *further = _factor_bytes(printer, (*op.body, *op.orelse)) if op.body or op.orelse else (0,)
        loops += [inner, *further] if op.kind == "tiles" else further
        once += 0 if op.kind == "tiles" else inner
        if op.kind == "map" and op.target is not None and op.target.name in printer.factors and op.expr is not None:
            once += printer.body.lanes_of(op.target.axes) * DTYPES[op.target.dtype].size * is_loaded(op.expr)
    return [once, *loops]


def _is_staged(printer: RegionPrinter, body: Lines, branches: int) -> bool:
    """Whether the turns load factors, multiply them, and go on with what they hold: TileLang overlaps these.

    Nothing else may read or write memory: its place in time would change. `branches`: of what they hold alone.
    """
    _begin, *every = (line.text.strip() for line in body.flat())
    rest = [text for text in every if text != "else:" and not text.startswith("if ")]
    if sum(text.startswith("if ") for text in every) != branches:
        return False
    if not any(text.startswith("T.gemm(") for text in rest) or not all(map(_FOLLOWS.match, rest)):
        return False
    loads = ("T.copy(", "T.im2col(")
    others = [text for text in rest if not text.startswith(loads) and text.partition("[")[0] not in printer.copied]
    named = {name for text in others for name in re.findall(r"(\w+)\[", text)}
    return len(others) < len(rest) and not named & set(printer.terms.tensors)

"""What emitters are made of, from a bound sketch to text.

`instances` gives each different way in which the program launches a kernel, with every number folded in that is known.
`body_of` turns an instance into the tile IR (Body, Region, Axis, Value, Op), `plan` that into loop nests for languages
of scalars and vectors (Block, Loop, Leaf); for languages of tiles see `akg_core.plugin.tile`. `Lines` collects source
with the lines of the sketch that it is for, `annotated` writes them out, and `write_module` writes model_new.py around
the text that launches each `Call` of the program (`HostNames`, and `LOADING` for kernels in Python), or all turns of a
loop at once (`TurnsLauncher`).
"""

from akg_core.lower.access import place, step, uniform
from akg_core.lower.approximable import approximable, read_elsewhere
from akg_core.lower.bits import with_bits
from akg_core.lower.build import body_of
from akg_core.lower.explicit import hold, make_explicit
from akg_core.lower.fold import fold, product
from akg_core.lower.host.call import Call
from akg_core.lower.host.checks import TORCH_NAMES, python_tuple
from akg_core.lower.host.module import write_module
from akg_core.lower.host.turns import TURN, TurnsLauncher
from akg_core.lower.ir import Axis, Body, Op, Region, Value, dtype_of, element_of, inside
from akg_core.lower.loops.grid import positions, tiles_of, uneven
from akg_core.lower.loops.lane_access import LaneAccess, formulas, lane_access, order, spelled
from akg_core.lower.loops.lanes import on_lines, squares
from akg_core.lower.loops.look_ahead import Lookup, lookups
from akg_core.lower.loops.nest import Block, Leaf, Loop, Plan, plan
from akg_core.lower.loops.updates import owned, updates
from akg_core.lower.precedence import ATOM, LOOSE, PRODUCT, RANKS, SUM, Ranked
from akg_core.lower.python_launch import LOADING, HostNames
from akg_core.lower.reach import reach, reach_of
from akg_core.lower.scalars import float_dtype, refuse_lacking, with_floats
from akg_core.lower.source_text import Line, Lines, annotated
from akg_core.lower.specialise import Instance, instances, renamed, sizes_at

__all__ = [
    "ATOM",
    "LOADING",
    "LOOSE",
    "PRODUCT",
    "RANKS",
    "SUM",
    "TORCH_NAMES",
    "TURN",
    "Axis",
    "Block",
    "Body",
    "Call",
    "HostNames",
    "Instance",
    "LaneAccess",
    "Leaf",
    "Line",
    "Lines",
    "Lookup",
    "Loop",
    "Op",
    "Plan",
    "Ranked",
    "Region",
    "TurnsLauncher",
    "Value",
    "annotated",
    "approximable",
    "body_of",
    "dtype_of",
    "element_of",
    "float_dtype",
    "fold",
    "formulas",
    "hold",
    "inside",
    "instances",
    "lane_access",
    "lookups",
    "make_explicit",
    "on_lines",
    "order",
    "owned",
    "place",
    "plan",
    "positions",
    "product",
    "python_tuple",
    "reach",
    "reach_of",
    "read_elsewhere",
    "refuse_lacking",
    "renamed",
    "sizes_at",
    "spelled",
    "squares",
    "step",
    "tiles_of",
    "uneven",
    "uniform",
    "updates",
    "with_bits",
    "with_floats",
    "write_module",
]

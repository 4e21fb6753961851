"""What a schedule needs on a chip, whose numbers a plugin gives: `ProgramLimits` of a program, `UnitLimits` of a unit.

Of the IR: `pipeline` gives loops their stages, `operands_of` a product (refused where one is too large), `warps_of` a
program. Of what a compiler gave: `programs_at_once`, `occupancy`, `shortage`.
"""

from akg_core.lower.resources.limits import ProgramLimits, UnitLimits
from akg_core.lower.resources.occupancy import occupancy, programs_at_once, shortage
from akg_core.lower.resources.software_pipeline import operands_of, pipeline
from akg_core.lower.resources.threads import warps_of

__all__ = [
    "ProgramLimits",
    "UnitLimits",
    "occupancy",
    "operands_of",
    "pipeline",
    "programs_at_once",
    "shortage",
    "warps_of",
]

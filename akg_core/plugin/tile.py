"""From the tile IR to what a printer of a language of tiles prints.

`tile_ir(instance, reserved, workspace)` builds it and takes it through the passes of `akg_core/lower/tile`; `decompose`
writes out functions that a language lacks, and `show_ir` is the text of what came out. `order` says which axis is the
first dimension of tiles and which the last.

Further down, region by region, for a language of programs in one dimension: `load_blocks` where a unit copies memory,
`lower_to_indices` makes numbers of grids, loops, positions and masks, and `lower_all_reduce` writes out how programs
wait for each other.
"""

from akg_core.lower.decompose import decompose
from akg_core.lower.divisors import Divisors
from akg_core.lower.fold import tiles_of
from akg_core.lower.products import DotStrategies, DotStrategy, is_matrix_product, precision_of, strategy_of
from akg_core.lower.show import show_ir
from akg_core.lower.substitute import replaced
from akg_core.lower.tile.all_reduce import AllReduced, Workspace, lower_all_reduce
from akg_core.lower.tile.blocks import load_blocks
from akg_core.lower.tile.indices import lower_to_indices
from akg_core.lower.tile.masks import EXISTS, conjuncts, over_all
from akg_core.lower.tile.order import Pairing, accesses, gathers, order, pairings
from akg_core.lower.tile.pipeline import tile_ir
from akg_core.lower.tile.programs import Programs, programs_of
from akg_core.lower.tile.waits import waits

__all__ = [
    "EXISTS",
    "AllReduced",
    "Divisors",
    "DotStrategies",
    "DotStrategy",
    "Pairing",
    "Programs",
    "Workspace",
    "accesses",
    "conjuncts",
    "decompose",
    "gathers",
    "is_matrix_product",
    "load_blocks",
    "lower_all_reduce",
    "lower_to_indices",
    "order",
    "over_all",
    "pairings",
    "precision_of",
    "programs_of",
    "replaced",
    "show_ir",
    "strategy_of",
    "tile_ir",
    "tiles_of",
    "waits",
]

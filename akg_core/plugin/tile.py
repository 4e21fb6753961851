"""From the tile IR to what a printer of a language of tiles prints, pass by pass.

`body_of(instance, reserved, KEPT)` begins; then come, in this order and as far as a language wants them,
`propagate_copies`, `make_explicit`, `decompose`, `unroll_single`, `pad`, `write_out_taps`, `write_out_rows`,
`collect_constants`, `share`, `interleave`, `mask`, `keep_lanewise`; `verify` raises BrokenIR where one of them erred,
and `show_ir` is the text of what came out. `order` says which axis is the first dimension of tiles and which the last.

Further down, region by region, for a language of programs in one dimension: `load_blocks` where a unit copies memory,
`lower_to_indices` makes numbers of grids, loops, positions and masks, and `lower_all_reduce` writes out how programs
wait for each other.
"""

from akg_core.lower.build import KEPT
from akg_core.lower.decompose import decompose
from akg_core.lower.divisors import Divisors
from akg_core.lower.explicit import make_explicit
from akg_core.lower.fold import tiles_of
from akg_core.lower.products import DotStrategies, DotStrategy, is_matrix_product, precision_of, strategy_of
from akg_core.lower.show import show_ir
from akg_core.lower.substitute import replaced
from akg_core.lower.tile.all_reduce import AllReduced, Workspace, lower_all_reduce
from akg_core.lower.tile.blocks import load_blocks
from akg_core.lower.tile.common_subexpressions import share
from akg_core.lower.tile.constants import collect_constants
from akg_core.lower.tile.copies import propagate_copies
from akg_core.lower.tile.indices import lower_to_indices
from akg_core.lower.tile.interleave import interleave
from akg_core.lower.tile.lanewise import keep_lanewise
from akg_core.lower.tile.masks import EXISTS, mask
from akg_core.lower.tile.order import Pairing, accesses, gathers, order, pairings
from akg_core.lower.tile.padding import pad
from akg_core.lower.tile.programs import Programs
from akg_core.lower.tile.rows import write_out_rows
from akg_core.lower.tile.single import unroll_single
from akg_core.lower.tile.window_taps import write_out_taps
from akg_core.lower.verify import BrokenIR, verify

__all__ = [
    "EXISTS",
    "KEPT",
    "AllReduced",
    "BrokenIR",
    "Divisors",
    "DotStrategies",
    "DotStrategy",
    "Pairing",
    "Programs",
    "Workspace",
    "accesses",
    "collect_constants",
    "decompose",
    "gathers",
    "interleave",
    "is_matrix_product",
    "keep_lanewise",
    "load_blocks",
    "lower_all_reduce",
    "lower_to_indices",
    "make_explicit",
    "mask",
    "order",
    "pad",
    "pairings",
    "precision_of",
    "propagate_copies",
    "replaced",
    "share",
    "show_ir",
    "strategy_of",
    "tiles_of",
    "unroll_single",
    "verify",
    "write_out_rows",
    "write_out_taps",
]

"""All passes that printers of languages of tiles share, in their order."""

from __future__ import annotations

from collections.abc import Callable, Collection

from akg_core.lower.build import KEPT, body_of
from akg_core.lower.divisors import Divisors
from akg_core.lower.explicit import make_explicit
from akg_core.lower.ir import Body
from akg_core.lower.specialise import Instance
from akg_core.lower.tile.common_subexpressions import share
from akg_core.lower.tile.constants import collect_constants
from akg_core.lower.tile.copies import propagate_copies
from akg_core.lower.tile.interleave import interleave
from akg_core.lower.tile.lanewise import keep_lanewise
from akg_core.lower.tile.masks import mask
from akg_core.lower.tile.padding import pad
from akg_core.lower.tile.rows import write_out_rows
from akg_core.lower.tile.single import unroll_single
from akg_core.lower.tile.window_taps import write_out_taps
from akg_core.lower.verify import verify

_LEAST = 16  # lanes of an axis that matrix units run along


def tile_ir(
    instance: Instance,
    reserved: frozenset[str],
    workspace: int,
    lacking: Collection[str] = (),
    known_at_launch: str = "f64",
    own: Callable[[Body], None] = lambda body: None,
    granule: int = 0,
) -> tuple[Body, Divisors]:
    """The tile IR of an instance, ready to be printed, and what divides its indices.

    `reserved`: names that the language takes. `workspace`: lanes that a program keeps at most. `lacking`,
    `known_at_launch`: see `make_explicit`. `own`: a pass of the language's own, before loops of one tile go. `granule`:
    see `pad`. Raises BrokenIR where a pass erred.
    """
    body = body_of(instance, reserved, KEPT)
    make_explicit(body, lacking, known_at_launch)
    propagate_copies(body)
    own(body)
    unroll_single(body)
    divisors = pad(body, _LEAST, granule)
    write_out_taps(body)
    write_out_rows(body)
    collect_constants(body)
    share(body)
    interleave(body, divisors)
    mask(body)
    keep_lanewise(body, workspace)
    verify(body)
    return body, divisors

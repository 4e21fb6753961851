"""Which elements stores reach together, and whether programs fill what they update.

Decided where indices are sums of axes, digits of axes and sizes; where not, it counts as not reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from akg_core.records import Finding
from akg_core.sketch import ast
from akg_core.sketch.affine import Polynomial, number
from akg_core.sketch.check.program import Launched, not_filled
from akg_core.sketch.check.shapes import sized
from akg_core.sketch.check.sites import Atom, Grid, Site, Walk, at_least_zero


@dataclass(frozen=True, slots=True)
class Write:
    """A store seen from the program: to a tensor with `dims`, its atoms beside it."""

    site: Site
    dims: tuple[Polynomial, ...]
    atoms: Mapping[str, Atom]
    whole: bool  # the tensor is written as itself, not through a view


def covered(writes: list[Write]) -> bool:
    """Whether the stores together reach every element for certain: one alone, or side by side in one dimension."""
    spans = [_spans(write) for write in writes if not write.site.conditional]
    complete = [s for s in spans if s is not None]
    for span in complete:
        if all(_reaches(low, high, size) for (low, high), size in zip(span, writes[0].dims, strict=True)):
            return True
    for dim, size in enumerate(writes[0].dims):
        pieces = [
            span[dim]
            for span in complete
            if all(_reaches(*span[d], writes[0].dims[d]) for d in range(len(span)) if d != dim)
        ]
        position = number(0)
        while True:
            after = next((high for low, high in pieces if low == position), None)
            if after is None or after == position:
                break
            position = after
            if at_least_zero(position + -size):
                return True
    return False


def _reaches(low: Polynomial, high: Polynomial, size: Polynomial) -> bool:
    return at_least_zero(-low) and at_least_zero(high + -size)


def _spans(write: Write) -> list[tuple[Polynomial, Polynomial]] | None:
    """For each dimension the contiguous positions that the store reaches, the dimensions independent of each other."""
    used: list[str] = []
    spans = []
    for index in write.site.indices:
        if index is None:
            return None
        names = atoms_in(index, write.atoms)
        span = _span(index, names, write.atoms)
        if span is None:
            return None
        spans.append(span)
        used += names
    independent = len(used) == len(set(used)) and all(
        _independent(write.atoms[a], write.atoms[b]) for a, b in combinations(used, 2)
    )
    return spans if independent else None


def _span(index: Polynomial, names: list[str], atoms: Mapping[str, Atom]) -> tuple[Polynomial, Polynomial] | None:
    """The positions low … high - 1 that an index takes without a gap: its factors are 1, e1, e1*e2, …"""
    low, left = index, dict.fromkeys(names)
    factors: dict[str, Polynomial] = {}
    for name in names:
        factor = index.factor_of(ast.Name(name))
        if factor is None or not atoms[name].full or atoms[name].extent is None or atoms_in(factor, atoms):
            return None
        factors[name] = factor
        low = low + -(factor * Polynomial((((ast.Name(name),), 1),))) + factor * atoms[name].low
    reach = number(1)
    while left:
        name = next((n for n in left if factors[n] == reach), "")
        extent = atoms[name].extent if name else None
        if extent is None:
            return None
        del left[name]
        reach = reach * extent
    return low, low + reach


def _independent(a: Atom, b: Atom) -> bool:
    """Whether two atoms take all pairs of values: of different axes, or digits that do not overlap."""
    if a.root != b.root:
        return True
    for fine, coarse in ((a, b), (b, a)):
        if fine.extent is not None and coarse.stride.exact(fine.stride * fine.extent) is not None:
            return True
    return False


def atoms_in(p: Polynomial, atoms: Mapping[str, Atom]) -> list[str]:
    return sorted(atom.id for atom in p.atoms() if isinstance(atom, ast.Name) and atom.id in atoms)


# --- updates ------------------------------------------------------------------------------------------


def unfilled(launched: Launched, walk: Walk) -> Iterable[Finding]:
    """SK804: what a launch updates by atomics, but does not fill for certain.

    A program fills its part of a tensor where each axis of its grid is alone in some dimension wherever the tensor is
    written, so that no other program comes there, and stores reach all of the other dimensions before the first update.
    """
    for name in launched.unfilled:
        tensor = launched.tensors[name]
        written = [site for site in walk.sites if site.tensor == name and site.kind != "load"]
        first = next(n for n, site in enumerate(written) if site.kind == "atomic")
        updates = [site for site in written if site.kind == "atomic"]
        grids = written[0].grids
        dims = _own_dims(written, grids, walk.atoms)
        stray = next((grid.axis for grid, own in zip(grids, dims, strict=True) if own is None), None)
        before = [site for site in written[:first] if not any(site.loops & update.loops for update in updates)]
        if not first:
            why = "but nothing has filled it"
        elif any(site.grids != grids for site in written):
            why = "which another grid fills"
        elif stray is not None:
            why = f"and they may reach what another program along `{stray}` stores"
        elif not _filled(before, dims, tuple(map(sized, tensor.dims or ())), walk):
            why = "and its programs may not have stored all of these elements before"
        else:
            continue
        yield not_filled(launched.launch, tensor.name, why)


def _own_dims(sites: Sequence[Site], grids: Iterable[Grid], atoms: Mapping[str, Atom]) -> list[int | None]:
    """For each grid axis a dimension whose index is the same at all sites and steps along that axis alone."""
    indices = [set(along) for along in zip(*(site.indices for site in sites), strict=True)]
    places = {dim: next(iter(found)) for dim, found in enumerate(indices) if len(found) == 1}
    return [next((dim for dim, at in places.items() if _steps(at, grid.key, atoms)), None) for grid in grids]


def _steps(index: Polynomial | None, key: str, atoms: Mapping[str, Atom]) -> bool:
    """Whether each position along a grid axis has an index of its own."""
    if index is None or atoms_in(index, atoms) != [key]:
        return False
    factor = index.factor_of(ast.Name(key))
    return factor is not None and at_least_zero(factor + -number(1))


def _filled(stores: Iterable[Site], own: Sequence[int | None], sizes: tuple[Polynomial, ...], walk: Walk) -> bool:
    """Whether the stores of each program together reach all of the dimensions that are not its `own`."""
    rest = [dim for dim in range(len(sizes)) if dim not in own]
    writes = []
    for site in stores:
        indices = tuple(site.indices[dim] for dim in rest)
        found = [name for index in indices if index is not None for name in atoms_in(index, walk.atoms)]
        roots = {walk.atoms[name].root for name in found}
        if site.loops <= roots and roots.isdisjoint(grid.key for grid in site.grids):  # no loop may have no turn
            part = replace(site, indices=indices)
            writes.append(Write(part, tuple(sizes[dim] for dim in rest), walk.atoms, True))
    return bool(writes) and covered(writes)

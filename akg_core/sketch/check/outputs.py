"""Whether every element of an output is written, by one program; whether indices can be inside their tensors.

Both are decided where indices are sums of axes, digits of axes and sizes; where not, nothing is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations

from akg_core.records import Finding
from akg_core.sketch import ast
from akg_core.sketch.affine import Polynomial, number
from akg_core.sketch.check.coverage import Write, atoms_in, covered, unfilled
from akg_core.sketch.check.program import Launched, ProgramCheck
from akg_core.sketch.check.shapes import sized
from akg_core.sketch.check.sites import Atom, Barrier, Site, Walk, at_least_zero, may_be_positive
from akg_core.sketch.codes import finding
from akg_core.sketch.program import statements


def check_outputs(program: ProgramCheck) -> list[Finding]:
    """Findings SK601 to SK606, SK701, SK307 of barriers and SK804 of atomics, over all launches of a program."""
    findings: list[Finding] = []
    writes: dict[str, list[Write]] = defaultdict(list)
    walks: dict[tuple, Walk] = {}
    for launched in program.launched:
        key = (launched.kernel.name, *sorted(launched.values.items(), key=lambda item: item[0]))
        if key not in walks:
            walk = walks[key] = Walk(launched.kernel, launched.values)
            findings += _unwritten(launched, walk.sites)
            findings += _races(walk.sites)
            findings += _exchanges(launched.kernel, walk)
            findings += _missed(walk.barriers)
        walk = walks[key]
        findings += unfilled(launched, walk)
        for site in walk.sites:
            tensor = launched.tensors.get(site.tensor)
            if tensor is None or tensor.dims is None or len(tensor.dims) != len(site.indices):
                continue
            dims = tuple(map(sized, tensor.dims))
            findings += _outside(site, dims, walk.atoms)
            if site.kind != "load":
                writes[tensor.root].append(Write(site, dims, walk.atoms, tensor.name == tensor.root))
    # What a launch writes that was refused is not known.
    all_known = len(program.launched) == sum(isinstance(n, ast.Launch) for n in statements(program.program))
    all_known &= all(found.code != "SK804" for found in findings)
    handed = {t.root for launched in program.launched for t in launched.tensors.values()}
    for root in handed - program.filled:
        tensor = program.tensors[root]
        if tensor.origin == "empty" and all_known:
            findings += _uncovered(writes[root])
    return list(dict.fromkeys(findings))


def _unwritten(launched: Launched, sites: Iterable[Site]) -> Iterable[Finding]:
    written = {site.tensor for site in sites if site.kind != "load"}
    for tensor in launched.kernel.tensors:
        if tensor.role == "Out" and tensor.name not in written:
            message = f"`{launched.kernel.name}` never writes its output `{tensor.name}`."
            yield finding("SK601", tensor.place, message, f"Add store({tensor.name}[…], value), or declare it In.")


# --- coverage -----------------------------------------------------------------------------------------


def _uncovered(writes: list[Write]) -> Iterable[Finding]:
    """SK602 when it is certain that some elements are left unwritten."""
    if not writes or any(not w.whole for w in writes) or covered(writes):
        return
    first = writes[0]
    for dim, size in enumerate(first.dims):
        bounds = [_bounds(w.site.indices[dim], w.atoms) for w in writes]
        ends = [size + -number(1) + -high if high is not None else None for _, high in bounds]
        starts = [low for low, _ in bounds]
        where = "last" if _all_positive(ends) else "first" if _all_positive(starts) else ""
        if where:
            message = f"Dimension {dim} of `{first.site.tensor}` is not written up to its {where} position."
            cure = "Let an axis of the whole extent index it: for n in tiles(N, BN)."
            yield finding("SK602", first.site.node.place, message, cure)
            return
    for a, b in combinations(range(len(first.dims)), 2):
        same = len(writes) == 1 and first.site.indices[a] == first.site.indices[b]
        index = first.site.indices[a]
        if same and index is not None and atoms_in(index, first.atoms) and index.constant is None:
            message = f"Only the diagonal of dimensions {a} and {b} of `{first.site.tensor}` is written."
            yield finding("SK602", first.site.node.place, message, "Use an axis of its own for each dimension.")
            return


def _all_positive(gaps: list[Polynomial | None]) -> bool:
    return all(gap is not None and may_be_positive(gap) for gap in gaps)


# --- bounds -------------------------------------------------------------------------------------------


def _bounds(index: Polynomial | None, atoms: Mapping[str, Atom]) -> tuple[Polynomial | None, Polynomial | None]:
    """The least and the greatest value of an index, None where not known."""
    if index is None:
        return None, None
    low: Polynomial | None = index
    high: Polynomial | None = index
    if index.constant is not None:
        return index, index
    for name in atoms_in(index, atoms):
        atom, factor = atoms[name], index.factor_of(ast.Name(name))
        if factor is None or atoms_in(factor, atoms):
            return None, None
        rising, falling = at_least_zero(factor), at_least_zero(-factor)
        own = factor * Polynomial((((ast.Name(name),), 1),))
        first = factor * atom.low + -own
        final = None if atom.extent is None else factor * (atom.low + atom.extent + -number(1)) + -own
        if not (rising or falling):
            return None, None
        least, most = (first, final) if rising else (final, first)
        low = low + least if low is not None and least is not None else None
        high = high + most if high is not None and most is not None else None
    return low, high


def _outside(site: Site, dims: tuple[Polynomial, ...], atoms: Mapping[str, Atom]) -> Iterable[Finding]:
    for position, (index, size) in enumerate(zip(site.indices, dims, strict=True)):
        low, high = _bounds(index, atoms)
        beyond = low is not None and at_least_zero(low + -size)
        before = high is not None and at_least_zero(-high + -number(1))
        if beyond or before:
            element = site.node.args[0]
            where = "past the end" if beyond else "before the start"
            message = f"Index {position} of `{site.tensor}` is always {where} of the tensor."
            cure = "A load there gives `other`, a store does nothing: correct the index."
            place = element.indices[position].place if isinstance(element, ast.Element) else site.node.place
            yield finding("SK701", place, message, cure)


# --- programs against each other ------------------------------------------------------------------------


def _races(sites: list[Site]) -> Iterable[Finding]:
    """SK603: a store that several programs of a grid axis do to the same elements."""
    for site in sites:
        if site.kind != "store":
            continue
        indexed = frozenset().union(*site.depends)
        for grid in site.grids:
            if grid.single or grid.key in indexed or grid.key in site.guard:
                continue
            differs = grid.key in site.value
            message = f"Every program of the grid axis `{grid.axis}` writes the same elements of `{site.tensor}`"
            message += ", with different values." if differs else ", with the same value."
            cure = (
                f"Use atomic_add, reduce in a tiles loop, all_reduce_sum over {grid.axis}, or index with `{grid.axis}`."
            )
            cure = cure if differs else f"Store outside the grid `{grid.axis}`, or under `if begin({grid.axis}) == 0:`."
            yield finding("SK603", site.node.place, message, cure, "error" if differs else "warning")


def _missed(barriers: list[Barrier]) -> Iterable[Finding]:
    """SK307: a barrier that some programs of its axis may not come to, or not as often as others."""
    for barrier in barriers:
        if barrier.keys & barrier.guard:
            axis = barrier.node.args[0]
            name = axis.id if isinstance(axis, ast.Name) else ""
            message = f"Whether a program comes to this barrier depends on where it stands along `{name}`."
            cure = "Let all programs of the axis come to it, equally often."
            yield finding("SK307", barrier.node.place, message, cure)


def _exchanges(kernel: ast.Kernel, walk: Walk) -> Iterable[Finding]:
    """SK606: elements that one program writes and another reads, where no barrier orders the two."""
    sites = walk.sites
    for tensor in kernel.tensors:
        if tensor.role not in ("Scratch", "InOut"):
            continue
        stores = [s for s in sites if s.tensor == tensor.name and s.kind == "store"]
        for load in (s for s in sites if s.tensor == tensor.name and s.kind == "load"):
            for store in stores:
                owners = [grid for grid in store.grids if _used(store, grid.key) and not grid.single]
                if any(grid not in load.grids for grid in owners):
                    other = "in another grid"
                elif any(not (_used(load, g.key) or _ordered(load, store, g.key, walk.barriers)) for g in owners):
                    other = "by all programs"
                else:
                    continue
                message = f"`{tensor.name}` is written by one program and read {other}; nothing orders the two."
                cure = "Read it in a second kernel, which the program launches after this one, or after a barrier."
                yield finding("SK606", load.node.place, message, cure)


def _ordered(load: Site, store: Site, key: str, barriers: list[Barrier]) -> bool:
    """Whether programs along a grid axis may meet between the two: a barrier stands between them, or it stands in a
    loop around both, and in one turn they are certain to touch different elements."""
    first, last = sorted((load.met, store.met))
    if any(key in barrier.keys for barrier in barriers[first:last]):
        return True
    around = load.loops & store.loops
    if not any(key in barrier.keys and around & barrier.loops for barrier in barriers):
        return False
    parts = zip(load.indices, store.indices, load.depends, store.depends, strict=True)
    return any(a is not None and b is not None and not on | by and (a + -b).constant for a, b, on, by in parts)


def _used(site: Site, key: str) -> bool:
    return any(key in part for part in site.depends)

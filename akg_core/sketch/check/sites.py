"""Where a launch touches tensors: every load, store and atomic with its indices as polynomials.

A kernel is walked once a launch, its dimensions and Consts replaced by what the program hands over. An index is then
a polynomial over the program's dimensions and over atoms: an axis, a counter, or a digit `(axis // stride) % size`,
which is what `split`, `//` and `%` make of an axis. What is not such a polynomial (a loaded index) stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from akg_core.sketch import ast
from akg_core.sketch.affine import Polynomial, number, polynomial
from akg_core.sketch.ops import OPERATIONS


@dataclass(frozen=True, slots=True)
class Atom:
    """What runs from `low` over `extent` positions: `(root // stride) % size`, all of them in turn when `full`."""

    root: str
    stride: Polynomial
    extent: Polynomial | None
    low: Polynomial
    full: bool


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid axis around a site: `key` is its atom; `single` when one program covers it for certain."""

    key: str
    axis: str
    single: bool


@dataclass(frozen=True, slots=True)
class Site:
    """One place where a kernel touches a tensor.

    `indices`: a polynomial a dimension, or None. `depends`: the grid keys that each index depends on; `value` those of
    what is written; `guard` those of the conditions around it. `met`: how many barriers stand before it; `loops`:
    the atoms of the loops around it.
    """

    tensor: str
    op: str
    node: ast.Call
    indices: tuple[Polynomial | None, ...]
    depends: tuple[frozenset[str], ...]
    value: frozenset[str]
    guard: frozenset[str]
    conditional: bool
    grids: tuple[Grid, ...]
    met: int
    loops: frozenset[str]

    @property
    def kind(self) -> str:
        return OPERATIONS[self.op].kind


@dataclass(frozen=True, slots=True)
class Barrier:
    """A place where programs wait for each other: along the grids in `keys`. `guard`: the grid keys that decide
    whether, and how often, a program comes to it. `loops`: the atoms of those around it."""

    node: ast.Call
    keys: frozenset[str]
    guard: frozenset[str]
    loops: frozenset[str]


@dataclass(slots=True)
class _Value:
    """What is known of a variable: the integer that it is, and the grid axes that it depends on."""

    expr: ast.Expr | None
    depends: frozenset[str]


_NOTHING: frozenset[str] = frozenset()


class Walk:
    """Walks one kernel as launched; afterwards `sites`, `barriers` and `atoms` hold what was found."""

    def __init__(self, kernel: ast.Kernel, values: Mapping[str, ast.Expr]) -> None:
        self.kernel = kernel
        self.sites: list[Site] = []
        self.barriers: list[Barrier] = []
        self.atoms: dict[str, Atom] = {}
        self._values: dict[str, _Value] = {name: _Value(value, _NOTHING) for name, value in values.items()}
        for tune in kernel.tunes:
            if isinstance(tune.default, int):
                self._values[tune.name] = _Value(ast.Number(tune.default), _NOTHING)
        self._grids: tuple[Grid, ...] = ()
        self._guards: list[frozenset[str]] = []
        self._bounds: dict[str, frozenset[str]] = {}  # of the loops at hand, by their atoms
        self._block(kernel.body)

    # --- statements -------------------------------------------------------------------------------

    def _block(self, statements: tuple[ast.Statement, ...]) -> None:
        before = set(self._values)
        for statement in statements:
            self._statement(statement)
        for name in self._values.keys() - before:
            del self._values[name]

    def _statement(self, node: ast.Statement) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                self._loads(value)
                self._assign(targets, value)
            case ast.Effect(call=ast.Call(op="barrier", args=(ast.Name(id=axis),)) as call):
                met = frozenset(grid.key for grid in self._grids if grid.axis == axis)
                self.barriers.append(
                    Barrier(call, met, _NOTHING.union(*self._guards, *self._bounds.values()), frozenset(self._bounds))
                )
            case ast.Effect(call=call):
                self._loads(call.args[1])
                self._site(call, self._depends(call.args[1]))
            case ast.Whole(axis=axis, extent=extent):
                self._values[axis] = _Value(self._axis(axis, extent, node), _NOTHING)
            case ast.Grid():
                self._grid(node)
            case ast.Tiles():
                self._tiles(node)
            case ast.Range():
                self._range(node)
            case ast.If(condition=condition, body=body, orelse=orelse):
                self._loads(condition)
                self._guards.append(self._depends(condition))
                self._turns(body)
                self._turns(orelse)
                self._guards.pop()

    def _assign(self, targets: tuple[str, ...], value: ast.Expr) -> None:
        depends = self._depends(value)
        found: list[ast.Expr | None] = [None] * len(targets)
        if isinstance(value, ast.Call) and value.op == "split" and len(value.args) == 2:
            sizes = value.args[1].items if isinstance(value.args[1], ast.Group) else (value.args[1],)
            rest: ast.Expr | None = value.args[0]
            for position in range(len(targets) - 1, 0, -1):
                if rest is not None and position < len(sizes):
                    found[position] = self.resolve(ast.Binary("%", rest, sizes[position]))
                    rest = ast.Binary("//", rest, sizes[position])
            found[0] = self.resolve(rest) if rest is not None else None
        elif len(targets) == 1:
            found = [self.resolve(value)]
        for target, expr in zip(targets, found, strict=True):
            self._values[target] = _Value(expr, depends)

    def _grid(self, node: ast.Grid) -> None:
        extent, step = self._known(node.extent), self._known(node.step)
        single = extent is not None and step is not None and at_least_zero(step + -extent)
        axis = self._axis(node.axis, node.extent, node)
        grid = Grid(axis.id, node.axis, single)
        outer, self._grids = self._grids, (*self._grids, grid)
        self._values[node.axis] = _Value(axis, frozenset((grid.key,)))
        self._block(node.body)
        self._grids = outer
        self._values.pop(node.axis, None)

    def _tiles(self, node: ast.Tiles) -> None:
        bounds = frozenset().union(*(self._depends(e) for e in (node.start, node.stop) if e is not None))
        axis = self._axis(node.axis, node.extent, node, node.start is None and node.stop is None)
        self._values[node.axis] = _Value(axis, bounds | self._depends(node.extent))
        self._bounds[axis.id] = bounds | self._depends(node.extent)
        self._turns(node.body)
        del self._bounds[axis.id]
        self._values.pop(node.axis, None)

    def _range(self, node: ast.Range) -> None:
        bounds = self._depends(node.start) | self._depends(node.stop)
        start, stop = self._known(node.start), self._known(node.stop)
        name = f"{node.variable}#{len(self.atoms)}"
        unit = node.step == ast.Number(1) and start is not None and stop is not None
        extent = stop + -start if unit and start is not None and stop is not None else None
        self.atoms[name] = Atom(name, number(1), extent, start if start is not None else number(0), unit)
        counter = ast.Name(name) if unit else None
        self._values[node.variable] = _Value(counter, bounds)
        self._bounds[name] = bounds
        self._turns(node.body)
        del self._bounds[name]
        self._values.pop(node.variable, None)

    def _turns(self, body: tuple[ast.Statement, ...]) -> None:
        """A body run any number of times: what it carries is unknown, and depends on whatever reaches it."""
        names = {t for node in ast.walk(body) if isinstance(node, ast.Assign) for t in node.targets}
        carried = names & self._values.keys()
        for turn in range(2 if carried else 1):
            kept, met = len(self.sites), len(self.barriers)
            for name in carried:
                self._values[name] = _Value(None, self._values[name].depends)
            before = {name: self._values[name].depends for name in carried}
            self._block(body)
            for name in carried:
                self._values[name] = _Value(None, self._values[name].depends | before[name])
            if carried and turn == 0:
                del self.sites[kept:], self.barriers[met:]

    # --- sites ------------------------------------------------------------------------------------

    def _loads(self, node: ast.Expr) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and part.op == "load" and part.args:
                self._site(part, _NOTHING)

    def _site(self, call: ast.Call, value: frozenset[str]) -> None:
        element = call.args[0]
        if not isinstance(element, ast.Element):
            return
        indices = tuple(self._known(index) for index in element.indices)
        depends = tuple(self._depends(index) for index in element.indices)
        guard = frozenset().union(*self._guards)
        around = bool(self._guards), self._grids, len(self.barriers), frozenset(self._bounds)
        self.sites.append(Site(element.tensor, call.op, call, indices, depends, value, guard, *around))

    # --- values -----------------------------------------------------------------------------------

    def _axis(self, axis: str, extent: ast.Expr, node: ast.Statement, full: bool = True) -> ast.Name:
        name = f"{axis}#{len(self.atoms)}"
        self.atoms[name] = Atom(name, number(1), self._known(extent), number(0), full)
        return ast.Name(name, place=node.place)

    def _depends(self, node: ast.Expr) -> frozenset[str]:
        """The grid axes that a value depends on: an all-reduction makes it the same in all programs of its axis."""
        match node:
            case ast.Name(id=name):
                return self._values[name].depends if name in self._values else _NOTHING
            case ast.Call(op=op, args=(tile, ast.Name(id=axis))) if OPERATIONS[op].kind == "all_reduce":
                met = {grid.key for grid in self._grids if grid.axis == axis}
                return self._depends(tile) - met
            case ast.Call(args=args, keywords=keywords):
                parts = (*args, *(value for _, value in keywords))
            case ast.Element(indices=parts):
                pass
            case ast.Unary(operand=operand):
                parts = (operand,)
            case ast.Binary(left=left, right=right):
                parts = (left, right)
            case ast.Group(items=parts):
                pass
            case _:
                return _NOTHING
        return frozenset().union(*(self._depends(part) for part in parts))

    def _known(self, node: ast.Expr) -> Polynomial | None:
        expr = self.resolve(node)
        return None if expr is None else polynomial(expr)

    def resolve(self, node: ast.Expr) -> ast.Expr | None:
        """An integer expression over atoms and the program's dimensions, or None."""
        match node:
            case ast.Number(value=int()):
                return node
            case ast.Tune(choices=(int() as first, *_)):
                return ast.Number(first)
            case ast.Name(id=name):
                if name in self.atoms:
                    return node
                return self._values[name].expr if name in self._values else None
            case ast.Unary(op="-", operand=operand):
                inner = self.resolve(operand)
                return None if inner is None else ast.Unary("-", inner)
            case ast.Binary(op="+" | "-" | "*" | "//" | "%" as op, left=left, right=right):
                a, b = self.resolve(left), self.resolve(right)
                if a is None or b is None:
                    return None
                return ast.Binary(op, a, b) if op in "+-*" else self._digit(op, a, b)
        return None

    def _digit(self, op: str, a: ast.Expr, b: ast.Expr) -> ast.Expr | None:
        """`a // b` or `a % b`: of sizes an atom of its own, of an axis' digit another digit, else unknown."""
        index, by = polynomial(a), polynomial(b)
        if index.constant is not None and by.constant:
            return ast.Number(index.constant // by.constant if op == "//" else index.constant % by.constant)
        names = {atom.id for atom in index.atoms() | by.atoms() if isinstance(atom, ast.Name)}
        if not names & self.atoms.keys():
            return ast.Binary(op, a, b)
        if len(index.terms) != 1 or index.terms[0][1] != 1 or len(index.terms[0][0]) != 1:
            return None
        (name,) = index.terms[0][0]
        old = self.atoms.get(name.id) if isinstance(name, ast.Name) else None
        if (
            old is None
            or old.low.terms
            or old.extent is None
            or {n.id for n in by.atoms() if isinstance(n, ast.Name)} & self.atoms.keys()
        ):
            return None
        quotient = old.extent.exact(by)
        if op == "//":
            new = replace(old, stride=old.stride * by, extent=quotient, full=old.full and quotient is not None)
        else:
            new = replace(old, extent=by, full=old.full and quotient is not None)
        key = next((key for key, atom in self.atoms.items() if atom == new), f"{old.root}/{len(self.atoms)}")
        self.atoms[key] = new
        return ast.Name(key)


def at_least_zero(p: Polynomial) -> bool:
    """Whether `p` is certain not to be negative, all sizes being 1 or more."""
    if p.constant is not None:
        return p.constant >= 0
    shifted = number(0)
    for product, factor in p.terms:
        term = number(factor)
        for atom in product:
            if not isinstance(atom, ast.Name):
                return False
            term = term * (number(1) + Polynomial((((atom,), 1),)))
        shifted = shifted + term
    return all(factor >= 0 for _, factor in shifted.terms)


def may_be_positive(p: Polynomial) -> bool:
    """Whether `p` is certain not to be negative and is positive for some sizes."""
    return bool(p.terms) and at_least_zero(p)

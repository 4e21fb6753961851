"""What sees a whole axis: reductions, scans, picks, products. Masks are in what they get, where these are needed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from akg_core.plugin.lower import Op
from akg_core.plugin.sketch import DTYPES, INDEX, Binary, Expr, Name, Number, is_float, numerics, promote
from akg_plugin_tilelang.emit.region import RegionPrinter, is_exact
from akg_plugin_tilelang.emit.terms import HELD, Term, cast, literal, strong

LAST = 2**31 - 1  # a position behind all others
OPERATORS = {"sum": "{0} + {1}", "prod": "{0} * {1}"}


def combine(printer: RegionPrinter, op: Op) -> None:
    """A reduction, scan, sort, product or regrouping."""
    kinds = {"reduce": reduce, "scan": scan, "sort": sort, "dot": multiply, "regroup": regroup}
    kinds[op.kind](printer, op)


def reduce(printer: RegionPrinter, op: Op) -> None:
    """A reduction, an argreduction or a pick."""
    assert op.expr is not None and op.target is not None
    name, axes = printer.hold(op)
    if op.function in ("first", "last"):
        printer.fill(name, axes, _stored(_picked(printer, op), op.target.dtype))
        return
    if op.finds_place:
        printer.fill(name, axes, _argreduced(printer, op))
        return
    function, source = op.joins, _dtype(op.expr)
    if function in ("any", "all"):
        truth = cast(cast(strong(printer.terms.term(op.expr)), "bool"), "i32")
        folded = _folded(printer, op, truth, "max" if function == "any" else "min")
        printer.fill(name, axes, folded)
        return
    held = numerics.reduction_dtype(op.function, source)
    term = cast(strong(printer.terms.term(op.expr)), held)
    if function == "prod":
        made = _product(printer, op, term)
    elif function == "sum":
        made = _folded(printer, op, term, function)
    else:
        made = _extreme(printer, op, term, function)
    printer.fill(name, axes, _stored(cast(made, op.target.dtype), op.target.dtype))


def _stored(term: Term, dtype: str) -> Term:
    return cast(term, "i32") if dtype == "bool" else term


def _folded(printer: RegionPrinter, op: Op, term: Term, function: str) -> Term:
    """A term of the axes of an op's source, reduced over those that it goes over, the last first."""
    assert op.expr is not None
    axes = printer.ordered(printer.body.axes_of(op.expr) | set(op.over))
    tile = _tile(printer, term, axes, "fragment")
    if not tile:
        tile = printer.allocate(printer.body.unique("part"), axes, HELD[term.dtype])
        printer.fill(tile, axes, term)
    over = [axis for axis in axes if axis in op.over]
    for number, axis in enumerate(reversed(over)):
        if number:  # of a fragment that lies as a product or a reduction left it, TileLang does not reduce each axis
            passed = printer.allocate(printer.body.unique("passed"), axes, HELD[term.dtype], "shared")
            printer.fill(passed, axes, Term(printer.terms.at(tile, axes), term.dtype))
            tile = passed
        place = axes.index(axis)
        axes = tuple(each for each in axes if each != axis)
        smaller = printer.allocate(printer.body.unique(function), axes, HELD[term.dtype])
        printer.say(f"T.reduce_{function}({tile}, {smaller}, dim={place})")
        tile = smaller
    return Term(printer.terms.at(tile, axes), term.dtype)


def _tile(printer: RegionPrinter, term: Term, axes: Sequence[str], scope: str) -> str:
    """The name of the tile whose elements a term is, if it lies in such memory; "" where it does not."""
    name = term.text.partition("[")[0]
    return name if printer.scopes.get(name) == scope and term.text == printer.terms.at(name, axes) else ""


def _key(printer: RegionPrinter, term: Term, function: str) -> Term:
    """What compares as whole numbers as the term does, where a NaN is beyond all others."""
    if not is_float(term.dtype):
        return term if term.dtype in ("i32", "i64") else cast(term, "i32")
    term = term if term.dtype == "f64" else cast(term, "f32")
    whole = "i64" if term.dtype == "f64" else "i32"
    beyond = DTYPES[whole].highest if function == "max" else DTYPES[whole].lowest
    return Term(printer.terms.call("ordered", term, literal(beyond, whole)), whole)


def _extreme(printer: RegionPrinter, op: Op, term: Term, function: str) -> Term:
    """The largest or smallest. TileLang drops NaNs of floats: it compares their bits as whole numbers instead."""
    found = _folded(printer, op, _key(printer, term, function), function)
    if not is_float(term.dtype):
        return cast(found, term.dtype)
    return cast(Term(printer.terms.call("restored", found), "f64" if term.dtype == "f64" else "f32"), term.dtype)


def _argreduced(printer: RegionPrinter, op: Op) -> Term:
    """The first position of the extreme: the least of those that equal it."""
    assert op.expr is not None
    (axis,), function = op.over, op.joins
    key = _key(printer, strong(printer.terms.term(op.expr)), function)
    best = _folded(printer, op, key, function)
    position = printer.terms.tiles[axis].position()
    found = Term(f"T.if_then_else({key} == {best}, T.cast({position}, 'int32'), {LAST})", "i32")
    return cast(_folded(printer, op, found, "min"), "i64")


def _picked(printer: RegionPrinter, op: Op) -> Term:
    """The value at one position: the only lane that is not zero in a sum."""
    assert op.expr is not None and op.target is not None
    (name,) = op.over
    term, axis = strong(printer.terms.term(op.expr)), printer.body.axes[name]
    if name not in printer.body.axes_of(op.expr):
        return term
    last = Binary("-", axis.end, Number(1, type=INDEX), type=INDEX)
    wanted = printer.terms.term(axis.begin if op.function == "first" else last)
    dtype = {"bool": "i32", "i8": "i32", "i16": "i32", "u8": "i32", "bf16": "f32", "f16": "f32"}.get(
        term.dtype, term.dtype
    )
    here = f"{printer.terms.tiles[name].position()} == {wanted.operand}"
    kept = Term(f"T.if_then_else({here}, {cast(term, dtype)}, {literal(0, dtype)})", dtype)
    return cast(_folded(printer, op, kept, "sum"), op.target.dtype)


def _product(printer: RegionPrinter, op: Op, term: Term) -> Term:
    """A product over axes: the last of running products over one after the other."""
    assert op.expr is not None
    axes = printer.ordered(printer.body.axes_of(op.expr) | set(op.over))
    tile = printer.allocate(printer.body.unique("part"), axes, HELD[term.dtype], "shared")
    printer.fill(tile, axes, term)
    for axis in op.over:
        _run(printer, tile, axes, axis, "prod", term.dtype, reverse=False)
    places = (f"{printer.lanes(a)} - 1" if a in op.over else printer.terms.lanes[a] for a in axes)
    return Term(f"{tile}[{', '.join(places)}]", term.dtype)


def scan(printer: RegionPrinter, op: Op) -> None:
    """A running function: in log2(lanes) steps over a tile in shared memory."""
    assert op.expr is not None and op.target is not None
    (axis,), function = op.over, op.joins
    name, _ = printer.hold(op)
    axes = printer.ordered(printer.body.axes_of(op.expr) | {axis})
    term = strong(printer.terms.term(op.expr))
    term = cast(term, numerics.reduction_dtype(op.function, term.dtype))
    tile = printer.allocate(printer.body.unique("run"), axes, HELD[term.dtype], "shared")
    printer.fill(tile, axes, _stored(term, term.dtype))
    _run(printer, tile, axes, axis, function, term.dtype, op.reverse)
    made = cast(Term(printer.terms.at(tile, axes), term.dtype), op.target.dtype)
    printer.fill(name, printer.ordered(op.target.axes), _stored(made, op.target.dtype))


def _run(
    printer: RegionPrinter, tile: str, axes: Sequence[str], axis: str, function: str, dtype: str, reverse: bool
) -> None:
    """Run along an axis in place. Where it can, each thread runs over neighbours; then what these give is run over."""
    names, sizes = [printer.terms.lanes[a] for a in axes], [printer.lanes(a) for a in axes]
    several = _neighbours(printer, sizes) if axis == axes[-1] else 0
    if not several:
        _run_in_steps(printer, tile, names, sizes, axes.index(axis), function, dtype, reverse)
        return
    groups, held = int(sizes[-1]) // several, HELD[dtype]
    own, ends, sums = (printer.body.unique(f"{tile}_{word}") for word in ("own", "ends", "sum"))
    group, at = printer.body.unique("group"), printer.body.unique("at")
    outer, whole = names[:-1], [*names[:-1], group]
    counts = ", ".join([*sizes[:-1], str(groups)])
    thread = "i * {0} + j" if outer else "j"
    layout = f"lambda {'i, ' if outer else ''}j, k: ({thread.format(groups)}, k)"
    printer.held.add(f"{own} = T.alloc_fragment(({counts}, {several}), {held!r})", printer.line)
    printer.held.add(f"{ends} = T.alloc_shared(({counts},), {held!r})", printer.line)
    printer.held.add(f"{sums} = T.alloc_fragment(({counts},), {held!r})", printer.line)
    printer.held.add(
        f"T.annotate_layout({{{own}: T.Fragment(({counts}, {several}), forward_fn={layout})}})", printer.line
    )
    position = f"{group} * {several} + {at}"
    there = f"{tile}[{', '.join([*outer, f'{int(sizes[-1]) - 1} - ({position})' if reverse else position])}]"
    here, total = f"{own}[{', '.join([*whole, at])}]", f"{sums}[{', '.join(whole)}]"
    every = f"for {', '.join([*whole, at])} in T.Parallel({counts}, {several}):"
    each = f"for {', '.join(whole)} in T.Parallel({counts}):"
    _loop(printer, (every,), f"{here} = {there}")
    _loop(printer, (each,), f"{total} = {own}[{', '.join([*whole, '0'])}]")
    joined = f"{total} = {_joined(printer, function, total, here, dtype)}"
    _loop(printer, (f"for {at} in T.unroll(1, {several}):", each), joined, f"{here} = {total}")
    _loop(printer, (each,), f"{ends}[{', '.join(whole)}] = {total}")
    _run_in_steps(printer, ends, whole, counts.split(", "), len(outer), function, dtype, reverse=False)
    last = f"T.if_then_else({group} > 0, {ends}[{', '.join([*outer, f'{group} - 1'])}], {here})"
    both = f"T.if_then_else({group} > 0, {_joined(printer, function, last, here, dtype)}, {here})"
    _loop(printer, (every,), f"{there} = {both}")


def _neighbours(printer: RegionPrinter, sizes: Sequence[str]) -> int:
    """How many neighbours of the last dimension a thread has when each has as many; 0 where these are too few."""
    if len(sizes) > 2 or not all(size.isdigit() for size in sizes):
        return 0
    several, rest = divmod(math.prod(map(int, sizes)), printer.threads)
    return 0 if rest or several < 4 or int(sizes[-1]) % several or int(sizes[-1]) == several else several


def _loop(printer: RegionPrinter, heads: Sequence[str], *lines: str) -> None:
    """Loops, one in the other, with what they do."""
    outside = printer.lines
    for head in heads:
        printer.block(head)
    for line in lines:
        printer.say(line)
    printer.lines = outside


def _joined(printer: RegionPrinter, function: str, one: str, other: str, dtype: str) -> str:
    """Two values as one by a function that is run; what a macro takes is computed in any case."""
    if function in OPERATORS:
        return OPERATORS[function].format(one, other)
    return _either(printer, function, one, other, dtype)


def _run_in_steps(
    printer: RegionPrinter,
    tile: str,
    names: Sequence[str],
    sizes: Sequence[str],
    place: int,
    function: str,
    dtype: str,
    reverse: bool,
) -> None:
    """Run along a dimension in place: each step combines with what lies twice as far away as before."""
    after, step = printer.body.unique(f"{tile}_next"), printer.body.unique("step")
    shape = f"({', '.join(sizes)}{',' if len(sizes) < 2 else ''})"
    printer.held.add(f"{after} = T.alloc_fragment({shape}, {HELD[dtype]!r})", printer.line)
    lane, lanes = names[place], sizes[place]
    turns = str((int(lanes) - 1).bit_length()) if lanes.isdigit() else f"({lanes} - 1).bit_length()"
    there = f"{lane} + (1 << {step})" if reverse else f"{lane} - (1 << {step})"
    condition = f"{there} < {lanes}" if reverse else f"{there} >= 0"
    at, next_ = (f"{name}[{', '.join(names)}]" for name in (tile, after))
    other = f"{tile}[{', '.join(there if n == place else name for n, name in enumerate(names))}]"
    if function not in OPERATORS:
        other = f"T.if_then_else({condition}, {other}, {at})"
    both = _joined(printer, function, other, at, dtype)
    every = f"for {', '.join(names)} in T.Parallel({', '.join(sizes)}):"
    outside = printer.block(f"for {step} in T.serial({turns}):")
    _loop(printer, (every,), f"{next_} = T.if_then_else({condition}, {both}, {at})")
    _loop(printer, (every,), f"{at} = {next_}")
    printer.lines = outside


def sort(printer: RegionPrinter, op: Op) -> None:
    """A tile in order along an axis by a bitonic network over shared memory; of one that is bitonic its last stage."""
    assert op.expr is not None and op.target is not None
    (axis,) = op.over
    name, _ = printer.hold(op)
    axes, term = printer.ordered(op.target.axes | {axis}), strong(printer.terms.term(op.expr))
    tile = printer.allocate(printer.body.unique("run"), axes, HELD[term.dtype], "shared")
    after = printer.allocate(printer.body.unique(f"{tile}_next"), axes, HELD[term.dtype])
    printer.fill(tile, axes, _stored(term, term.dtype))
    stage, step, bit = (printer.body.unique(word) for word in ("stage", "step", "bit"))
    lane, lanes = printer.terms.lanes[axis], printer.lanes(axis)
    stages = str(int(lanes).bit_length() - 1) if lanes.isdigit() else f"({lanes}.bit_length() - 1)"
    outside = printer.block(
        f"for {stage} in T.serial({f'{stages} - 1, {stages}' if 'bitonic' in op.hints else stages}):"
    )
    printer.block(f"for {step} in T.serial({stage} + 1):")
    printer.say(f"{bit} = {stage} - {step}")
    at = printer.terms.at(tile, axes)
    other = f"{tile}[{', '.join(f'{lane} ^ (1 << {bit})' if a == axis else printer.terms.lanes[a] for a in axes)}]"
    least, most = (_either(printer, word, at, other, term.dtype) for word in ("min", "max"))
    first = f"(({lane} >> {bit}) & 1) == (({lane} >> ({stage} + 1)) & 1)"
    printer.fill(after, axes, Term(f"T.if_then_else({first}, {least}, {most})", term.dtype))
    printer.fill(tile, axes, Term(printer.terms.at(after, axes), term.dtype))
    printer.lines = outside
    printer.fill(name, printer.ordered(op.target.axes), Term(at, term.dtype))


def _either(printer: RegionPrinter, function: str, one: str, other: str, dtype: str) -> str:
    """The smaller or larger of two; a NaN if there is one."""
    word = {"max": "maximum", "min": "minimum"}[function]
    return printer.terms.call(word, one, other) if is_float(dtype) else f"T.{function}({one}, {other})"


# --- products ---


def multiply(printer: RegionPrinter, op: Op) -> None:
    """A product: by matrix units where these take it, else element by element."""
    assert op.expr is not None and op.other is not None and op.target is not None
    name, axes = printer.hold(op)
    source = promote(_dtype(op.expr), _dtype(op.other))
    held = numerics.dot_dtype(_dtype(op.expr), _dtype(op.other))
    own = [printer.body.axes_of(e) - set(op.over) for e in (op.expr, op.other)]
    rows, columns = (printer.ordered(a - b) for a, b in (own, reversed(own)))
    if not rows or not columns or not is_float(held):
        _fold_products(printer, op, held)
        return
    left, right = op.expr, op.other
    if axes.index(rows[0]) > axes.index(columns[0]):
        left, right, rows, columns = right, left, columns, rows
    matrices = (rows, columns, op.over)
    if _on_matrix_units(printer, op, source, matrices) and op.target.dtype == "f32" and axes == (*rows, *columns):
        (a, a_axes), (b, b_axes) = (_factor(printer, expr, source) for expr in (left, right))
        turned = a_axes != (rows[0], op.over[0]), b_axes != (op.over[0], columns[0])
        options = "".join(f", transpose_{n}=True" for n, turn in zip("AB", turned, strict=True) if turn)
        options += "" if op.accumulate else ", clear_accum=True"
        # Each group of four warps has rows of its own.
        if 2 * (printer.body.axes[rows[0]].lanes or 0) >= printer.threads:
            options += ", policy=T.GemmWarpPolicy.FullRow"
        printer.say(f"T.gemm({a}, {b}, {name}{options})")
        return
    _by_elements(printer, op, left, right, held)


def _on_matrix_units(printer: RegionPrinter, op: Op, dtype: str, groups: Sequence[Sequence[str]]) -> bool:
    """Whether T.gemm takes a product: one axis each of rows, columns and what is summed over, and tiles of its size."""
    if any(len(group) != 1 for group in groups):
        return False
    if (
        op.expr is None
        or op.other is None
        or printer.body.axes_of(op.expr) & printer.body.axes_of(op.other) - set(op.over)
    ):
        return False
    rows, columns, over = (printer.body.axes[group[0]].lanes or 0 for group in groups)
    return (
        not is_exact(op) and rows % 64 == 0 and columns % 16 == 0 and over % 16 == 0 and bool(rows and columns and over)
    )


def _factor(printer: RegionPrinter, expr: Expr, dtype: str) -> tuple[str, tuple[str, ...]]:
    """A tile in shared memory that holds a factor, and its dimensions."""
    axes, term = printer.ordered(printer.body.axes_of(expr)), cast(strong(printer.terms.term(expr)), dtype)
    own = printer.axes_of(expr.id) if isinstance(expr, Name) and expr.id in printer.body.values else axes
    if found := _tile(printer, term, own, "shared"):
        return found, own
    name = expr.id if isinstance(expr, Name) else "factor"
    tile = printer.allocate(printer.body.unique(f"{name}_shared"), axes, HELD[dtype], "shared")
    printer.fill(tile, axes, term)
    return tile, axes


def _by_elements(printer: RegionPrinter, op: Op, left: Expr, right: Expr, held: str) -> None:
    """A product outside of matrix units: each lane of the result goes along what is summed over."""
    assert op.target is not None
    name, axes = printer.hold(op)
    dtypes = [_dtype(e) for e in (left, right)]
    tiles = [_factor(printer, e, d) for e, d in zip((left, right), dtypes, strict=True)]
    total = name
    if not (op.accumulate and op.target.dtype == held):
        total = printer.allocate(printer.body.unique(f"{name}_sum"), axes, HELD[held])
        printer.fill(total, axes, Term(literal(0, held), held))
    _share_out(printer, total, axes)
    outside = printer.lines
    for axis in printer.ordered(op.over):
        printer.block(f"for {printer.terms.lanes[axis]} in T.unroll({printer.lanes(axis)}):")
    factors = [cast(Term(printer.terms.at(*tile), d), held) for tile, d in zip(tiles, dtypes, strict=True)]
    at = printer.terms.at(total, axes)
    printer.fill(total, axes, Term(f"{at} + {factors[0]} * {factors[1]}", held))
    printer.lines = outside
    if total != name:
        made = cast(Term(at, held), op.target.dtype)
        before = f"{printer.terms.at(name, axes)} + " if op.accumulate else ""
        printer.fill(name, axes, Term(f"{before}{made}", op.target.dtype))


def _share_out(printer: RegionPrinter, tile: str, axes: Sequence[str]) -> None:
    """Give each thread a block of a result's rows by four of its columns, so that it reads each factor for several."""
    rows, columns = (printer.body.axes[axis].lanes or 0 for axis in axes) if len(axes) == 2 else (0, 0)
    across = columns // 4
    if not across or printer.threads % across or rows % (printer.threads // across) or tile in printer.shared_out:
        return
    printer.shared_out.add(tile)
    down = rows * across // printer.threads
    place = f"lambda i, j: (i // {down} * {across} + j // 4, i % {down} * 4 + j % 4)"
    printer.held.add(
        f"T.annotate_layout({{{tile}: T.Fragment(({rows}, {columns}), forward_fn={place})}})", printer.line
    )


def _fold_products(printer: RegionPrinter, op: Op, held: str) -> None:
    """A product of which one factor has no axis of its own, or of whole numbers: multiplied, then summed."""
    assert op.expr is not None and op.other is not None and op.target is not None
    name, axes = printer.hold(op)
    pair = [cast(strong(printer.terms.term(e)), held) for e in (op.expr, op.other)]
    term = Term(f"{pair[0].beside('*')} * {pair[1].beside('*', right=True)}", held)
    both = Op(op.kind, op.place, target=op.target, expr=Binary("*", op.expr, op.other), over=op.over)
    made = cast(_folded(printer, both, term, "sum"), op.target.dtype)
    before = f"{printer.terms.at(name, axes)} + " if op.accumulate else ""
    printer.fill(name, axes, Term(f"{before}{made}", op.target.dtype))


def regroup(printer: RegionPrinter, op: Op) -> None:
    """The lanes of a tile as those of two other axes, by way of shared memory."""
    assert op.expr is not None and op.target is not None
    wide, tall, positions, channels = op.over
    for each in (positions, channels):
        axis = printer.body.axes[each]
        printer.open(axis, printer.terms.term(axis.begin), printer.terms.term(axis.end))
    dtype = _dtype(op.expr)
    tile = printer.allocate(printer.body.unique("regrouped"), (wide, tall), HELD[dtype], "shared")
    printer.fill(tile, (wide, tall), strong(printer.terms.term(op.expr)))
    name, axes = printer.hold(op)
    lanes = [printer.terms.lanes.get(n, "0") for n in (positions, channels)]
    flat = f"({lanes[0]} * {printer.lanes(channels)} + {lanes[1]})"
    printer.fill(name, axes, Term(f"{tile}[{flat} // {printer.lanes(tall)}, {flat} % {printer.lanes(tall)}]", dtype))


def _dtype(expr: Expr) -> str:
    assert expr.type is not None
    return expr.type.dtype

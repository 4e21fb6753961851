"""What each piece reads, writes and runs over, from the inside out; pieces that nobody reads are dropped."""

from __future__ import annotations

from akg_core.sketch.lower_pieces import Body, Piece, Value


def prune(body: Body) -> None:
    """Drop pieces whose result nobody reads."""
    while True:
        pieces = [p for region in body.regions for piece in region.pieces for p in piece.inside()]
        read = {v for p in pieces for e in p.expressions() for v in body.values_of(e)}
        read |= {p.target for p in pieces if p.kind == "range" and p.target}
        unread = {p for p in pieces if p.target is not None and p.kind != "range" and p.target not in read}
        unread |= {p for p in pieces if p.kind == "map" and p.target is not None and p.target.definition is not None}
        unread |= {p for p in pieces if p.compound and not p.body and not p.orelse}
        if not unread:
            return
        for region in body.regions:
            region.pieces = _without(region.pieces, unread)


def depend(body: Body, piece: Piece) -> None:
    """Note what a piece reads, writes and iterates over, from the inside out."""
    roles = {t.name: t.role for t in body.kernel.tensors}
    reads: set[Value] = set()
    loaded: set[str] = set()
    axes: set[str] = set()
    for expr in piece.expressions():
        reads |= set(body.values_of(expr))
        loaded |= {element.tensor for element in body.elements_of(expr)}
        axes |= body.axes_of(expr)
    writes = {piece.target} if piece.target is not None else set()
    for inner in (*piece.body, *piece.orelse):
        depend(body, inner)
        reads |= inner.reads
        writes |= inner.writes
        loaded |= inner.loaded
    if piece.target is not None:
        axes |= piece.target.axes
        if piece.accumulate:
            reads.add(piece.target)
    if piece.kind == "meet":
        piece.blocked = frozenset(axes)
    else:
        axes |= set(piece.over)
    if piece.kind == "dot":
        piece.blocked = _blocked(body, piece)
    stored = {piece.element.tensor} if piece.element is not None else set()
    piece.reads, piece.writes = frozenset(reads), frozenset(writes)
    piece.loaded = frozenset(t for t in loaded if roles[t] != "In")
    piece.stored = frozenset(stored.union(*(p.stored for p in (*piece.body, *piece.orelse))))
    piece.iterates = frozenset(axes) if not piece.compound else frozenset()


def _blocked(body: Body, piece: Piece) -> frozenset[str]:
    """The axes that the matrix product itself runs over: the longest of its rows, of its columns, and all of `over`."""
    a, b = (body.axes_of(e) for e in (piece.expr, piece.other) if e is not None)
    longest = lambda axes: max(sorted(axes), key=lambda n: body.axes[n].capacity or 1 << 40)  # noqa: E731
    return frozenset({longest(a - b), longest(b - a), *piece.over})


def _without(pieces: list[Piece], dropped: set[Piece]) -> list[Piece]:
    kept = [p for p in pieces if p not in dropped]
    for piece in kept:
        piece.body, piece.orelse = _without(piece.body, dropped), _without(piece.orelse, dropped)
    return kept

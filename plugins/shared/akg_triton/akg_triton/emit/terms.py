"""Texts of Triton, with what is known of their values."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from akg_core.plugin.lower import ATOM, LOOSE, Ranked
from akg_core.plugin.sketch import is_float, is_integer
from akg_triton.signature import TRITON


@dataclass(frozen=True, slots=True)
class Term(Ranked):
    """A Triton expression.

    `axes`: the axes of its shape, in the region's order. `dtype`: the language's; `narrow`: an i64 of the language that
    is held in 32 bits. `number`: it is a literal, which takes the dtype of what it meets.
    """

    text: str
    dtype: str
    axes: tuple[str, ...] = ()
    rank: int = ATOM
    narrow: bool = False
    number: bool = False

    def with_text(self, text: str, rank: int = ATOM) -> Term:
        return replace(self, text=text, rank=rank, number=False)


def literal(value: int | float | bool, dtype: str) -> str:
    """A number as Python text; it takes the dtype of the tile that it meets."""
    if dtype == "bool":
        return str(bool(value))
    if is_integer(dtype):
        return str(int(value))
    if math.isinf(value) or math.isnan(value):
        return f'float("{float(value)}")'
    return repr(float(value))


def cast(term: Term, dtype: str) -> Term:
    """The term in another dtype of the language."""
    if dtype == "f64" and term.number:  # which Triton would take for an f32
        return replace(term.with_text(f"tl.full([], {term}, tl.float64)"), dtype="f64")
    if term.dtype == dtype:
        return term
    if dtype == "bool":
        zero = "0.0" if is_float(term.dtype) else "0"
        return replace(term, text=f"{term.operand} != {zero}", dtype=dtype, rank=LOOSE, narrow=False, number=False)
    return replace(held(term, TRITON[dtype]), dtype=dtype, narrow=False)


def held(term: Term, triton_dtype: str) -> Term:
    """The term in a dtype of Triton, whatever it is in the language."""
    text = f"{term.operand}.to({triton_dtype})" if term.axes else f"tl.cast({term}, {triton_dtype})"
    return term.with_text(text)


def wide(term: Term) -> Term:
    """An index value in 64 bits."""
    return replace(held(term, "tl.int64"), narrow=False) if term.narrow and not term.number else term


def strong(term: Term) -> Term:
    """A literal as a scalar of its dtype."""
    return replace(held(term, TRITON[term.dtype]), narrow=False) if term.number else term

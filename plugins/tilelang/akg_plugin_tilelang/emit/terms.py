"""Texts of TileLang expressions for one element, with what is known of their values."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from akg_core.plugin.lower import ATOM, LOOSE, TORCH_NAMES, Ranked
from akg_core.plugin.sketch import is_float

# TileLang calls dtypes as torch does.
STORED = TORCH_NAMES | {"bool": "uint8"}  # in memory: vectors of bool have no form in CUDA
HELD = TORCH_NAMES | {"bool": "int32"}  # in a tile


@dataclass(frozen=True, slots=True)
class Term(Ranked):
    """An expression of one element. `narrow`: an i64 of the sketch that is held in 32 bits; `number`: a literal."""

    text: str
    dtype: str
    rank: int = ATOM
    narrow: bool = False
    number: bool = False


def literal(value: int | float | bool, dtype: str) -> str:
    """A number of a dtype as TileLang's text."""
    if is_float(dtype):
        special = math.isinf(value) or math.isnan(value)
        return f"T.{TORCH_NAMES[dtype]}({f'float({str(float(value))!r})' if special else repr(float(value))})"
    return f"T.bool({bool(value)})" if dtype == "bool" else f"T.{TORCH_NAMES[dtype]}({int(value)})"


def cast(term: Term, dtype: str) -> Term:
    """The term in another dtype of the sketch."""
    if term.dtype == dtype:
        return term
    if dtype == "bool":
        return Term(f"{term.operand} != {literal(0, term.dtype)}", dtype, LOOSE)
    return replace(term, text=f"T.cast({term}, {TORCH_NAMES[dtype]!r})", dtype=dtype, rank=ATOM, narrow=False)


def strong(term: Term) -> Term:
    """An index in the 64 bits that the sketch gives it; a term of another dtype as it is."""
    if not term.narrow:
        return term
    return Term(f"T.cast({term}, 'int64')", "i64") if not term.number else Term(f"T.int64({term})", "i64")


def stored(term: Term, dtype: str) -> Term:
    """A term as a tile of a dtype holds it."""
    return cast(term, "i32") if dtype == "bool" else term

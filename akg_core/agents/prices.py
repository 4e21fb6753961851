"""What models cost. The table is a few well-known models' list prices; users add theirs to the settings file."""

from __future__ import annotations

from collections.abc import Mapping

from akg_core.agents.records import Usage
from akg_core.agents.settings import Price

LISTED: Mapping[str, Price] = {
    "gpt-4.1": Price(read=2.00, cached=0.50, written=8.00),
    "gpt-4.1-mini": Price(read=0.40, cached=0.10, written=1.60),
    "gpt-4o": Price(read=2.50, cached=1.25, written=10.00),
    "gpt-4o-mini": Price(read=0.15, cached=0.075, written=0.60),
    "o3": Price(read=2.00, cached=0.50, written=8.00),
    "o4-mini": Price(read=1.10, cached=0.275, written=4.40),
    "deepseek-chat": Price(read=0.27, cached=0.07, written=1.10),
    "deepseek-reasoner": Price(read=0.55, cached=0.14, written=2.19),
}
"""Dollars for a million tokens, as published in 2025. Endpoints change them: what the settings say comes first."""


def price_of(model: str, own: Mapping[str, Price]) -> Price | None:
    """The price of a model, by its name or by the name without a date ("gpt-4o-2024-08-06")."""
    for table in (own, LISTED):
        if model in table:
            return table[model]
    stem = model.rpartition("/")[2]
    named = [name for name in LISTED if stem == name or stem.startswith(f"{name}-20")]
    return LISTED[max(named, key=len)] if named else None


def dollars(model: str, usage: Usage, own: Mapping[str, Price]) -> float | None:
    """What an answer cost; None for a model without a price."""
    price = price_of(model, own)
    if price is None:
        return None
    cached = price.read if price.cached is None else price.cached
    return ((usage.read - usage.cached) * price.read + usage.cached * cached + usage.written * price.written) / 1e6

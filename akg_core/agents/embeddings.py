"""Which sections are about what is asked: by an endpoint's embeddings, beside the words, where a model is named for it.

Nothing needs it. Vectors of sections are kept in the library, so that each is asked for once.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy

from akg_core.agents.client import Client
from akg_core.agents.library import Found, Library
from akg_core.agents.sections import Section

T = TypeVar("T", bound=Hashable)

_AT_ONCE = 64  # texts of one request
_FIRST = 60  # how much the first places of an order count before later ones: 1 / (60 + place)


def search(library: Library, plugin: str, words: str, client: Client, most: int) -> list[Found]:
    """Like `Library.search`, by words and by embeddings together."""
    by_words = [found.section for found in library.search(plugin, words, most=1000)]
    scores = fused([by_words, nearest(library, plugin, words, client)])
    ranked = sorted(scores, key=lambda section: scores[section], reverse=True)
    return [Found(section=section, score=scores[section]) for section in ranked[:most]]


def nearest(library: Library, plugin: str, asked: str, client: Client) -> list[Section]:
    """All sections of a plugin, those first whose vectors are nearest to what is asked. Raises what `embed` raises."""
    model = client.settings.embed_model
    texts = {hashlib.sha256(each.text.encode()).hexdigest(): each for each in library.shelf(plugin)}
    known = library.vectors(model, texts)
    missing = [digest for digest in texts if digest not in known]
    for start in range(0, len(missing), _AT_ONCE):
        some = missing[start : start + _AT_ONCE]
        made = client.embed([texts[digest].text for digest in some])
        vectors = {digest: _packed(vector) for digest, vector in zip(some, made, strict=True)}
        library.file_vectors(model, vectors)
        known |= vectors
    (wanted,) = client.embed([asked])
    target = numpy.frombuffer(_packed(wanted), dtype="<f4")
    near = {digest: float(numpy.frombuffer(known[digest], dtype="<f4") @ target) for digest in texts}
    return [texts[digest] for digest in sorted(texts, key=lambda digest: near[digest], reverse=True)]


def fused(orders: Sequence[Sequence[T]]) -> dict[T, float]:
    """A score for whatever is in some orders, the higher the earlier it comes in them (reciprocal rank fusion)."""
    scores: dict[T, float] = defaultdict(float)
    for order in orders:
        for place, each in enumerate(order):
            scores[each] += 1 / (_FIRST + place)
    return dict(scores)


def _packed(vector: Sequence[float]) -> bytes:
    """A vector of length 1 as 32-bit floats."""
    found = numpy.asarray(vector, dtype="<f4")
    return (found / max(float(numpy.linalg.norm(found)), 1e-12)).astype("<f4").tobytes()

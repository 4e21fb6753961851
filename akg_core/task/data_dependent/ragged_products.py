"""Products, distances, attention and losses by classes of tensors with dims as long as masks say. Worker side only."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional

from akg_core.task.data_dependent.by_row import IGNORED
from akg_core.task.data_dependent.dense import dense
from akg_core.task.data_dependent.domain import Domain, Rows, depends
from akg_core.task.data_dependent.ragged import FUNCTIONS, Domains, Ragged, met, of, same, wrapped


def _matmul(left: Any, right: Any) -> Any:
    a, b = of(left), of(right)
    if min(a.data.dim(), b.data.dim()) < 2:
        raise depends()
    same(a.domains[-1], b.domains[-2])
    product = a.filled(-1) @ b.filled(-2)
    return wrapped(product, (*_batch(a, b), a.domains[-2], b.domains[-1]))


def _batch(a: Ragged, b: Ragged) -> Domains:
    """The domains of the dims before the last two."""
    return met([Ragged(each.data[..., 0, 0], each.domains[:-2]) for each in (a, b)])


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    found = _matmul(x, of(weight).T)
    return found if bias is None else found + bias


def _einsum(equation: str, *operands: Any) -> Any:
    terms, arrow, result = equation.replace(" ", "").partition("->")
    if not arrow or "." in equation:
        raise depends()
    by: dict[str, Domain | None] = {}
    data = []
    for term, value in zip(terms.split(","), operands, strict=True):
        x = of(value)
        for dim, label in enumerate(term):
            same(by.setdefault(label, x.domains[dim]), x.domains[dim])
            x = Ragged(x.data if label in result else x.filled(dim), x.domains)
        data.append(x.data)
    return wrapped(torch.einsum(equation, *data), tuple(by[label] for label in result))


def _attention(query: Any, key: Any, value: Any, attn_mask: Any = None, *options: Any, **named: Any) -> Any:
    """Attention to keys that a mask keeps."""
    q, k, v = of(query), of(key), of(value)
    domain = k.domains[-2]
    same(domain, v.domains[-2])
    if (
        options
        or isinstance(attn_mask, (Rows, Ragged))
        or named.get("is_causal")
        or any((k.domains[-1], v.domains[-1]))
    ):
        raise depends()
    if domain:
        hidden = attn_mask is not None and attn_mask.dtype != torch.bool
        mask = torch.where(domain.kept, attn_mask, -math.inf) if hidden else domain.kept[None]
        attn_mask = mask if hidden or attn_mask is None else mask & attn_mask
    found = functional.scaled_dot_product_attention(q.data, k.filled(-2), v.filled(-2), attn_mask, **named)
    return wrapped(found, (*q.domains[:-1], None))


def _cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: Any = None) -> Any:
    a, b = of(x1), of(x2)
    same(a.domains[-1], b.domains[-1])
    found = torch.cdist(a.data, b.data, p)
    return wrapped(found, (*_batch(a, b), a.domains[-2], b.domains[-2]))


def _of_classes(name: str, logits: Any, target: Any, **options: Any) -> Any:
    """A loss by classes, where rows of a mask are these: of [n, classes]."""
    scores = of(logits.log_softmax(1) if name == "cross_entropy" else logits)
    plain = {"weight": None, "ignore_index": IGNORED, "label_smoothing": 0.0, "size_average": None, "reduce": None}
    reduction = options.pop("reduction", "mean")
    if (
        any(value != plain.get(key, value) for key, value in options.items())
        or scores.data.dim() != 2
        or scores.domains[1] is None
    ):
        raise depends()
    classes, (domain,) = scores.front(1)
    at = target.valid(target.spans) if isinstance(target, Rows) else target
    of_rows = target.domain if isinstance(target, Rows) else None
    loss = wrapped(-dense(classes).rows.gather(0, at[None])[0], (domain,))
    if of_rows is not domain:
        raise depends()
    return loss if reduction == "none" else getattr(loss, reduction)()


FUNCTIONS.update(
    {
        **dict.fromkeys(("matmul", "__matmul__", "mm", "bmm"), _matmul),
        "__rmatmul__": lambda right, left: _matmul(left, right),
        "linear": _linear,
        "einsum": _einsum,
        "scaled_dot_product_attention": _attention,
        "cdist": _cdist,
        "cross_entropy": lambda *args, **options: _of_classes("cross_entropy", *args, **options),
        "nll_loss": lambda *args, **options: _of_classes("nll_loss", *args, **options),
    }
)

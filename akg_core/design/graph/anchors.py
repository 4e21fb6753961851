"""The values that shape kernels, and what every value is made of."""

from __future__ import annotations

from akg_core.design.graph.states import Loop, States
from akg_core.design.graph.values import (
    Attention,
    Concat,
    Gather,
    Pointwise,
    Product,
    Reduced,
    Reduction,
    Scan,
    Scatter,
    Scores,
    Segmented,
    Sorted,
    Value,
    View,
    Window,
)

AnchorKey = Reduction | Product | Scan | Sorted | Segmented | Scatter | Concat | Attention | Loop
Anchor = Reduced | Scan | Sorted | Segmented | Scatter | Product | Concat | Attention | Scores | States


def operands(value: Value) -> tuple[Value, ...]:
    """The values that `value` is directly made of."""
    match value:
        case Pointwise(args=args):
            return args
        case View(arg=arg) | Window(arg=arg) | Scan(arg=arg) | Sorted(arg=arg):
            return (arg,)
        case Gather(arg=arg, places=places):
            return (arg, *places)
        case Scatter(base=base, updates=updates, places=places):
            return (base, updates, *places)
        case Segmented(arg=arg, starts=starts, stops=stops):
            return (arg, starts, stops)
        case Reduced(reduction=reduction):
            return (reduction.arg,)
        case Product(left=left, right=right, guards=guards):
            return (left, right, *(v for g in guards or () for v in (g.exact, g.back)))
        case Concat(parts=parts):
            return parts
        case States(loop=loop):
            return (*loop.given, *loop.initial, *loop.fixed)
        case Attention(query=query, key=key, scores=scores, right=right):
            return (query, key, scores, right)
    return ()


def anchor_of(value: Value) -> AnchorKey | None:
    if isinstance(value, Reduced):
        return value.reduction
    if isinstance(value, States):
        return value.loop
    return value if isinstance(value, (Product, Scan, Sorted, Segmented, Scatter, Concat, Attention)) else None

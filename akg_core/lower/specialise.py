"""A launch of a kernel becomes an instance with every known number folded in.

`instances` gives one `Instance` for each different way in which the program launches a kernel: its Const parameters and
the dimensions that are plain numbers there are constants of the instance, so that an emitter can unroll, size
buffers and drop masks by them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from akg_core.lower.fold import fold
from akg_core.lower.host.call import Call
from akg_core.lower.host.module import calls
from akg_core.sketch.ast import Element, Kernel, Name, Number, SketchFile, TensorParameter, rewrite
from akg_core.sketch.check.shapes import substitute

Numbers = tuple[dict[str, int | float], dict[str, int]]
"""The Consts and the sizes of dimensions that are known of a launch."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One specialisation of a kernel.

    `symbol` is unique in the file. `dimensions` are the kernel's dimension names in order of first appearance,
    `known` the sizes of those that are folded into the kernel's tree, `open` the Consts that only a launch knows.
    """

    symbol: str
    kernel: Kernel
    dimensions: tuple[str, ...]
    known: Mapping[str, int]
    open: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash(self.symbol)


def instances(tree: SketchFile) -> list[tuple[Call, Instance]]:
    """Each launch of a bound sketch with the instance that it runs; launches with equal numbers share one."""
    found: dict[str, dict[str, Instance]] = defaultdict(dict)  # by the kernel, and what is known of its launches
    launched = []
    for call in calls(tree):
        numbers, own = known(call), found[call.kernel.name]
        if repr(numbers) not in own:
            symbol = f"{call.kernel.name}_{len(own) + 1}" if own else call.kernel.name
            own[repr(numbers)] = specialise(call.kernel, *numbers, symbol)
        launched.append((call, own[repr(numbers)]))
    return launched


def known(call: Call, symbols: Mapping[str, int] = {}) -> Numbers:
    """The Consts and dimensions of a launch that are plain numbers; `symbols`: of the program's sizes that vary."""
    constants = {name: e.value for name, e in sorted(call.constants.items()) if isinstance(e, Number)}
    return constants, sizes_at(call, symbols)


def sizes_at(call: Call, symbols: Mapping[str, int]) -> dict[str, int]:
    """Of the dimensions of a launch's kernel, those that are known where `symbols` gives the program's that vary."""
    put = dict(sorted(call.expressions.items()))
    if symbols:
        values = {name: Number(size) for name, size in symbols.items()}
        put = {name: rewrite(substitute(expr, values), fold) for name, expr in put.items()}
    return {name: int(size.value) for name, size in put.items() if isinstance(size, Number)}


def specialise(kernel: Kernel, constants: Mapping[str, int | float], sizes: Mapping[str, int], symbol: str) -> Instance:
    """A bound `kernel` with the known `constants` and `sizes` put in and folded."""
    numbers: dict[str, int | float] = {**constants, **sizes}
    unknown = tuple(c.name for c in kernel.constants if c.name not in constants)

    def put(node: Any) -> Any:
        if isinstance(node, Name) and node.id in numbers:
            return Number(numbers[node.id], place=node.place, type=node.type)
        return fold(node)

    return Instance(symbol, rewrite(kernel, put), kernel.dimensions, dict(sizes), unknown)


def renamed(instance: Instance, reserved: Collection[str]) -> Instance:
    """The instance with another name for each tensor, dimension and Const whose own is reserved in the DSL."""
    names = [t.name for t in instance.kernel.tensors] + list(instance.dimensions) + list(instance.open)
    other: dict[str, str] = {}
    for name in names:
        if name in reserved:
            fresh = f"{name}_"
            while fresh in reserved or fresh in names:
                fresh += "_"
            other[name] = fresh

    def rename(node: Any) -> Any:
        if isinstance(node, Name) and node.id in other:
            return replace(node, id=other[node.id])
        if isinstance(node, Element) and node.tensor in other:
            return replace(node, tensor=other[node.tensor])
        if isinstance(node, TensorParameter) and node.name in other:
            return replace(node, name=other[node.name])
        return node

    if not other:
        return instance
    return Instance(
        instance.symbol,
        rewrite(instance.kernel, rename),
        tuple(other.get(name, name) for name in instance.dimensions),
        {other.get(name, name): size for name, size in instance.known.items()},
        tuple(other.get(name, name) for name in instance.open),
    )

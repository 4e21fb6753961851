"""What a mask keeps, and rows of it, as `Picked` has them: for every element of the mask, or along some of its dims.

Worker side only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DynamicOutputShapeException

Spans = tuple[bool, ...]


class Domain:
    """The elements of `mask` [*grid] that are kept, in order; how many these are, nobody says.

    `root`: a domain that is known to have as many, the same for all of these. `is_dense`: they come first. `piece`: of
    which domain it has the first so many elements, ("first", 3), or so many less, ("less", 3).
    """

    def __init__(self, mask: Tensor, root: Domain | None = None, is_dense: bool = False) -> None:
        self.mask, self.grid = mask, tuple(mask.shape)
        self.root, self.is_dense = root or self, is_dense
        self.piece: tuple[Domain, tuple[str, int]] | None = None
        self.full: Spans = (True,) * mask.dim()
        self._parts: dict[Any, tuple[Any, Domain]] = {}

    @cached_property
    def kept(self) -> Tensor:
        """The mask in one dim."""
        return self.mask.reshape(-1)

    @cached_property
    def count(self) -> Tensor:
        """How many there are, as a tensor of one number, which knows whose number it is."""
        if self.root is not self:
            return self.root.count
        number = counting(self.mask.sum(), self)
        number.is_python = True  # type: ignore[attr-defined]
        return number

    @cached_property
    def rank(self) -> Tensor:
        """The place of each element among those that are kept."""
        return self.kept.cumsum(0) - 1

    @cached_property
    def place(self) -> Tensor:
        """The place of each element that is kept among these, -1 of the others."""
        return torch.where(self.kept, self.rank, -1)

    @cached_property
    def front(self) -> Domain:
        """As many elements at the front of a row that has room for all."""
        if self.root is not self:
            return self.root.front
        places = torch.arange(self.kept.shape[0], device=self.mask.device)
        return Domain(places < self.count, self, is_dense=True)

    def repeated(self, factor: int) -> Domain:
        """So many elements in a row for each; the same domain each time."""
        mask = self.kept[:, None].expand(-1, factor)
        return self.part(("repeated", factor), lambda: Domain(mask.reshape(-1), is_dense=self.is_dense))

    def sizes(self, spans: Spans) -> list[Any]:
        return [size if along else 1 for size, along in zip(self.grid, spans, strict=True)]

    def along(self, spans: Spans) -> Tensor:
        """Which rows along some dims any kept element has."""
        others = [dim for dim, along in enumerate(spans) if not along]
        return (self.mask.any(others) if others else self.mask).reshape(-1)

    def narrowed(self, by: Any, keep: Callable[[], Tensor], length: tuple[str, int] | None = None) -> Domain:
        """Those of the elements that `keep` says; the same domain for the same `by`. `length`: that of its `piece`."""

        def make() -> Domain:
            found = Domain(self.mask & keep().reshape(self.grid))
            if length is not None:
                whole, (kind, number) = self.root, length
                if kind == "less" and whole.piece is not None and whole.piece[1][0] == kind:
                    whole, (_, more) = whole.piece
                    number += more
                found.root = whole.part((kind, number, self.kept.shape[0]), lambda: found)
                found.piece = whole, (kind, number)
            return found

        return self.part(by, make)

    def part(self, by: Any, make: Callable[[], Domain]) -> Domain:
        """A domain made of this; the same one for the same `by`, a tuple or what is known by its identity."""
        key = by if isinstance(by, tuple) else id(by)
        if key not in self._parts:
            self._parts[key] = by, make()
        return self._parts[key][1]


def together(domains: Sequence[Domain]) -> Domain | None:
    """The domain, its elements first, that has as many as two together: the first so many of it, and so many less."""
    pieces = [piece for domain in domains if (piece := domain.root.piece) is not None]
    if len(pieces) != 2 or pieces[0][0] is not pieces[1][0]:
        return None
    (whole, (kind, number)), (_, (other_kind, other_number)) = pieces
    return whole.front if number == other_number and {kind, other_kind} == {"first", "less"} else None


def counting(number: Tensor, domain: Domain) -> Tensor:
    """A tensor that is known to be the number of a domain's elements."""
    number.counts = domain  # type: ignore[attr-defined]
    return number


def counted(value: Any) -> Domain | None:
    """Whose elements a number counts; None for other values."""
    return getattr(value, "counts", None) if isinstance(value, Tensor) and not value._version else None


class Rows:
    """`rows` [m, *rest], of the elements of a domain along the dims that `spans` says, whose sizes make m.

    `places`: rows are the numbers of a dim of the mask, or [m, k] of several. `shared`: others may see what is written.
    `front`: the same rows one after the other, once somebody has asked for that. `is_python`: PyTorch has a list.
    """

    is_python = False
    shape: Any

    def __init__(
        self, rows: Tensor, domain: Domain, spans: Spans | None = None, places: int | tuple[int, ...] | None = None
    ) -> None:
        self.rows, self.domain, self.spans = rows, domain, spans or domain.full
        self.places, self.shared = places, False
        self.front: Any = None

    def made(self, rows: Tensor) -> Any:
        """Others of the same elements."""
        return type(self)(rows, self.domain, self.spans)

    def becomes(self, rows: Tensor, domain: Domain) -> None:
        """Other rows from now on, under the same name. Raises where others may see what is written."""
        if self.shared:
            raise depends()
        self.rows, self.domain, self.spans, self.places, self.front = rows, domain, domain.full, None, None

    def spread(self, spans: Spans | None = None) -> Tensor:
        """The rows along all dims of the mask, or along those of `spans`."""
        spans = spans or self.domain.full
        if spans == self.spans:
            return self.rows
        rest = self.rows.shape[1:]
        return self.boxed().expand(*self.domain.sizes(spans), *rest).reshape(-1, *rest)

    def boxed(self) -> Tensor:
        """The rows [*grid, *rest], of size 1 along the dims that they do not span."""
        return self.rows.reshape(*self.domain.sizes(self.spans), *self.rows.shape[1:])

    def turns(self, most: int) -> list[Any]:
        """All rows, one after the other; raises where they are more than `most`."""
        if self.domain.kept.shape[0] > most:
            raise depends()
        if self.places is None:
            return list(self.spread().unbind())
        grid = itertools.product(*map(range, self.domain.grid))
        if isinstance(self.places, int):
            return [Place(at[self.places]) for at in grid]
        return [Places(Place(at[dim]) for dim in self.places) for at in grid]

    def valid(self, spans: Spans) -> Tensor:
        """Rows of numbers along `spans`, 0 where the mask keeps none: those may be no place of anything."""
        kept = self.domain.along(spans)
        return torch.where(kept.reshape(-1, *(1,) * (self.rows.dim() - 1)), self.spread(spans), 0)


class Place(int):
    """A number of a place that is known, as a tensor of one number is."""

    def item(self) -> int:
        return int(self)

    tolist = __pos__ = item

    def squeeze(self, *_: Any) -> Place:
        return self

    long = int = cpu = detach = squeeze


class Places(tuple[Place, ...]):
    """A row of `nonzero`, as a tensor of as many numbers is."""

    def item(self) -> int:
        (one,) = self
        return int(one)

    __index__ = __int__ = item

    def tolist(self) -> list[int]:
        return [int(each) for each in self]

    def squeeze(self, *_: Any) -> Any:
        return self[0] if len(self) == 1 else self


def union(given: Sequence[Rows]) -> Spans:
    """The dims that any of them spans; raises where they are of several domains."""
    if any(each.domain is not given[0].domain for each in given):
        raise depends()
    return tuple(any(along) for along in zip(*(each.spans for each in given), strict=True))


def is_in_place(name: str) -> bool:
    """Whether a function of this name changes its first argument: `add_`, `__iadd__`."""
    return (name.startswith("__i") and name != "__invert__") or (name.endswith("_") and not name.endswith("__"))


def out_of_place(name: str) -> str:
    """The name of a function that gives what one writes to its first argument."""
    return f"__{name[3:]}" if name.startswith("__i") else name.removesuffix("_")


def parts_of(index: Any) -> tuple[Any, ...]:
    """The parts of an index."""
    return index if isinstance(index, tuple) else (index,)


def depends() -> DynamicOutputShapeException:
    """For what depends on how many rows a mask picks."""
    return DynamicOutputShapeException(torch.ops.aten.nonzero.default)

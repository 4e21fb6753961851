"""Sparse matrices that forward makes of indices and values, and what is multiplied by them, in terms of dense ones.

A matrix stands for its elements; a product is the sum, by rows, of the other's rows times these. Worker side only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class SparseMatrix:
    """A matrix of `shape` [M, N], the sum of `values` [K] at `indices` [2, K], in terms of dense operators."""

    indices: Tensor
    values: Tensor
    shape: torch.Size

    is_sparse = True

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        known = _FUNCTIONS.get(func.__name__)
        return NotImplemented if known is None else known(*args, **(kwargs or {}))

    def mm(self, other: Tensor) -> Tensor:
        """[M, C] of `other` [N, C]."""
        if not isinstance(other, Tensor):
            raise TypeError("a sparse matrix is multiplied by a dense one")
        row, column = self.indices
        share = self.values.unsqueeze(-1) * other[column]
        return other.new_zeros(self.shape[0], other.shape[1]).index_add(0, row, share)

    def mv(self, other: Tensor) -> Tensor:
        return self.mm(other.unsqueeze(-1)).squeeze(-1)

    def matmul(self, other: Tensor) -> Tensor:
        return self.mv(other) if other.dim() == 1 else self.mm(other)

    __matmul__ = matmul

    def __mul__(self, factor: Any) -> SparseMatrix:
        return SparseMatrix(self.indices, self.values * factor, self.shape)

    __rmul__ = mul = __mul__

    def t(self) -> SparseMatrix:
        return SparseMatrix(self.indices.flip(0), self.values, torch.Size(self.shape[::-1]))

    def transpose(self, first: int, second: int) -> SparseMatrix:
        return self if first % 2 == second % 2 else self.t()

    def coalesce(self) -> SparseMatrix:
        return self

    to_sparse_csr = to_sparse = coalesce

    def to_dense(self) -> Tensor:
        dense = self.values.new_zeros(self.shape)
        return dense.index_put((self.indices[0], self.indices[1]), self.values, accumulate=True)

    def to(self, *args: Any, **options: Any) -> SparseMatrix:
        return SparseMatrix(self.indices, self.values.to(*args, **options), self.shape)

    def float(self) -> SparseMatrix:
        return self.to(torch.float32)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]


def sparse_coo_tensor(indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """As `torch.sparse_coo_tensor`, of matrices whose size is said."""
    if size is None or len(size) != 2 or not isinstance(indices, Tensor) or not isinstance(values, Tensor):
        return _SPARSE_COO_TENSOR(indices, values, size, **options)
    dtype = options.get("dtype") or values.dtype
    return SparseMatrix(indices, values.to(dtype), torch.Size(size))


def _addmm(added: Tensor, sparse: SparseMatrix, other: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return beta * added + alpha * sparse.mm(other)


def _matmul(one: Any, other: Any) -> Any:
    return one.matmul(other) if isinstance(one, SparseMatrix) else NotImplemented


_SPARSE_COO_TENSOR = torch.sparse_coo_tensor
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(["mm", "matmul", "spmm", "_sparse_mm", "mv"], _matmul),
    **dict.fromkeys(["addmm", "_sparse_addmm"], _addmm),
}

"""Factorisations of small matrices, and what is solved, inverted and measured by them."""

from __future__ import annotations

import pytest

from tests.design.judging import SMALL, forward, judge, reference

POSITIVE = "[(lambda a: a @ a.mT + torch.eye(5))(torch.randn(3, 5, 5)), torch.randn(3, 5, 2)]"
ANY = "[torch.randn(3, 5, 5), torch.randn(3, 5, 2)]"
OF_POSITIVE = [
    "torch.linalg.cholesky(x)", "torch.linalg.cholesky(x, upper=True)", "torch.linalg.cholesky_ex(x)",
    "torch.cholesky_solve(y, torch.linalg.cholesky(x))", "torch.cholesky_inverse(torch.linalg.cholesky(x[0]))",
    "torch.linalg.cholesky_ex(x - 3 * torch.eye(5)).info", "torch.logdet(x) + 1",
    "torch.cholesky_solve(y, torch.linalg.cholesky(x, upper=True), upper=True)",
    "torch.linalg.cholesky(x.to(torch.float64))",
]  # fmt: skip
OF_ANY = [
    "torch.linalg.solve_triangular(x, y, upper=False)", "torch.linalg.solve_triangular(x, y[0], upper=True)",
    "torch.linalg.solve_triangular(x, y.mT, upper=True, left=False, unitriangular=True)",
    "torch.triangular_solve(y, x, upper=False, transpose=True).solution",
    "torch.linalg.inv(x)", "torch.linalg.det(x)", "torch.linalg.slogdet(x)", "torch.linalg.solve(x, y)",
    "torch.linalg.solve(x[0], y[0, :, 0])", "torch.linalg.solve(x, y.mT, left=False)", "torch.linalg.lu_factor(x)",
    "torch.linalg.lu_factor_ex(x * (torch.arange(5) != 2)).info", "torch.linalg.inv_ex(x).inverse @ y",
]  # fmt: skip


@pytest.mark.parametrize("line", OF_POSITIVE)
def test_of_positive_definite_matrices(line: str) -> None:
    judge(reference(forward(line, "x, y"), POSITIVE), traits=SMALL)


@pytest.mark.parametrize("line", OF_ANY)
def test_of_any_matrices(line: str) -> None:
    judge(reference(forward(line, "x, y"), ANY), traits=SMALL)


def test_the_largest_element_of_a_column_is_divided_by() -> None:
    inputs = "[torch.eye(5).roll(2, 0)[None] + 1e-9, torch.ones(1, 5, 1)]"
    judge(reference(forward("torch.linalg.solve(x, y)", "x, y"), inputs))

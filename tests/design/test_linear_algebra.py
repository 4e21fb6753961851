"""Factorisations of small matrices, and what is solved, inverted and measured by them."""

from __future__ import annotations

import pytest
import torch

from akg_core.errors import UnsupportedOperator
from akg_core.task.decompositions import formulas
from tests.design.judging import SMALL, USUAL, designed, forward, judge, reference

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
    "torch.linalg.lu_factor_ex(x * (torch.arange(5) != 2))", "torch.linalg.inv_ex(x).inverse @ y",
    "torch.linalg.slogdet(x * (torch.arange(5) != 2))", "torch.linalg.det(x * (torch.arange(5) != 0))",
    "torch.linalg.solve(x[0], y)", "torch.linalg.lu(x)", "torch.lu_unpack(*torch.linalg.lu_factor(x))",
    "torch.linalg.lu_factor_ex(x[:, :3])", "torch.linalg.lu(x[:, :, :3])", "torch.linalg.lu(x[:, :3])",
    "torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y)", "torch.lu_solve(y, *torch.linalg.lu_factor(x[1]))",
    "torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y, adjoint=True)",
    "torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y.mT, left=False)",
    "torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y.mT, left=False, adjoint=True)",
]  # fmt: skip
HIGH_AND_WIDE = [
    "torch.linalg.qr(x)", "torch.linalg.qr(x, mode='complete')", "torch.linalg.qr(x, 'r').R", "torch.linalg.qr(y)",
    "torch.linalg.qr(x[0] * (torch.arange(7) > 4)[:, None]).R", "torch.geqrf(x)",
    "torch.linalg.householder_product(*torch.geqrf(x))", "torch.linalg.householder_product(x, y[..., 0])",
    "torch.ormqr(*torch.geqrf(x), y.mT)", "torch.ormqr(*torch.geqrf(x), y, left=False)",
    "torch.ormqr(*torch.geqrf(x), y.mT, transpose=True)",
    "torch.linalg.qr(x.to(torch.float64)).Q", "torch.matrix_exp(x @ y[0, :4])",
]  # fmt: skip

SPECTRA = [
    "torch.linalg.svdvals(x)", "torch.linalg.svdvals(y.mT)", "torch.linalg.eigvalsh(x)",
    "torch.linalg.eigvalsh(x, UPLO='U')", "torch.linalg.svdvals(y * 0)", "torch.linalg.svdvals(x[:, :1] * x[:, :, :1])",
    "torch.linalg.eigvalsh(torch.eye(5) + y[:, :1, :1])", "torch.linalg.eigvalsh(x[:, :1] * x[:, :1].mT)",
    "(lambda w, v: (v * w.abs().sqrt()[:, None]) @ v.mT)(*torch.linalg.eigh(x + x.mT))",
    "(lambda w, v: v.mT @ v)(*torch.linalg.eigh(torch.eye(5, dtype=torch.float64) - x[:, :1] * x[:, :1].mT / 9))",
    "(lambda u, s, v: (u / s[:, None]) @ v)(*torch.linalg.svd(y, full_matrices=False))",
    "(lambda u, s, v: u @ v)(*torch.linalg.svd(y.mT, full_matrices=False))", "torch.svd(y).S",
    "(lambda u, s, v: u @ v)(*torch.linalg.svd(x))", "torch.linalg.matrix_norm(x, 'nuc')", "torch.linalg.cond(y)",
    "torch.linalg.matrix_norm(y, -2)", "torch.linalg.matrix_rank(y @ y.mT)", "torch.linalg.pinv(y)",
    "torch.linalg.pinv(y @ y.mT, hermitian=True)", "torch.linalg.pinv(y.mT, atol=1.0)",
    "torch.linalg.pinv(x, rtol=0.3)", "torch.linalg.eigvalsh(x.to(torch.float64))",
]  # fmt: skip


@pytest.mark.parametrize("line", OF_POSITIVE)
def test_of_positive_definite_matrices(line: str) -> None:
    judge(reference(forward(line, "x, y"), POSITIVE), traits=SMALL)


@pytest.mark.parametrize("line", OF_ANY)
def test_of_any_matrices(line: str) -> None:
    judge(reference(forward(line, "x, y"), ANY), traits=SMALL)


@pytest.mark.parametrize("line", HIGH_AND_WIDE)
def test_reflections_and_exponentials(line: str) -> None:
    judge(reference(forward(line, "x, y"), "[torch.randn(3, 7, 4), torch.randn(3, 4, 7)]"), traits=SMALL)


@pytest.mark.parametrize("line", SPECTRA)
def test_singular_values_and_eigenvalues(line: str) -> None:
    judge(reference(forward(line, "x, y"), "[torch.randn(2, 5, 5), torch.randn(2, 5, 3)]"), traits=USUAL)


@pytest.mark.parametrize("size", [1, 2, 6, 7])
def test_all_rows_meet_whether_their_number_is_odd_or_even(size: int) -> None:
    inputs = f"[torch.diag(torch.arange({size}) // 2 * 1.0)[None] + 1e-3 * torch.randn(2, {size}, {size})]"
    judge(reference(forward("(torch.linalg.svdvals(x), torch.linalg.eigvalsh(x - 2))"), inputs), traits=USUAL)


@pytest.mark.parametrize("scale", [1e-306, 1.0, 1e290])
def test_values_in_float64_have_all_digits_whatever_their_size(scale: float) -> None:
    """What is added to the diagonal costs them no digits, nor does their length what all turns round."""
    squares = "(torch.linalg.eigvalsh(scale * (q * w) @ q.mT) / scale - torch.flip(w, [0])).abs() < 6e-15"
    lengths = "(torch.linalg.svdvals(scale * q * w) / scale - w).abs() < 6e-15"
    body = f"""    def forward(self, x, w):
        q, scale = torch.linalg.qr(x).Q, {scale}
        return {squares}, {lengths}"""
    inputs = "torch.randn(1, 13, 13, dtype=torch.float64), torch.tensor([2.0] * 7 + [1.0] * 6, dtype=torch.float64)"
    judge(reference(body, f"[{inputs}]"), traits=USUAL)


@pytest.mark.parametrize("line", ["torch.linalg.eigvalsh(x)", "torch.linalg.svdvals(x.mT)"])
def test_there_are_sweeps_enough_for_columns_that_fall_to_nothing(line: str) -> None:
    inputs = "[torch.randn(1, 24, 24, dtype=torch.float64) * torch.logspace(0, -12, 24, dtype=torch.float64)]"
    judge(reference(forward(line), inputs), traits=USUAL)


@pytest.mark.parametrize("line", ["torch.linalg.eigh(x)", "torch.linalg.svd(x, full_matrices=False).U[0]"])
def test_vectors_whose_signs_nobody_can_say_are_refused(line: str) -> None:
    with pytest.raises(UnsupportedOperator, match="its vectors, whose signs are arbitrary"):
        judge(reference(forward(line), "[torch.randn(3, 4, 4)]"))


@pytest.mark.parametrize(
    ("line", "shape", "said"),
    [
        ("torch.linalg.svd(x)[0].abs()", (3, 5, 4), "with full_matrices, of matrices that are not square"),
        ("torch.linalg.svdvals(x)", (512, 512), "on matrices so large, of which each turn of a loop is kept"),
    ],
)
def test_vectors_that_complete_others_and_large_matrices_are_refused(
    line: str, shape: tuple[int, ...], said: str
) -> None:
    with pytest.raises(UnsupportedOperator, match=said):
        designed(reference(forward(line), f"[torch.randn({shape})]"))


@pytest.mark.parametrize("line", ["torch.linalg.qr(x)", "torch.geqrf(x)", "torch.linalg.householder_product(x, y)"])
def test_reflections_of_what_is_no_number_reach_no_further_than_lapack_has_them(line: str) -> None:
    inputs = "[torch.randn(3, 7, 4).index_fill(1, torch.tensor(2), math.nan), torch.rand(3, 4)]"
    judge(reference(forward(line, "x, y"), inputs), traits=SMALL)


@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 30.0])
def test_exponentials_of_matrices_of_any_size(size: float) -> None:
    x = torch.randn(3, 9, 9, dtype=torch.float64)
    x = size * (x - x.mT)
    formula = formulas.decompositions()[torch.ops.aten.linalg_matrix_exp.default]
    torch.testing.assert_close(formula(x), torch.matrix_exp(x), rtol=0, atol=1e-12)


def test_the_largest_element_of_a_column_is_divided_by() -> None:
    inputs = "[torch.eye(5).roll(2, 0)[None] + 1e-9, torch.ones(1, 5, 1)]"
    judge(reference(forward("torch.linalg.solve(x, y)", "x, y"), inputs))

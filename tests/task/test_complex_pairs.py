"""Complex numbers within a forward become pairs of real ones, and Fourier transforms stages of short ones."""

from __future__ import annotations

import pytest

from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import SMALL, forward, judge, reference

GIVEN = "[torch.randn(6, 32), torch.randn(6, 32)]"
WINDOW = "window=torch.hann_window(16)"
TRANSFORMS = [
    "torch.fft.rfft(x).abs()", "torch.fft.irfft(torch.fft.rfft(x) * 2, n=32)", "torch.fft.fft2(x).real + 1",
    "torch.fft.irfft(torch.fft.rfft(x, n=48) * torch.fft.rfft(y, n=48), n=48)[..., :32]",
    "torch.fft.ifft(torch.fft.fft(x)).real * 2", "torch.fft.fft(x, norm='ortho').imag", "torch.fft.fft2(x).real",
    "torch.fft.rfft2(x, norm='ortho').abs()", "torch.fft.irfft2(torch.fft.rfft2(x), s=(6, 32))",
    "torch.fft.fft(torch.fft.fft(x), dim=-2).real", "torch.fft.rfft(x, dim=-2).imag",
    "torch.fft.irfft(torch.fft.rfft(x[:, :31]), n=31)", "torch.fft.hfft(torch.complex(x, y)[:, :9], n=16)",
    f"torch.stft(x, 16, 4, return_complex=True, {WINDOW}).abs().pow(2)", "torch.fft.rfft(x, dim=0).abs()",
    f"torch.view_as_real(torch.stft(x, 16, 4, return_complex=True, {WINDOW}))",
    "torch.fft.fftshift(torch.fft.fft(x)).abs()", "torch.fft.rfft(1e9 * x).imag[:, [0, 16]] == 0",
    "torch.fft.rfft(x * math.inf).imag", "torch.view_as_real(torch.fft.rfft(x) / 64)",
]  # fmt: skip
ARITHMETIC = [
    "torch.view_as_real(3 * torch.complex(x, y / x.relu()))",
    "torch.view_as_real(torch.polar(x.abs(), y))", "(torch.complex(x, y) * torch.complex(y, x)).real",
    "torch.view_as_complex(x.view(6, 16, 2)).abs()", "(torch.complex(x, y) / torch.complex(y, x + 3)).imag * 2",
    "(lambda z: (z == z.flip(0), torch.logical_xor(z, x), (z == 0).all(), z.bool()))(torch.complex(x, y.relu()))",
    "torch.view_as_real(torch.complex(x, y).masked_fill(x > 0, 1j).tril())",
    "torch.complex(x, y).conj().angle()", "torch.angle(x) + torch.angle(y / x.relu() * 0)",
    "torch.view_as_real(torch.complex(x, y[0]))", "torch.view_as_real(torch.exp(1j * x))",
    "torch.view_as_real(torch.view_as_complex(x.view(6, 16, 2)) * torch.polar(y[0, :16].abs(), y[1, :16])).flatten(-2)",
    "torch.einsum('bi,oi->bo', torch.complex(x, y), torch.complex(y, x)).abs()",
    "torch.view_as_real(torch.cat([torch.complex(x, y), torch.complex(y, x)], 0)[1:4].sum(0))",
    "(lambda f: torch.view_as_real(torch.zeros_like(f) - f * torch.full_like(f, 1 + 2j)))(torch.fft.rfft(x))",
    *(
        f"torch.view_as_real(torch.{name}(torch.complex(x, y)))"
        for name in ("log", "log2", "log10", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid")
    ),
    "torch.view_as_real(torch.complex(x, y) ** 2.5 + torch.complex(x.relu(), y.relu()) ** torch.complex(y, x))",
    "torch.view_as_real(2 ** torch.complex(x, y) + torch.complex(x, y) ** -2 + torch.complex(y, x) ** 0)",
    "torch.view_as_real(torch.sinh(torch.complex(x + 89, y * 0 + 1.5)) + 1 / torch.complex(x * 1e-25, y * 1e-25))",
    "torch.view_as_real(torch.linalg.inv(torch.complex(x, y).view(12, 4, 4) + 3 * torch.linalg.inv(x[:2, :2])[0, 0]))",
    "torch.view_as_real(torch.complex(x, y) ** 3 / (2 - 1j) - (2 + 1j) / torch.complex(y.abs() + 1, x))",
]  # fmt: skip


@pytest.mark.parametrize("line", [*TRANSFORMS, *ARITHMETIC])
def test_what_pairs_give_is_what_complex_numbers_give(line: str) -> None:
    judge(reference(forward(line, "x, y"), GIVEN), traits=SMALL)


@pytest.mark.parametrize("size", [2, 15, 37, 74, 143])
def test_transforms_of_any_length(size: int) -> None:
    """Of small primes, of large ones, of both; odd and even."""
    lines = [
        "(lambda z: (z.real * 2, z.imag))(torch.fft.fft(torch.complex(x, y)))",
        "(lambda z: (z.real * 2, z.imag))(torch.fft.ifft(torch.complex(x, y), norm='ortho', dim=0))",
        "torch.view_as_real(torch.fft.rfft(x) * 1j), torch.view_as_real(torch.fft.fft(y, dim=0) + 0)",
        f"torch.fft.irfft(torch.complex(x, y)[:, : {size} // 2 + 1], n={size})",
    ]
    for line in lines:
        shape = f"{size}, 3" if "dim=0" in line and "rfft" not in line else f"3, {size}"
        judge(reference(forward(line, "x, y"), f"[torch.randn({shape}), torch.randn({shape})]"), traits=SMALL)


def test_a_transform_is_one_operator() -> None:
    source = reference(forward("torch.fft.rfft(x).abs()"), "[torch.randn(3, 4096)]")
    operators = [node.op for node in capture(load_source(source, "reference")).graph.nodes]
    assert operators.count("aten.fourier.input") == 1 and len(operators) < 80


def test_parameters_stay_the_modules() -> None:
    body = """    def __init__(self):
        super().__init__()
        self.filter = nn.Parameter(torch.randn(17, 2))

    def forward(self, x):
        return {"y": torch.fft.irfft(torch.fft.rfft(x) * torch.view_as_complex(self.filter), n=32)}"""
    source = reference(body, "[torch.randn(6, 32)]")
    task = capture(load_source(source, "reference"))
    assert [p.name for p in task.interface.parameters] == ["filter"] and task.interface.keys == ("y",)
    judge(source)


def test_a_layer_of_a_fourier_neural_operator() -> None:
    body = """    def forward(self, x, wr, wi):
        f = torch.fft.rfft(x)
        out = torch.zeros_like(f)
        out[:, :, :5] = torch.einsum("bix,iox->box", f[:, :, :5], torch.complex(wr, wi))
        return torch.fft.irfft(out, n=x.shape[-1])"""
    judge(reference(body, "[torch.randn(2, 4, 16), torch.randn(4, 3, 5)[:, [0, 1, 2, 0]], torch.randn(4, 4, 5)]"))


def test_a_transform_of_rows_of_any_number() -> None:
    judge(reference(forward("torch.fft.rfft(x).abs().sum(-1)"), "[torch.randn(6, 16)]"), dynamic=True)

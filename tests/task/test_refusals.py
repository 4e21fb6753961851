"""What no kernel can be made of is said by the operator as the file calls it, its line, and a way out; no jargon."""

from __future__ import annotations

import re

import pytest

from akg_core.design import design
from akg_core.errors import AkgError
from akg_core.records import Traits
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.task.replay import reference_text

JARGON = re.compile(r"with_effects|SymInt|GuardOn|aten|Pydantic|Exception|zip\(|proxy|FakeTensor|subclass|, \(")
X, PLACES = "torch.randn(4, 4)", "torch.randn(4), torch.arange(4)"
LOOKS = "looks at the values of tensors"
REFUSED = {
    # body of forward, its parameters, what get_inputs gives: the user's name, what is said of it, the cure; line 12
    "bessel": (
        "x = x + 1\nreturn torch.special.bessel_j0(x)",
        *("x", X, "`torch.special.bessel_j0`", "no rule", "sketch"),
    ),
    "made of another": (
        "x = x + 1\nreturn torch.linalg.ldl_factor(x)[0]",
        *("x", X, "`torch.linalg.ldl_factor`", "no rule", "sketch"),
    ),
    "rfft": (
        "x = torch.fft.rfft(x)\nreturn torch.asin(x).abs()",
        *("x", X, "`torch.asin`", "complex numbers", "cosines"),
    ),
    "stft": (
        "x = torch.stft(x, 8, return_complex=True)\nreturn torch.atanh(x).abs()",
        *("x", "torch.randn(64)", "`torch.atanh`", "complex numbers", "cosines"),
    ),
    "irfft": (
        "x = torch.complex(x, x)\nreturn torch.fft.irfft(torch.acosh(x))",
        *("x", X, "`torch.acosh`", "complex numbers", "cosines"),
    ),
    "complex solve": (
        "x = torch.complex(x, x)\nreturn torch.linalg.solve(x, x).abs()",
        *("x", X, "`torch.linalg.solve`", "complex numbers", "cosines"),
    ),
    "in place": (
        "y = x + 1\ny.igamma_(x)\nreturn y",
        *("x", X, "`y.igamma_`", "no rule", "other operators"),
    ),
    "a method": ("y = x + 1\nreturn y.igamma(x)", "x", X, "`y.igamma`", "no rule", "sketch"),
    "assignment": (
        "y = torch.zeros(4)\ny[i > 1] = x\nreturn y",
        *("x, i", PLACES, "`y[i > 1] = x`", "a value for each element that it picks", "torch.where"),
    ),
    "random": ("x = x + 1\nreturn torch.poisson(x)", "x", X, "`torch.poisson`", "random numbers", "get_inputs"),
    "mask": ("y = x[x > 0]\nreturn y.view(2, -1)", "x", X, "`return y.view(2, -1)`", LOOKS, "torch.where(mask, x, 0)"),
    "item": ("y = x.sum()\nif y.item() > 0:\n    x = -x\nreturn x", "x", X, "`if y.item() > 0:`", LOOKS, "torch.where"),
    "while": ("y = x\nwhile y.sum() < 9:\n    y = y + 1\nreturn y", "x", X, "`while y.sum() < 9:`", LOOKS, "a loop"),
    "cond": (
        "y = x.sum() > 0\nreturn torch.cond(y, lambda x: x + 1, lambda x: x - 1, (x,))",
        *("x", X, "`torch.cond`", "by the values of tensors", "torch.where"),
    ),
    "numpy": (
        "n = __import__('numpy')\nreturn torch.from_numpy(n.unwrap(x.numpy()))",
        *("x", X, "unwrap", "NumPy", "PyTorch's operators"),
    ),
}  # fmt: skip


def test_a_dtype_that_kernels_lack_is_named_beside_those_that_there_are():
    error = refusal(reference_text("return x", inputs="torch.ones(4).to(torch.uint16)"))
    assert "uint16 is not supported" in error.message and "uint8" in error.cure, error


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_in_the_users_terms(name):
    body, parameters, inputs, operator, said, cure = REFUSED[name]
    error = refusal(reference_text(body, inputs=inputs, arguments=parameters))
    assert operator in error.message and said in error.message and cure in error.cure, error
    assert "line 12" in error.message, error
    assert not JARGON.search(str(error)) and "  " not in str(error), error


def test_a_function_of_ones_own_is_seen_through():
    function = (
        "class Bessel(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        return torch.special.bessel_j0(x)\n\n\nclass Model"
    )
    source = reference_text("return Bessel.apply(x)", inputs=X).replace("class Model", function)
    error = refusal(source)
    assert "`torch.special.bessel_j0`" in error.message and "(line 9)" in error.message
    assert not JARGON.search(str(error))


def test_what_stands_beside_complex_numbers_is_named_by_its_line_too():
    error = refusal(reference_text("return torch.special.bessel_j0(torch.fft.rfft(x).abs())", inputs=X))
    assert "`torch.special.bessel_j0`" in error.message and "(line 11)" in error.message


def test_a_size_that_only_tracing_finds_to_depend_on_values_is_said_alike():
    """The constructor looks at values, so that the buffer is real when forward is tried, and fake when it is traced."""
    init = "self.k = float(torch.ones(3).sum())\nself.register_buffer('n', torch.tensor(3))"
    error = refusal(reference_text("x = x + 1\nreturn x[:int(self.n)] * self.k", init, inputs=X))
    assert (
        "line 14" in error.message and LOOKS in error.message and "`return x[:int(self.n)] * self.k`" in error.message
    )
    assert not JARGON.search(str(error)), error


def refusal(source: str) -> AkgError:
    with pytest.raises(AkgError) as refused:
        design(capture(load_source(source, "ref")), Traits())
    return refused.value


def test_a_generator_of_forwards_own_is_refused():
    body = "g = torch.Generator().manual_seed(3)\nreturn x + torch.rand(4, generator=g)"
    error = refusal(reference_text(body, inputs=X))
    assert "torch.Generator" in error.message and "torch.manual_seed" in error.cure


def test_state_that_only_the_first_call_makes_is_named_and_what_nobody_reads_is_let_be():
    late = "kept = getattr(self, 'kept', None)\nself.kept = x * 2 if kept is None else kept + x\nreturn self.kept * 2"
    error = refusal(reference_text(late))
    assert "attribute kept" in error.message and "register_buffer" in error.cure, error
    assert capture(load_source(reference_text("self.seen = x * 2\nreturn self.seen + 1"), "ref")).graph.nodes

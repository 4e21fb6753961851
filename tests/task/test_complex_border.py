"""Complex tensors that forward takes, holds and gives: `ModelNew` has them so, kernels have pairs of real numbers."""

from __future__ import annotations

import pytest
import torch

from akg_core.task.complex_border import as_pairs, held, real
from akg_core.worker.tensors import fresh
from tests.task.interpreted import interpreted
from tests.task.replay import reference_text

Z = "torch.randn(4, 6, dtype=torch.cfloat)"
FILES = {
    # body of forward, its parameters, what get_inputs gives
    "an argument": ("return (z * z.conj()).real + z.imag", "z", Z),
    "an output": ("return torch.complex(x, 2 * x)", "x", "torch.randn(4, 6)"),
    "one output of two": ("return {'z': z * 2j, 'size': z.abs()}", "z", Z),
    "in a list": ("return torch.view_as_real(zs[0] * zs[1])", "zs", f"[{Z}, {Z}]"),
    "conjugated": ("return z + z.conj().resolve_conj() * 1j", "z", f"{Z}.conj()"),
    "columns": ("return z.sum(0)", "z", f"{Z}.t()"),
    "double": ("return z / (z.abs() + 1)", "z", "torch.randn(4, 6, dtype=torch.cdouble)"),
    "handed back": ("return z.mul_(2j)", "z", Z),
    "unsigned": (
        "return x[0].float() + y.t().long(), z.double(), z.to(torch.uint16).int(), x.to(torch.uint64).float()",
        "x, y, z",
        "torch.tensor([[3, 65535]]).to(torch.uint16), torch.tensor([[7, 2**32 - 1]]).to(torch.uint32), "
        "torch.tensor([-1, 5, 2**63 - 1, 2**62 + 2**38 + 1]).view(torch.uint64)",
    ),
    "updated": ("z.mul_(2j)\nreturn z.real + 1", "z", Z),
}
HOLDS = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(6, 3, dtype=torch.cfloat))
        self.register_buffer("turn", torch.polar(torch.ones(6), torch.arange(6.0)))
        self.shift = torch.randn(3, dtype=torch.cfloat)
        self.register_buffer("mean", torch.zeros(3, dtype=torch.cfloat))
        self.seen = torch.zeros(3)

    def forward(self, x):
        y = (x * self.turn) @ self.w + self.shift
        self.mean.mul_(0.9).add_(0.1 * y.mean(0))
        self.seen[1:] += y.abs().sum(0)[1:]
        return y


def get_inputs():
    return [torch.randn(4, 6)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("name", FILES)
def test_what_forward_takes_and_gives(name, tmp_path):
    body, parameters, inputs = FILES[name]
    reference, _, module = interpreted(reference_text(body, inputs=inputs, arguments=parameters), tmp_path)
    mine = reference.inputs(1)
    due = fresh(mine)
    torch.testing.assert_close(module.ModelNew()(*mine), reference.model()(*due), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(mine, due, rtol=1e-4, atol=1e-5)


def test_what_a_module_holds_and_updates(tmp_path):
    reference, task, module = interpreted(HOLDS, tmp_path)
    assert {p.name for p in task.interface.parameters if p.pairs} == {"w", "turn", "shift", "mean"}
    assert {p.name for p in task.interface.parameters if p.mutated} == {"mean", "seen"}
    old, new = reference.model(), module.ModelNew()
    new.load_state_dict(old.state_dict())
    new.shift.copy_(old.shift)
    for seed in range(2):
        x = reference.inputs(seed)
        with torch.no_grad():
            torch.testing.assert_close(new(*x), old(*x), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(new.mean, old.mean, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(new.seen, old.seen, rtol=1e-4, atol=1e-5)


def test_whoever_judges_meets_real_tensors_only(tmp_path):
    reference, _, module = interpreted(HOLDS, tmp_path)
    plain = reference.model()
    old, new = (as_pairs(model, ()) for model in (reference.model(), module.ModelNew()))
    assert held(old) == ("w", "turn", "mean", "shift") and not any(map(torch.is_complex, old.state_dict().values()))
    new.load_state_dict(old.state_dict())
    new.shift.copy_(old.shift)
    x = reference.inputs(3)
    with torch.no_grad():
        found, wanted, due = new(*x), old(*x), plain(*x)
    assert found.dtype == torch.float32 and found.shape == (4, 3, 2)
    torch.testing.assert_close(wanted, real(due), rtol=0, atol=0)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(new.mean, old.mean, rtol=1e-4, atol=1e-5)


def test_real_tensors_are_refused_for_complex_ones(tmp_path):
    body, parameters, inputs = FILES["an argument"]
    *_, module = interpreted(reference_text(body, inputs=inputs, arguments=parameters), tmp_path)
    with pytest.raises(TypeError, match=r"z must be a torch.complex64 tensor, not torch.float32"):
        module.ModelNew()(torch.randn(4, 6))

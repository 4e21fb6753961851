"""What a generated ModelNew refuses or makes right: whatever the kernels take for granted of what they are given."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch

from akg_core.records import Argument
from tests.lower.test_host import PACKED, SCALE, load, tensor

TWO = """
@program
def model(x: In["f32", "M", "K"], b: In["f32", "M", "K"]):
    y = empty("f32", M, K)
    scale(x, y, S=3)
    return y
"""
SIZES = Argument(name="x", kind="tensor", dtype="f32", shape=("s0", "s1"))


class Labelled(torch.Tensor):
    pass


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (torch.zeros(4, 8, device="meta"), "x is on meta, but this kernel runs on cpu"),
        (torch.zeros(4, 8).to_sparse(), "x must be a dense tensor (torch.strided), not a torch.sparse_coo one"),
        (torch.zeros(4, 8).to_sparse_csr(), "not a torch.sparse_csr one"),
        (torch.zeros(4, 8).to_mkldnn(), "not a torch._mkldnn one"),
        (torch.quantize_per_tensor(torch.zeros(4, 8), 0.1, 0, torch.qint8), "not a quantised one"),
        (torch.nested.nested_tensor([torch.zeros(8), torch.zeros(8)]), "not a nested one"),
        (torch.zeros(4, 8).as_subclass(Labelled), "a plain torch.Tensor, not its subclass Labelled"),
        (torch.zeros(4, 8, dtype=torch.complex64).conj(), "not 2-dimensional torch.complex64"),
        (torch.zeros(0, 8), "x.shape[0] must be at least 1, not 0"),
        (None, "x must be a tensor, not NoneType"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_no_kernel_takes_is_refused_in_a_sentence(tmp_path: Path, value: object, said: str) -> None:
    model = load(tmp_path, SCALE).ModelNew()
    model(torch.ones(4, 8))  # what was met before makes no difference
    with pytest.raises((TypeError, ValueError)) as raised:
        model(value)
    assert said in str(raised.value)


def test_tensors_on_several_devices_are_refused(tmp_path: Path) -> None:
    module = load(tmp_path, TWO, tensor("x"), tensor("b"))
    x = torch.ones(4, 8)
    with pytest.raises(ValueError, match="b is on meta, but this kernel runs on cpu"):
        module.ModelNew()(x, torch.ones(4, 8, device="meta"))
    model = load(tmp_path, PACKED).ModelNew().to("meta")
    with pytest.raises(ValueError, match=r"fc\.weight is on meta"):
        model(x)


def test_a_negative_bit_is_resolved(tmp_path: Path) -> None:
    x = torch.randn(4, 8, dtype=torch.complex64).conj().imag
    assert x.is_neg() and torch.equal(load(tmp_path, SCALE).ModelNew()(x), 3 * x)


def test_no_gradients_are_given_and_none_are_forgotten(tmp_path: Path) -> None:
    """Inference works in any mode; whoever asks for a gradient that there is not hears so."""
    model, x = load(tmp_path, PACKED).ModelNew(), torch.randn(4, 8)
    for results in (model(x), load(tmp_path, SCALE).ModelNew()(x.clone().requires_grad_())):
        assert results.requires_grad and not results._is_view()
        with pytest.raises(RuntimeError, match="this kernel computes no gradients"):
            results.sum().backward()
    weight = model.fc.weight
    with pytest.raises(RuntimeError, match="no gradients"):
        torch.autograd.grad(model(x).sum() + weight.sum(), weight)
    with torch.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError, match="no gradients"):
        model(torch.autograd.forward_ad.make_dual(x, x))
    with torch.no_grad():
        assert not model(x).requires_grad
    with torch.inference_mode():
        assert not model(x).requires_grad
    assert not model.requires_grad_(False)(x).requires_grad


def test_what_forward_updates_is_no_part_of_a_graph(tmp_path: Path) -> None:
    given = Argument(name="x", kind="tensor", dtype="f32", shape=(4, 8), mutated=True)
    model, x = (
        load(tmp_path, SCALE.replace("return y", "return y, y"), given, handed={0: "x"}).ModelNew(),
        torch.ones(4, 8),
    )
    assert model(x) is x and torch.equal(x, torch.full((4, 8), 3.0))
    with pytest.raises(RuntimeError, match=r"forward updates x in place.*call it under torch\.no_grad"):
        model(x.requires_grad_())


GUARDED = [
    (("((s1 % 2) == 0)",), (4, 7), r"made for sizes with \(x\.shape\[1\] % 2\) == 0, but x\.shape\[1\] is 7"),
    (("(s1 >= 4)", "(s1 >= 12)"), (4, 11), r"with x\.shape\[1\] >= 12, but x\.shape\[1\] is 11"),
    (("((s0 * s1) < 40)",), (4, 10), r"x\.shape\[0\] is 4, x\.shape\[1\] is 10"),
    (("((s0 > s1) or (s1 != 3))",), (3, 3), "but"),
]


@pytest.mark.parametrize(("guards", "shape", "said"), GUARDED)
def test_sizes_beyond_what_was_captured_are_refused(
    tmp_path: Path, guards: tuple[str, ...], shape: tuple[int, int], said: str
) -> None:
    model = load(tmp_path, SCALE, SIZES, guards=guards).ModelNew()
    within = torch.randn(2, 12)
    for _ in range(2):  # what was found once is remembered
        assert torch.equal(model(within), 3 * within)
        with pytest.raises(ValueError, match=said):
            model(torch.zeros(shape))


def test_a_size_that_a_sketch_leaves_open_is_the_captured_one(tmp_path: Path) -> None:
    given = Argument(name="x", kind="tensor", dtype="f32", shape=("s0", 8))
    model = load(tmp_path, SCALE, given).ModelNew()
    assert model(torch.ones(9, 8)).shape == (9, 8)
    with pytest.raises(ValueError, match=r"x\.shape\[1\] == 8, but x\.shape\[1\] is 7"):
        model(torch.ones(4, 7))


WRITES = {
    "data": lambda w: w.data.mul_(2),
    "another": lambda w: setattr(w, "data", 2 * w.data),
    "numpy": lambda w: w.detach().numpy().__imul__(2),
    "alias": lambda w: w.data.view(-1)[::2].mul_(2),
    "optimiser": lambda w: (setattr(w, "grad", torch.ones_like(w)), torch.optim.SGD([w], lr=0.5).step()),
}


@pytest.mark.parametrize("write", WRITES)
def test_prepared_weights_are_never_stale(tmp_path: Path, write: str) -> None:
    model, x = load(tmp_path, PACKED).ModelNew(), torch.zeros(4, 8)
    with torch.no_grad():
        model(x)
        before = model.fc.weight.clone()
        WRITES[write](model.fc.weight)
        assert not torch.equal(before, model.fc.weight) and torch.equal(model(x), 2 * model.fc.weight.t())
        twin = copy.deepcopy(model)
        WRITES[write](twin.fc.weight)
        assert torch.equal(twin(x), 2 * twin.fc.weight.t()) and torch.equal(model(x), 2 * model.fc.weight.t())


def test_prepared_weights_are_kept_until_one_may_have_been_written(tmp_path: Path) -> None:
    module = load(tmp_path, PACKED)
    model, x = module.ModelNew(), torch.zeros(4, 8)
    reads = (repr, torch.Tensor.tolist, torch.Tensor.sum, lambda w: w.half(), lambda w: x @ w.t(), copy.deepcopy)
    with torch.no_grad():
        for read in reads:
            assert torch.equal(model(x), 2 * model.fc.weight.t())
            read(model.fc.weight)
        assert module.LAUNCHED.count("pack") == 1
        model.fc.weight.data_ptr()  # who asks for the address may write there
        assert torch.equal(model(x), 2 * model.fc.weight.t())
    assert module.LAUNCHED.count("pack") == 2


def test_a_weight_that_is_read_besides_keeps_what_was_prepared(tmp_path: Path) -> None:
    module = load(tmp_path, PACKED.replace("    scale(p, y)\n", "    scale(p, y)\n    add(weight, y)\n", 1))
    model, x = module.ModelNew(), torch.zeros(4, 8)
    with torch.no_grad():
        for factor in (1, 1, 3, 1):
            model.fc.weight.data.mul_(factor) if factor > 1 else None
            assert torch.equal(model(x), 3 * model.fc.weight.t())
    assert module.LAUNCHED.count("pack") == 2


def test_memory_that_is_not_torchs_own_is_prepared_at_every_call(tmp_path: Path) -> None:
    module = load(tmp_path, PACKED)
    model, x = module.ModelNew(), torch.zeros(4, 8)
    values = torch.randn(5, 8).numpy()
    model.fc.weight.data = torch.from_numpy(values)
    with torch.no_grad():
        for _ in range(2):
            values += 1
            assert torch.equal(model(x), 2 * torch.from_numpy(values).t())
    assert module.LAUNCHED.count("pack") == 2


def test_a_model_made_in_inference_mode_works(tmp_path: Path) -> None:
    with torch.inference_mode():
        model, x = load(tmp_path, PACKED).ModelNew(), torch.zeros(4, 8)
        model(x)
        model.fc.weight.mul_(2)
        assert torch.equal(model(x), 2 * model.fc.weight.t())


def test_parameters_are_found_where_they_are_held_now(tmp_path: Path) -> None:
    module = load(tmp_path, PACKED)
    model, x = module.ModelNew(), torch.zeros(4, 8)
    torch.nn.utils.parametrize.register_parametrization(model.fc, "weight", torch.nn.Tanh())
    with torch.no_grad():
        assert torch.equal(model(x), 2 * model.fc.weight.t())


def test_content_that_sizes_follow_from_is_refused_where_it_is_another(tmp_path: Path) -> None:
    ends = Argument(name="ends", kind="tensor", dtype="i64", shape=(3,), value=[0, 2, 4])
    sketch = SCALE.replace('def model(x: In["f32", "M", "K"]', 'def model(x: In["f32", "M", "K"], ends: In["i64", 3]')
    model = load(tmp_path, sketch, tensor("x"), ends).ModelNew()
    x = torch.ones(4, 8)
    model(x, torch.tensor([0, 2, 4]))
    with pytest.raises(ValueError, match=r"made for ends=\[0, 2, 4\], not \[0, 3, 4\]"):
        model(x, torch.tensor([0, 3, 4]))

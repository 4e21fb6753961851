"""Convolutions where the reference rounds their factors, or where there are matrix units: packed, joined, in order."""

from __future__ import annotations

from textwrap import dedent

import pytest
import torch

from akg_core.design import design
from akg_core.records import Sketch
from akg_core.sketch.check import check
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import SMALL, judge
from tests.design.test_convolutions import convolved

MATRIX = SMALL.model_copy(update={"half_tile": (16, 16, 16)})
ROUNDED = MATRIX.model_copy(update={"convolution_format": "tf32"})
LAYERS = {
    "Conv1d(16, 12, 3)": "3, 16, 40",
    "Conv2d(16, 12, (3, 5), padding=(2, 4), dilation=(2, 3))": "2, 16, 9, 14",
    "Conv2d(32, 12, 3, stride=2, padding=1)": "2, 32, 9, 10",
    "Conv2d(3, 8, 5, stride=2, padding=2)": "2, 3, 13, 12",
    "Conv2d(3, 8, (3, 7), padding=1, bias=False)": "2, 3, 7, 9",
    "Conv2d(32, 24, 3, groups=2)": "2, 32, 7, 8",
    "Conv3d(16, 8, (3, 2, 3), padding=(1, 0, 1))": "2, 16, 4, 5, 6",
    "ConvTranspose2d(16, 8, (3, 5), padding=(1, 3))": "2, 16, 7, 8",
    "ConvTranspose1d(16, 8, 3, stride=2, padding=1, dilation=2)": "2, 16, 21",
    "ConvTranspose2d(16, 8, 3, stride=2, padding=1, output_padding=1)": "2, 16, 5, 6",
}
PLACES = {  # no copy pays here: factors are rounded where they are multiplied
    "Conv2d(16, 12, 1)": "2, 16, 7, 8",
    "Conv2d(3, 8, 3, padding=1, bias=False)": "2, 3, 7, 9",
    "ConvTranspose2d(8, 12, (3, 5), stride=(2, 3), padding=(1, 2), dilation=(2, 1), groups=2)": "2, 8, 5, 6",
    "Conv1d(16, 12, 3, stride=3)": "2, 16, 40",
    "Conv2d(32, 16, 3, groups=4)": "2, 32, 7, 8",
}


def sketches(layer: str, shape: str) -> tuple[str, tuple[Sketch, ...]]:
    source = convolved(layer, shape)
    return source, design(capture(load_source(source, "reference")), ROUNDED)


@pytest.mark.parametrize("variant", [0, 1], ids=["f16", "tf32"])
@pytest.mark.parametrize("layer", LAYERS | PLACES)
def test_factors_are_rounded_once_and_then_multiplied(layer: str, variant: int) -> None:
    source, found = sketches(layer, (LAYERS | PLACES)[layer])
    text = found[variant].text
    tree = parse(text)
    assert not [f for f in check(tree).findings if f.severity == "error"], text
    module = load_source(source, "reference")
    torch.manual_seed(0)
    model = module.Model()
    (x,) = module.get_inputs()
    with torch.no_grad():
        due = model.double()(x.double())
        rounded = interpret(tree, [x], {k: v.float() for k, v in model.state_dict().items()}).outputs[0]
    error = ((rounded.double() - due).norm() / due.norm()).item()
    assert 2e-5 < error < 6e-4, text  # eleven bits of each factor, and no more
    assert text.count('precision="fast"') == text.count("dot(") > 0


@pytest.mark.parametrize("layer", LAYERS | PLACES)
def test_exact_products_go_on_being_exact(layer: str) -> None:
    judge(convolved(layer, (LAYERS | PLACES)[layer]), traits=MATRIX)


def test_without_images_nothing_is_packed() -> None:
    outcome = judge(convolved("Conv2d(3, 4, 3)", "0, 3, 9, 9"), traits=ROUNDED)
    assert set(outcome.kernels) == {0}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_copy_holds_padding_and_weights_are_packed_once(layer: str) -> None:
    _, found = sketches(layer, LAYERS[layer])
    assert found[0].text.count('x_packed = empty("f16"') == 1
    text = found[1].text
    assert text.count('x_packed = empty("f32"') == 1 and "once=True" in text
    product = text[text.rindex("@kernel") : text.index("@program")]
    assert "round_to" not in product


@pytest.mark.parametrize("layer", PLACES)
def test_no_copy_is_made_of_what_is_read_once(layer: str) -> None:
    _, found = sketches(layer, PLACES[layer])
    assert all("x_packed" not in sketch.text and "once=True" in sketch.text for sketch in found[:2])


def test_the_variants_after_the_rounded_ones_do_not_round() -> None:
    _, found = sketches("Conv2d(16, 12, 3)", "2, 16, 7, 8")
    assert "f16" in found[0].text and "f16" not in found[1].text and "round_to" in found[1].text
    assert not any("round_to" in sketch.text for sketch in found[2:])


def test_phases_without_taps_are_zeros_that_the_program_allocates() -> None:
    layer = "ConvTranspose2d(4, 4, 2, stride=4, bias=False)"
    outcome = judge(convolved(layer, "2, 4, 5, 6"), traits=MATRIX)
    assert outcome.sketches[0].text.count('zeros("f32", 2, 4,') == 1


def test_an_epilogue_is_not_left_out_where_there_are_no_taps() -> None:
    layer = "ConvTranspose2d(4, 4, 2, stride=4)"
    judge(convolved(layer, "2, 4, 5, 6", "F.relu(self.layer(x) + 0.25)"), traits=MATRIX)


def test_a_sketch_says_whether_it_rounds_what_the_reference_may_round() -> None:
    _, found = sketches("Conv2d(16, 12, 3)", "2, 16, 9, 9")
    assert [sketch.rounds for sketch in found][:3] == ["tf32", "tf32", ""]
    source = """
        import torch
        class Model(torch.nn.Module):
            def forward(self, x): return torch.relu(x)
        def get_inputs(): return [torch.randn(8, 8)]
        def get_init_inputs(): return []
    """
    found = design(capture(load_source(dedent(source), "reference")), ROUNDED)
    assert [sketch.rounds for sketch in found] == [""] * len(found), "nothing there could be rounded"


def test_in_three_dims_factors_are_rounded_where_channels_come_in_the_multiples_that_the_reference_rounds() -> None:
    traits = ROUNDED.model_copy(update={"convolution_channels": 4})
    for layer, shape, rounds in (
        ("Conv3d(3, 8, 3)", "2, 3, 5, 6, 7", ""),
        ("Conv3d(8, 8, 3)", "2, 8, 5, 6, 7", "tf32"),
        ("Conv2d(3, 8, 3)", "2, 3, 9, 9", "tf32"),
    ):
        first, *_ = design(capture(load_source(convolved(layer, shape), "reference")), traits)
        assert first.rounds == rounds, layer


def test_an_image_of_halves_that_lies_channels_last_is_read_as_it_is() -> None:
    source = dedent(
        """
        import torch
        from torch import nn

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(32, 16, 3, padding=1, dtype=torch.float16).to(memory_format=torch.channels_last)

            def forward(self, x):
                return self.conv(x)

        def get_inputs():
            return [torch.randn(2, 32, 7, 6).half().to(memory_format=torch.channels_last)]

        def get_init_inputs():
            return []
        """
    )
    reference = load_source(source, "reference")
    task = capture(reference)
    assert task.interface.arguments[0].order == task.interface.parameters[0].order == (0, 2, 3, 1)
    text = design(task, ROUNDED)[0].text
    assert "permute(x, 0, 2, 3, 1)" in text and "x_packed" not in text and "round_to" not in text
    model, (x,) = reference.Model(), reference.get_inputs()
    with torch.no_grad():
        (found,) = interpret(parse(text), [x], dict(model.named_parameters())).outputs
        due = model(x)
    assert found.stride() == due.stride()
    torch.testing.assert_close(found, due, atol=2e-3, rtol=2e-3)

"""Convolutions against PyTorch: every argument, sizes that divide nothing, epilogues, several dtypes."""

from __future__ import annotations

import pytest

from akg_core.sketch.parse import parse
from tests.design.judging import SMALL, USUAL, designed, judge, reference

MODULE = """
    def __init__(self):
        super().__init__()
        self.layer = nn.{}

    def forward(self, x):
        return {}
"""


def convolved(layer: str, shape: str, line: str = "self.layer(x)", dtype: str = "float32") -> str:
    module = MODULE.format(layer if dtype == "float32" else f"{layer}.to(torch.{dtype})", line).rstrip()
    return reference(module, f"[torch.randn({shape}, dtype=torch.{dtype})]")


STANDARD = {
    "Conv1d(4, 6, 3)": "2, 4, 19",
    "Conv1d(4, 6, 5, stride=3, dilation=2, padding=4, bias=False)": "3, 4, 40",
    "Conv1d(4, 6, 4, padding='same')": "2, 4, 13",
    "Conv1d(5, 7, 1, stride=2)": "2, 5, 21",
    "Conv2d(4, 6, 3)": "2, 4, 9, 11",
    "Conv2d(4, 6, (3, 5), stride=(2, 1), padding=(1, 3), dilation=(1, 2))": "2, 4, 11, 13",
    "Conv2d(3, 8, 3, padding='same', padding_mode='reflect')": "1, 3, 7, 8",
    "Conv2d(4, 6, 3, padding=1, groups=2)": "3, 4, 9, 11",
    "Conv2d(6, 9, 3, stride=2, padding=1, groups=3)": "1, 6, 9, 8",
    "Conv2d(4, 6, 1)": "2, 4, 9, 11",
    "Conv2d(4, 6, (9, 11))": "3, 4, 9, 11",
    "Conv2d(4, 6, 3, padding=4)": "1, 4, 2, 1",
    "Conv2d(1, 5, 3)": "2, 1, 9, 8",
    "Conv2d(5, 1, 3)": "2, 5, 9, 8",
    "Conv2d(4, 6, 3, padding=1) ": "4, 9, 11",
    "Conv2d(3, 70, 7, stride=2, padding=3)": "1, 3, 33, 35",
    "Conv3d(3, 5, 3)": "2, 3, 5, 6, 7",
    "Conv3d(4, 6, (1, 3, 2), stride=(1, 2, 3), padding=(0, 1, 1), groups=2)": "2, 4, 5, 6, 7",
}
DEPTHWISE = {
    "Conv2d(5, 5, 3, padding=1, groups=5)": "2, 5, 9, 11",
    "Conv2d(5, 5, (1, 7), stride=2, dilation=(1, 2), padding=(0, 6), groups=5)": "2, 5, 9, 31",
    "Conv2d(3, 12, 3, padding=1, groups=3)": "2, 3, 9, 11",
    "Conv1d(6, 6, 31, padding=15, groups=6)": "2, 6, 80",
    "Conv3d(4, 4, 3, padding=1, groups=4)": "1, 4, 5, 6, 7",
    "ConvTranspose2d(5, 5, 4, stride=2, padding=1, groups=5)": "2, 5, 5, 7",
}
TRANSPOSED = {
    "ConvTranspose1d(4, 6, 3)": "2, 4, 19",
    "ConvTranspose1d(4, 6, 5, stride=3, padding=2, output_padding=2)": "2, 4, 11",
    "ConvTranspose1d(4, 6, 3, stride=4, dilation=2)": "2, 4, 11",
    "ConvTranspose1d(4, 6, 2, stride=5)": "2, 4, 7",
    "ConvTranspose2d(4, 6, 3)": "2, 4, 9, 11",
    "ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1)": "2, 4, 5, 6",
    "ConvTranspose2d(4, 6, (3, 2), stride=(2, 3), padding=(1, 0), dilation=(3, 2), groups=2)": "2, 4, 5, 6",
    "ConvTranspose2d(4, 6, 3, stride=5, padding=1, dilation=2)": "1, 4, 4, 5",
    "ConvTranspose2d(4, 6, 1, stride=2)": "1, 4, 4, 5",
    "ConvTranspose2d(4, 6, 3, stride=4)": "1, 4, 1, 1",
    "ConvTranspose3d(3, 5, (1, 3, 2), stride=(1, 2, 2), padding=(0, 1, 0), output_padding=(0, 1, 0))": "2, 3, 3, 4, 5",
    "ConvTranspose3d(4, 6, 2, stride=2, groups=2, bias=False)": "1, 4, 3, 2, 3",
}


@pytest.mark.parametrize("layer", STANDARD)
@pytest.mark.parametrize("traits", [SMALL, USUAL], ids=["small", "usual"])
def test_standard(layer: str, traits) -> None:
    judge(convolved(layer.strip(), STANDARD[layer]), traits=traits)


@pytest.mark.parametrize("layer", DEPTHWISE)
def test_depthwise(layer: str) -> None:
    judge(convolved(layer, DEPTHWISE[layer]))
    assert "dot(" not in designed(convolved(layer, DEPTHWISE[layer]))


@pytest.mark.parametrize("layer", TRANSPOSED)
def test_transposed(layer: str) -> None:
    judge(convolved(layer, TRANSPOSED[layer]))


@pytest.mark.parametrize("layer", TRANSPOSED)
def test_transposed_with_residues_as_channels_of_one_product(layer: str) -> None:
    """What is not finite stays where the input meets taps."""
    batch, rest = TRANSPOSED[layer].split(", ", 1)
    inputs = f"torch.cat((torch.full((1, {rest}), math.nan), torch.randn({batch}, {rest})))"
    source = reference(MODULE.format(layer, "self.layer(x)").rstrip(), f"[{inputs}]")
    joined = USUAL.model_copy(update={"half_tile": (64, 64, 32)})
    judge(source, traits=joined)


def test_a_convolution_of_halves_channels_last_is_one_product_in_the_tiles_of_products() -> None:
    """Pixels of all images lie in a row; what is not of 16 bits keeps its tiles and its images apart."""
    half = USUAL.model_copy(update={"half_tile": (16, 16, 16), "dot_tile": (8, 8, 8)})
    layer = "Conv2d(16, 32, 3, padding=1, dtype=torch.{0}).to(memory_format=torch.channels_last)"
    inputs = "[torch.randn(3, 16, 24, 25, dtype=torch.{0}).to(memory_format=torch.channels_last)]"
    module = MODULE.format(layer, "self.layer(x)").rstrip()
    found = {d: designed(reference(module.format(d), inputs.format(d)), half) for d in ("float16", "float32")}
    assert "grid(1800, BN)" in found["float16"] and "BN: Tune[16, 32] = 32" in found["float16"]
    assert "grid(1800, BN)" not in found["float32"]
    judge(reference(module.format("float16"), inputs.format("float16")), traits=half)


@pytest.mark.parametrize(
    ("layer", "stays"),
    [
        ("Conv2d(16, 32, 3, padding=1)", True),
        ("Conv2d(16, 32, 3, stride=2, padding=1)", True),
        ("Conv2d(16, 32, 3)", False),  # fewer results than pixels
        ("Conv2d(8, 32, 3, padding=1)", False),  # of whose channels a tile would hold several taps
        ("Conv2d(16, 32, 3, padding=1, groups=2)", False),
    ],
)
def test_programs_of_windows_at_every_pixel_stay(layer: str, stays: bool) -> None:
    sizes = {"half_tile": (16, 16, 16), "window_tile": (16, 24, 16), "units": 4}
    half = USUAL.model_copy(update=sizes | {"convolution_format": "tf32"})
    layer = f"{layer[:-1]}, dtype=torch.float16).to(memory_format=torch.channels_last)"
    channels = layer.partition("(")[2].partition(",")[0]
    inputs = f"[torch.randn(3, {channels}, 24, 25, dtype=torch.float16).to(memory_format=torch.channels_last)]"
    source = reference(MODULE.format(layer, "self.layer(x)").rstrip(), inputs)
    texts = [sketch.text for sketch in judge(source, traits=half).sketches]
    for hint in ("persistent=True", "stages=4", "BN: Tune[8, 16, 24] = 24"):
        assert any(hint in text for text in texts) == stays


EPILOGUES = {
    "F.relu(self.layer(x))": 1,
    "F.gelu(self.layer(x)) * 2 + 1": 1,
    "F.hardswish(self.layer(x) + torch.arange(9.0))": 1,
    "F.max_pool2d(F.relu(self.layer(x)), 2)": 2,
    "self.layer(F.gelu(x))": 2,
    "self.layer(torch.cat([x[:, :2], x[:, 2:] * 2], 1))": 2,
    "self.layer(F.pad(x, (1, 2, 3, 0)))": 1,
    "self.layer(x.transpose(2, 3))": 1,
    "self.layer(x).mean((2, 3))": 2,
    "self.layer(x).flatten(1).softmax(-1)": 2,
    "self.layer(x).permute(0, 2, 3, 1)": 1,
}


@pytest.mark.parametrize("line", EPILOGUES)
def test_with_neighbours(line: str) -> None:
    outcome = judge(convolved("Conv2d(4, 6, 3)", "2, 4, 11, 11", line))
    assert outcome.kernels[0] == EPILOGUES[line]


@pytest.mark.parametrize("line", ["F.relu(self.layer(x))", "torch.tanh(self.layer(x) * 0.5) + x[:, :, :1, :1]"])
def test_phases_keep_their_epilogue(line: str) -> None:
    outcome = judge(convolved("ConvTranspose2d(4, 4, 4, stride=2, padding=1)", "2, 4, 5, 6", line))
    assert outcome.kernels[0] == 4


def test_nothing_is_multiplied_by_the_zeros_of_a_stride() -> None:
    text = designed(convolved("ConvTranspose1d(8, 8, 4, stride=2, padding=1)", "2, 8, 64"))
    assert text.count("tiles(16,") == 2  # 8 channels and 2 of 4 taps for each of two phases


def test_a_variant_goes_tap_by_tap() -> None:
    outcome = judge(convolved("Conv2d(16, 6, (3, 5), padding=1)", "2, 16, 9, 11"), traits=USUAL)
    first, by_taps = outcome.sketches[0].text, outcome.sketches[-1].text
    assert "tiles(240," in first and "tiles(3, 1)" not in first
    assert all(loop in by_taps for loop in ("tiles(3, 1)", "tiles(5, 1)", "tiles(16, 16)"))


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "layer", ["Conv2d(4, 6, 3, padding=1)", "Conv2d(4, 4, 3, groups=4)", "ConvTranspose2d(4, 6, 3, stride=2)"]
)
def test_dtypes(layer: str, dtype: str) -> None:
    judge(convolved(layer, "2, 4, 7, 6", dtype=dtype))


@pytest.mark.parametrize(
    "layer", ["Conv2d(4, 6, 3, stride=2, padding=1)", "Conv2d(4, 4, 3, groups=4)", "ConvTranspose2d(4, 6, 3, stride=2)"]
)
def test_sizes_known_at_launch(layer: str) -> None:
    judge(convolved(layer, "3, 4, 7, 9"), dynamic=True)


@pytest.mark.parametrize("line", ["self.layer(x).softmax(1)", "F.layer_norm(self.layer(x), (12,))"])
def test_phases_that_are_reduced_are_stored_once(line: str) -> None:
    outcome = judge(convolved("ConvTranspose2d(4, 4, 4, stride=2, padding=1)", "2, 4, 5, 6", line))
    kernels = parse(outcome.sketches[0].text).kernels
    assert [sum(t.role == "Out" for t in k.tensors) for k in kernels] == [1] * len(kernels)

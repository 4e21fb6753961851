"""Shrinking a file's integers keeps what they have in common, and the file running."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from akg_core.errors import TaskError
from akg_core.task.capture import capture, capture_file
from akg_core.task.scaling import scale
from akg_core.task.scaling.literals import constants, rewritten
from akg_core.task.scaling.scale import fitting, scaled, shrunk, with_small_batch
from akg_core.task.scaling.shapes import shapes_of
from akg_core.task.source import load
from tests.task.replay import reference_text

NETWORK = '''
import torch
from torch import nn


class Model(nn.Module):
    """Groups of channels; 1024 in this text is not a constant."""

    def __init__(self, channels, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x, y):
        return self.norm(x).view(x.shape[0], 1024) + y


batch, channels = 512, 256  # h\u00f6her
groups = 12 + 20
width: int = 2 * 2
other = channels
rate = 0.5
wanted = {"rows": 1024, "list": [4096, 3]}


def get_inputs():
    return [torch.rand(batch, channels, width), torch.rand(wanted["rows"])]


def get_init_inputs():
    return [channels, groups]
'''


@given(st.integers(1, 1 << 20), st.floats(0.001, 0.999))
def test_what_was_aligned_stays_aligned(value, scale):
    new = shrunk(value, scale)
    assert new <= value
    if new < value:
        assert new >= 16 and math.gcd(new, 16) == math.gcd(value, 16)
        assert abs(new - max(16, value * scale)) <= 32


def test_small_divisors_that_are_spelled_out_stay_divisors():
    assert shrunk(768, 0.1, {12}) % 12 == 0
    assert shrunk(768, 0.1) == 80
    assert shrunk((1 << 31) - 1, 0.5) == 1073741823  # at once, though it is none of a shape


def test_constants_are_found_with_names_and_places():
    found = {c.name: c.value for c in constants(NETWORK)}
    assert found == {
        "batch": 512,
        "channels": 256,
        "groups": 32,
        "width": 4,
        "wanted['rows']": 1024,
        "wanted['list'][0]": 4096,
        "wanted['list'][1]": 3,
    }
    for c in constants(NETWORK):
        assert eval(NETWORK[slice(*c.span)]) == c.value


def test_rewriting_keeps_every_line_where_it_was():
    source = "a = (100 +\n     28)\nb = 64\n"
    text = rewritten(source, [(c, 16) for c in constants(source)])
    assert text.count("\n") == source.count("\n")
    assert {c.name: c.value for c in constants(text)} == {"a": 16, "b": 16}


def test_what_breaks_the_file_goes_back_and_is_said():
    source, notes = scaled(NETWORK, "net", 0.25)
    found = {c.name: c.value for c in constants(source)}
    assert found["batch"] == 128
    assert (found["channels"], found["wanted['rows']"]) == (256, 1024)
    assert "batch 512 -> 128" in notes[0]
    assert "channels 256" in notes[1]
    assert capture(load.load_source(source, "net")).interface.arguments[0].shape == (128, 256, 4)


def test_what_breaks_the_file_shrinks_less_where_that_does_not():
    source = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.conv2d(x, torch.ones(1, 1, 5, 9), dilation=(2, 3))  # needs 9 x 25 pixels
height = 512
width = 512
def get_inputs():
    return [torch.rand(1, 1, height, width)]
"""
    text, notes = scaled(source, "dilated", 0.01)
    assert {c.name: c.value for c in constants(text)} == {"height": 32, "width": 32}
    assert notes == ("Scaled by 0.01: height and width 512 -> 32.",)


def test_equal_values_shrink_together():
    source = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, y):
        return (x @ y).view(30, -1) if x.shape[0] == 30 else (x @ y).view(60, 2048, -1)
n = 60
first = 1024
second = 1024
def get_inputs():
    return [torch.rand(2 * n, first), torch.rand(second, 1024)]
"""
    text, _ = scaled(source, "pair", 0.5)
    assert {c.name: c.value for c in constants(text)} == {"n": 28, "first": 512, "second": 512}
    assert "view(28, 2048, -1)" in text, "a number in forward follows"


def test_a_file_that_does_not_run_at_all_is_an_error():
    with pytest.raises(TaskError, match="forward, given what get_inputs gives, raises"):
        scaled(NETWORK.replace("1024) + y", "1000) + y"), "net", 0.5)
    with pytest.raises(TaskError, match="does not shrink"):
        scaled(NETWORK, "net", 2.0)


def test_indices_out_of_range_are_noticed():
    source = """
import torch
class Model(torch.nn.Module):
    def __init__(self, words):
        super().__init__()
        self.table = torch.nn.Embedding(words, 16)
    def forward(self, x):
        return self.table(x)
words = 1000
length = 64
def get_inputs():
    return [torch.full((length,), 998)]
def get_init_inputs():
    return [words]
"""
    text, notes = scaled(source, "words", 0.5)
    assert {c.name: c.value for c in constants(text)} == {"words": 1000, "length": 32}
    assert "Kept, or the file would not run: words 1000." in notes


TABLE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = 4096
    def forward(self, at, x):
        return x.new_zeros(self.words, 64).index_add_(0, at, x)
def get_inputs():
    most = {"int64": 1000}["int64"]
    return [torch.randint(0, most, (1,)), torch.rand(1, 64)]
def get_init_inputs():
    return []
"""


def test_what_a_single_number_is_drawn_below_shrinks_with_the_table_that_it_points_into():
    _, notes = fitting(TABLE, "words", 1 << 12)
    assert "self.words 4096 -> 512" in notes[0] and "a number in get_inputs 1000 -> 512" in notes[0]


def test_a_large_table_keeps_what_looks_it_up_though_that_shows_only_when_it_is_run() -> None:
    inputs = "torch.rand(64, 128, 1, 512), torch.arange(64 * 128)"
    source = reference_text("return x.flatten(0, 1)[at]", inputs=inputs, arguments="x, at")
    text, _ = fitting(source, "table", 1 << 17, rank=3)
    table, at = (reference := load.load_source(text, "table")).inputs()
    assert reference.model()(table, at).shape[0] == at.numel() and table.numel() < 64 * 128 * 512


def test_nothing_is_tried_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not where all is tried once more, with parameters as they are."""
    tried: list[str] = []
    monkeypatch.setattr(scale, "shapes_of", lambda text, name: (tried.append(text), shapes_of(text, name))[1])
    fitting(TABLE, "words", 1)
    assert len(tried) == len({*tried}) > 5


def test_only_the_batch_shrinks_where_that_is_enough():
    source, notes = with_small_batch(NETWORK, "net", 1 << 15)
    assert {c.name: c.value for c in constants(source)}["batch"] < 512
    assert {c.name: c.value for c in constants(source)}["channels"] == 256
    assert notes and with_small_batch(NETWORK, "net", 1 << 30) == (NETWORK, ())


def test_rows_of_a_matrix_are_no_batch_where_only_images_count():
    images = "B = 64\n" + load_text("torch.rand(B, 3, 32, 32)")
    assert constants(with_small_batch(images, "images", 1 << 12, rank=3)[0])[0].value == 4
    rows = "B = 4096\n" + load_text("torch.rand(B, 64)")
    assert with_small_batch(rows, "rows", 1 << 12, rank=3) == (rows, ())
    assert constants(with_small_batch(rows, "rows", 1 << 12)[0])[0].value == 30


def test_what_is_captured_for_little_work_has_few_images(tmp_path: Path):
    path = tmp_path / "images.py"
    path.write_text("B = 64\nH = 512\n" + load_text("torch.rand(B, 16, H, H)"))
    shape = capture_file(path, work=1 << 16).interface.arguments[0].shape
    assert shape == (4, 16, 16, 16)


def test_fitting_halves_until_it_fits():
    text, notes = fitting("N = 1024\n" + load_text("torch.rand(N, N)"), "square", 1 << 18)
    assert constants(text)[0].value == 256
    assert "N 1024 -> 256" in notes[0]


def test_integers_get_below_16_only_where_that_is_needed():
    source = "N, C = 64, 96\n" + load_text("torch.rand(N, N, N, C)")
    found = [{c.name: c.value for c in constants(fitting(source, "cube", 1 << n)[0])} for n in (18, 13)]
    assert found == [{"N": 16, "C": 16}, {"N": 8, "C": 8}]


def load_text(inputs: str) -> str:
    return reference_text("return x + 1", inputs=inputs)

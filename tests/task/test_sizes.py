"""Sizes are found wherever a file spells them out, and get smaller with what must hold."""

from __future__ import annotations

import pytest
import torch

from akg_core.errors import TaskError
from akg_core.pipeline.pipeline import SIMULATED_WORK
from akg_core.task.scaling.literals import integers, rewritten
from akg_core.task.scaling.scale import fitting, scaled
from akg_core.task.scaling.shapes import is_degenerate, shapes_of
from akg_core.task.scaling.sizes import sizes_of
from akg_core.task.source import load
from tests.task.replay import reference_text
from tests.task.sized import FILES, file


@pytest.mark.parametrize("name", FILES)
def test_one_call_costs_little_once_a_file_is_made_to_fit(name):
    whole = shapes_of(FILES[name], name)
    text, notes = fitting(FILES[name], name, SIMULATED_WORK, rank=3)
    small = shapes_of(text, name)
    assert small.work <= SIMULATED_WORK < whole.work
    assert not is_degenerate(small, whole)
    assert len(small.results) == len(whole.results), "the same operators"
    assert len(notes) == 1 and notes[0].startswith("Sizes: ")
    reference = load.load_source(text, name)
    with torch.no_grad():
        reference.model()(*reference.inputs())


@pytest.mark.parametrize("name", list(FILES)[::3])
def test_a_scale_reaches_all_places(name):
    text, notes = scaled(FILES[name], name, 0.25)
    assert shapes_of(text, name).work < shapes_of(FILES[name], name).work / 2
    assert notes[0].startswith("Scaled by 0.25: ")


def fitted(name: str, work: int = SIMULATED_WORK) -> str:
    return fitting(FILES[name], name, work, rank=3)[0]


@pytest.mark.parametrize(
    ("name", "kept"),
    {
        "convolution": "64, 3, padding=1",
        "constructor defaults": "k=4",
        "get_init_inputs": "kernel_size=(3, 5, 5), stride=(1, 2, 2)",
        "groups": "nn.GroupNorm(32, 32)",
        "grouped": "groups=12, padding=1",
        "heads": ", 12, batch_first",
        "strides": "nn.AvgPool2d(11, stride=11)",
        "dilation": "64, 128, 5, stride=3, dilation=4",
        "reflection": "ReflectionPad2d(3)",
        "pixel shuffle": "pixel_shuffle(self.conv(x), 2)",
        "layers": "range(12)",
    }.items(),
)
def test_what_is_no_size_stays(name, kept):
    work = 16 * SIMULATED_WORK if name == "convolution" else SIMULATED_WORK
    assert kept in fitted(name, work)


def test_rows_and_positions_go_before_what_parameters_share():
    text, notes = fitting(FILES["dilation"], "dilation", SIMULATED_WORK, rank=3)
    assert "nn.Conv1d(64, 128, 5" in text
    assert notes == ("Sizes: batch 64 -> 4, dim 2 of x 65536 -> 64; parameters as they are.",)


def test_numbers_in_forward_follow_what_they_are_equal_to():
    shapes = shapes_of(fitted("views"), "views")
    ((rows, columns),) = shapes.inputs
    channels = shapes.parameters["lin.weight"]
    assert shapes.outputs == ((rows, columns // channels[1] * channels[0]),)


@pytest.mark.parametrize("name", ["flattened", "flattened into one number"])
def test_features_made_of_positions_follow_them(name):
    shapes = shapes_of(fitted(name), name)
    ((_, _, height, width),) = shapes.inputs
    assert height == width < 64 and shapes.parameters["conv.weight"][2:] == (3, 3)
    assert shapes.parameters["head.weight"] == (10, shapes.parameters["conv.weight"][0] * (height // 2) ** 2)


def test_what_is_looked_up_exists():
    reference = load.load_source(fitted("embedding"), "embedding")
    (words,) = reference.model().table.weight.shape[:1]
    assert words < 30000 and int(reference.inputs()[0].max()) < words
    fixed = FILES["embedding"].replace("torch.randint(0, 30000,", "torch.randint(29000, 29999,")
    reference = load.load_source(fitting(fixed, "fixed", SIMULATED_WORK)[0], "fixed")
    reference.model()(*reference.inputs())
    last = file("x[y]", "torch.rand(8192, 64), torch.randint(0, 8191 + 1, (2048,))")
    text = fitting(last, "last", SIMULATED_WORK)[0]
    assert shapes_of(text, "last").work <= SIMULATED_WORK and "8191" not in text


def test_what_pytorch_does_not_look_at_is_inside():
    backward = "torch.ops.aten.embedding_dense_backward(x, y, 32000, -1, False)"
    text = file(backward, "torch.randn(64, 512), torch.randint(0, 32000 + 1, (64,))")  # one more than there are
    reference = load.load_source(fitting(text, "beyond", SIMULATED_WORK)[0], "beyond")
    grad, indices = reference.inputs()
    assert grad.shape[:1] == indices.shape and int(indices.max()) < reference.model()(grad, indices).shape[0] < 32000


def test_what_is_put_somewhere_has_to_fit():
    put = "x.index_put((torch.arange({}),), x[:{}])"
    assert shapes_of(file(put.format(8, 8), "torch.rand(16, 4)"), "fits").outputs == ((16, 4),)
    with pytest.raises(TaskError, match="must match the existing size"):
        shapes_of(file(put.format(8, 6), "torch.rand(16, 4)"), "differs")


def test_what_is_enlarged_stays_enlarged():
    shapes = shapes_of(fitted("enlarged"), "enlarged")
    assert shapes.outputs[0][2:] == tuple(2 * size for size in shapes.inputs[0][2:])


def test_a_window_that_came_more_than_once_still_does():
    shapes = shapes_of(fitted("strides"), "strides")
    assert min(shapes.outputs[0][2:]) >= 2


def test_tensors_in_a_list_are_made_smaller_together():
    listed = file("torch.cat(x)", "[torch.randn(*shape) for shape in ([64, 512, 256], [32, 512, 256])]")
    text, (note,) = fitting(listed, "listed", SIMULATED_WORK)
    (one, other) = shapes_of(text, "listed").inputs
    assert one[1:] == other[1:] and shapes_of(text, "listed").work <= SIMULATED_WORK, note


def test_a_file_that_is_small_enough_stays_as_it_is():
    text = file("x + 1", "torch.rand(4, 4)")
    assert fitting(text, "tiny", SIMULATED_WORK) == (text, ())


def test_what_integers_stand_for():
    text = file(
        "self.conv(x)[:, :16].softmax(1)",
        "torch.randn(32, 48, 100, 200)",
        "self.conv = nn.Conv2d(48, 96, kernel_size=(9, 11), groups=12)\nself.rate = 10 ** 9",
    )
    found = sizes_of(text, "file", shapes_of(text, "file"))
    roles = [(each.value, size.role) for each, size in found.items() if size.role != "none"]
    assert sorted(roles) == [
        (16, "result"),
        (32, "batch"),
        (48, "extent"),
        (48, "feature"),
        (96, "feature"),
        (100, "extent"),
        (200, "extent"),
    ]


def test_integers_are_found_in_every_place_and_spelled_anew():
    for text in FILES.values():
        found = integers(text)
        assert found and all(eval(text[slice(*each.span)]) == each.value for each in found)
        assert rewritten(text, [(each, each.value) for each in found]).count("\n") == text.count("\n")
    places = {(each.scope, each.name): each.value for each in integers(FILES["constructor defaults"])}
    assert places["Model.__init__", "cin"] == 32 and places["Model.__init__", "stride"] == 2


def test_gradients_count_as_what_they_are_made_of():
    grad = "x.requires_grad_(); return torch.autograd.grad((x @ x.mT).exp().sum(), x)"
    one, three = (
        reference_text(line, inputs="torch.randn(64, 512)") for line in ("return (x @ x.mT).exp().sum()", grad)
    )
    assert 2 < shapes_of(three, "three").work / shapes_of(one, "one").work < 4

"""Every fault of a reference file is one sentence that says where."""

from __future__ import annotations

import runpy
import sys
from dataclasses import replace

import pytest
import torch

from akg_core.errors import OutOfMemory, TaskError
from akg_core.task.capture import capture, capture_file
from akg_core.task.source import load
from akg_core.task.source.uncompiled import uncompiled
from tests.task.replay import reference_text

GOOD = reference_text("return x * 2")


def test_a_good_file_gives_a_module_and_inputs(tmp_path):
    path = tmp_path / "double.py"
    path.write_text(GOOD)
    reference = load.load_source(load.read(path), path.stem)
    (x,) = reference.inputs(seed=3)
    assert reference.name == "double"
    assert reference.model()(x).equal(x * 2)
    assert reference.inputs(seed=3)[0].equal(x)
    assert not reference.inputs(seed=4)[0].equal(x)
    assert reference.model().training and not reference.model(eval=True).training


@pytest.mark.parametrize(
    "made", ["torch.normal(0.0, 1.0, (4, 6)) + torch.ones(4, 6)", "torch.tensor(torch.ones(4, 6).numpy())"]
)
def test_what_cannot_be_made_on_a_device_is_made_on_the_host(made):
    source = GOOD.replace("torch.randn(4, 6)", made)
    reference = replace(load.load_source(source, "ref"), device="meta")
    (x,) = reference.inputs(seed=3)
    assert x.device.type == "meta" and x.shape == (4, 6)


@pytest.mark.parametrize("made", ["torch.ones(6)", "nn.Linear(6, 6)(x)", "torch.arange(6, device='meta')"])
def test_what_forward_makes_without_saying_where_lies_on_the_device(made):
    source = GOOD.replace("x * 2", f"x + {made}")
    reference = replace(load.load_source(source, "ref"), device="meta")
    model = reference.model()
    assert model(torch.ones(4, 6, device="meta")).device.type == "meta"
    assert (type(model) is reference.Model) == ("device" in made), "it is left as it is where it says where"


def test_a_missing_file_is_said_by_its_path(tmp_path):
    with pytest.raises(TaskError, match=r"nowhere\.py: there is no such file"):
        capture_file(tmp_path / "nowhere.py")


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(TaskError, match="cannot be read"):
        load.read(tmp_path)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("class Model(:\n", r"ref, line 1: the file is not Python"),
        ("x = 1\nimport no_such_module\n", r"ref, line 2: importing the file raises ModuleNotFoundError"),
        ("import sys\nsys.exit(0)\n", r"ref, line 2: importing the file raises SystemExit"),
        ("def get_inputs():\n    return []\n", r"defines no Model"),
        ("Model = 3\n", r"Model is not a class derived from torch.nn.Module"),
        (GOOD.replace("def get_inputs", "def inputs"), r"defines no get_inputs"),
        (GOOD.replace("super().__init__()", "raise ValueError('no luck')"), r"line 8: Model's constructor raises Val"),
        (
            GOOD.replace("super().__init__()", "super().__init__(); self.fc = nn.LazyLinear(3)"),
            r"fc.weight has no shape",
        ),
        (GOOD.replace("return []", "return [3]"), r"Model's constructor raises TypeError"),
        (GOOD.replace("return []", "return 3"), r"get_init_inputs returns a int, not a list"),
        (GOOD.replace("[torch.randn(4, 6)]", "torch.randn(4, 6)"), r"get_inputs returns a Tensor, not a list"),
        (GOOD.replace("torch.randn(4, 6)", "1 / 0"), r"line 15: get_inputs raises ZeroDivisionError"),
        (GOOD.replace("[torch.randn(4, 6)]", "[torch.randn(4), 1]"), r"gives 2 values, which do not fit forward\("),
        (GOOD.replace("x * 2", "x @ x"), r"line 11: forward, given what get_inputs gives, raises RuntimeError"),
        (GOOD.replace("torch.randn(4, 6)", "object()"), r"argument x of forward is or holds a object"),
        (GOOD.replace("4, 6)", "4).to(torch.float8_e5m2)"), r"ref: The dtype float8_e5m2 is not supported"),
        (GOOD.replace("x * 2", "x * 2 if x.sum() > 0 else x"), r"line 11: forward looks at the values"),
        (GOOD.replace("x * 2", "x, [__import__('collections').namedtuple('Pair', 'a')(x)]"), r"returns a Pair, a type"),
        (GOOD.replace("x * 2", "x, x.dtype"), r"returns torch.float32, which is not a tensor"),
    ],
)
def test_a_fault_is_one_sentence_with_its_line(source, said):
    with pytest.raises(TaskError, match=said) as caught:
        capture(load.load_source(source, "ref"))
    assert "\n" not in str(caught.value)
    assert len(caught.value.message) < 500


BESIDE = """\"\"\"A scale from beside.\"\"\"

from __future__ import annotations

import torch
from pathlib import Path
from torch import nn

from made_beside import FACTOR


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = float(Path(__file__).with_name("scale.txt").read_text())

    def forward(self, x):
        return x * self.scale * FACTOR


def get_inputs():
    return [torch.randn(4)]


def get_init_inputs():
    return []
"""


def test_what_lies_beside_the_file_is_found_wherever_its_text_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "made_beside.py").write_text("FACTOR = 3.0\n")
    (tmp_path / "scale.txt").write_text("2.0")
    path = tmp_path / "ref.py"
    path.write_text(BESIDE)
    task = capture_file(path)
    assert [node.args[1] for node in task.graph.nodes] == [2.0, 3.0]
    assert [node.where for node in task.graph.nodes] == ["line 18", "line 18"]
    copy = tmp_path / "elsewhere" / "reference.py"
    copy.parent.mkdir()
    copy.write_text(task.source)
    assert runpy.run_path(str(copy))["Model"]().scale == 2.0
    assert load.load_source(task.source, "again").model().scale == 2.0


def test_a_file_that_asks_for_nothing_beside_it_is_taken_as_it_is(tmp_path):
    (tmp_path / "torch.txt").write_text("")
    path = tmp_path / "ref.py"
    path.write_text(GOOD)
    assert load.read(path) == GOOD


def test_tracebacks_and_inspect_find_the_source():
    import inspect

    assert "return x * 2" in inspect.getsource(load.load_source(GOOD, "ref").Model)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA out of memory. Tried to allocate 4.91 GiB."),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8000000000000 bytes."),
        MemoryError("Unable to allocate 7.28 TiB for an array"),
    ],
)
def test_a_machine_without_memory_is_named_as_such(error: Exception) -> None:
    with pytest.raises(OutOfMemory, match=r"forward raises .*--scale"), load.blame("ref", "forward"):
        raise error


def test_inputs_follow_from_their_seed_whoever_draws_them():
    lines = ["import random", "import numpy", "import torch", "", "class Model(torch.nn.Module):", "    pass", ""]
    lines += ["def get_inputs():", "    return [torch.rand(()), random.random(), numpy.random.rand()]"]
    reference = load.load_source("\n".join(lines), "drawn.py")
    assert reference.inputs(3) == reference.inputs(3) and not {*reference.inputs(3)} & {*reference.inputs(4)}


def test_what_a_file_has_compiled_is_run_as_it_is_written(tmp_path):
    text = GOOD.replace(
        "class Model", "@torch.compile(\n    dynamic=True)\ndef more(x):\n    return x + 1\n\n\nclass Model"
    )
    text = text.replace(
        "return x * 2", "return torch.compile(\n            more, fullgraph=True)(x) * torch.compile(len)('é€')"
    )
    path = tmp_path / "compiled.py"
    path.write_text(text)
    source = load.read(path)
    assert "torch.compile" not in source
    assert source.splitlines().index("def more(x):") == text.splitlines().index("def more(x):")
    assert source.count("\n") == text.count("\n")
    (x,) = load.load_source(source, "compiled").inputs()
    assert load.load_source(source, "compiled").model()(x).equal((x + 1) * 2)
    assert load.read(path) == source and uncompiled("not: python(") == "not: python("

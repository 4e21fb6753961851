"""Every fault of a reference file is one sentence that says where."""

from __future__ import annotations

import pytest

from akg_core.errors import OutOfMemory, TaskError
from akg_core.task import load
from akg_core.task.capture import capture, capture_file
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
        (GOOD.replace("return []", "return [3]"), r"Model's constructor raises TypeError"),
        (GOOD.replace("return []", "return 3"), r"get_init_inputs returns a int, not a list"),
        (GOOD.replace("[torch.randn(4, 6)]", "torch.randn(4, 6)"), r"get_inputs returns a Tensor, not a list"),
        (GOOD.replace("torch.randn(4, 6)", "1 / 0"), r"line 15: get_inputs raises ZeroDivisionError"),
        (GOOD.replace("[torch.randn(4, 6)]", "[torch.randn(4), 1]"), r"gives 2 values, which do not fit forward\("),
        (GOOD.replace("x * 2", "x @ x"), r"line 11: forward, given what get_inputs gives, raises RuntimeError"),
        (GOOD.replace("torch.randn(4, 6)", "[torch.ones(1)]"), r"argument x of forward is a list"),
        (GOOD.replace("4, 6)", "4, dtype=torch.complex64)"), r"ref: The dtype complex64 is not supported"),
        (GOOD.replace("x * 2", "x * 2 if x.sum() > 0 else x"), r"line 11: forward looks at the values"),
        (GOOD.replace("x * 2", "[x, [x, x]]"), r"returns nested collections"),
        (GOOD.replace("x * 2", "x, 3"), r"returns 3, which is not a tensor"),
        (GOOD.replace("x * 2", "x[x > 0]"), r"line 11: forward looks at the values"),
    ],
)
def test_a_fault_is_one_sentence_with_its_line(source, said):
    with pytest.raises(TaskError, match=said) as caught:
        capture(load.load_source(source, "ref"))
    assert "\n" not in str(caught.value)
    assert len(caught.value.message) < 500


def test_tracebacks_and_inspect_find_the_source():
    import inspect

    assert "return x * 2" in inspect.getsource(load.load_source(GOOD, "ref").Model)


def test_a_device_without_memory_is_named_as_such() -> None:
    with (
        pytest.raises(OutOfMemory, match="forward raises RuntimeError: CUDA out of memory"),
        load.blame("ref", "forward"),
    ):
        raise RuntimeError("CUDA out of memory. Tried to allocate 4.91 GiB.")

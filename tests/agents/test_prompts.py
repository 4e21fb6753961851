"""What models are told: complete, short enough, and chosen by what the task is about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from akg_core.agents.knowledge import Knowledge, Origin
from akg_core.agents.library import KernelEntry, Library
from akg_core.agents.prompts import VERSION, Attempted, coder, decider, designer, interface, language
from akg_core.agents.similarity import Described
from akg_core.records import Graph, Node, Target
from akg_core.registry import hooks
from akg_core.task.capture import capture_file

ROOT = Path(__file__).parents[2]
TASKS = sorted((ROOT / "benchmarks" / "tasks").rglob("*.py"))[::12]
PLUGINS = {"cpp_cpu": "cpu", "triton_cuda": "cuda:sm_90"}


def knowledge(plugin: str, folder: Path, tokens: int = 12_000, **more) -> Knowledge:
    caller, library = hooks(plugin), Library(folder / "library.sqlite")
    pages = caller.akg_docs()
    library.file_pages(plugin, pages)
    return Knowledge(caller.akg_plugin_info(), Target.parse(PLUGINS[plugin]), pages, library, tokens, **more)


@pytest.fixture(scope="module")
def softmax():
    return capture_file(ROOT / "examples" / "softmax.py")


@pytest.mark.parametrize("path", TASKS, ids=[path.stem for path in TASKS])
def test_prompts_of_the_benchmark_have_less_than_twelve_thousand_tokens(path, tmp_path):
    task = capture_file(path)
    known = [knowledge(plugin, tmp_path) for plugin in PLUGINS]
    for prompt in (each for one in known for each in (designer(task, one), coder(task, one, "code", "It begins."))):
        assert prompt.tokens < 12_000
        assert prompt.chosen[0].endswith(f".md {VERSION}")
        assert task.source.strip() in prompt.messages[1].content


def test_a_coder_is_told_the_language_and_the_pitfalls_however_little_room_there_is(softmax, tmp_path):
    chosen = coder(softmax, knowledge("cpp_cpu", tmp_path, 3500), "code", "It begins.").chosen
    everything = coder(softmax, knowledge("cpp_cpu", tmp_path), "code", "It begins.").chosen
    assert 0 < len(chosen) < len(everything)
    pages = {name.partition(":")[0] for name in chosen[1:]}
    assert {"docs/language", "docs/pitfalls"} <= pages


def test_a_designer_is_told_the_language_of_sketches_without_its_tests(softmax, tmp_path):
    system = designer(softmax, knowledge("cpp_cpu", tmp_path)).messages[0].content
    assert "for m in grid(M, BM)" in system and "def expected" not in system
    assert language().count("```") % 2 == 0


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_designer_is_told_which_hints_have_an_effect(plugin, softmax, tmp_path):
    known = knowledge(plugin, tmp_path)
    line = next(line for line in known.page("designer").splitlines() if "Hints with an effect" in line)
    hints = re.findall(r"`(\w+)(?:=[^`]*)?`", line)
    assert hints and line in designer(softmax, known).messages[0].content
    assert not [hint for hint in hints if f"| `{hint}` |" not in language()]


def test_what_was_wrong_is_told_with_the_last_version(softmax, tmp_path):
    known, last = knowledge("cpp_cpu", tmp_path), Attempted({"kernel.cpp": "int x;"}, "Line 1 is wrong.")
    fixed = coder(softmax, known, "fix", "It is wrong.", last=last).messages[1].content
    assert "int x;" in fixed and "Line 1 is wrong." in fixed and "Repair it." in fixed
    anew = coder(softmax, known, "rewrite", "Again.", last=last).messages[1].content
    assert "int x;" not in anew and "Line 1 is wrong." in anew
    redesigned = designer(softmax, known, "@kernel", "SK101 is found.", "Once more.").messages[1].content
    assert "SK101 is found." in redesigned


def test_verified_kernels_and_the_original_of_a_migration_are_shown(softmax, tmp_path):
    what = Described(operators=(), dtypes=(), shapes=())
    entry = KernelEntry(name="like_it", plugin="cpp_cpu", target="cpu", what=what, files={"a.cpp": "int like;"})
    origin = Origin("another language", {"b.x": "the original"})
    known = knowledge("cpp_cpu", tmp_path, kernels=(entry,), origin=origin)
    prompt = coder(softmax, known, "code", "It begins.")
    text = prompt.messages[1].content
    assert "int like;" in text and "the original" in text and "another language" in text
    assert "like_it" in prompt.chosen


def test_an_interface_says_what_comes_back(softmax):
    pair = Node(name="top", op="topk", dtypes=("f32", "i64"), shapes=((4, 2), (4, 2)))
    graph = Graph(values={"x": "argument:x"}, nodes=(pair,), outputs=("%top", "%top:1", "%x", None))
    said = interface(softmax.model_copy(update={"graph": graph}))
    assert said.splitlines()[-1] == "- result: a tensor: f32[4, 2], i64[4, 2], argument x, None"


def test_of_kernels_alike_those_are_shown_whose_sketch_is_like_the_one_to_be_written(softmax, tmp_path):
    what = Described(operators=(), dtypes=(), shapes=())
    sketches = ("x = load(x)", "for n in tiles(N, 64):\n    x = load(x)", "for m in grid(M):\n    x = load(x)")
    kernels = [
        KernelEntry(name=f"k{n}", plugin="cpp_cpu", target="cpu", what=what, sketch=sketch, files={"a.cpp": ""})
        for n, sketch in enumerate(sketches)
    ]
    known = knowledge("cpp_cpu", tmp_path, kernels=kernels)
    assert coder(softmax, known, "code", "").chosen[-2:] == ("k0", "k1")
    assert coder(softmax, known, "code", "", "for m in grid(M):\n    y = load(x)").chosen[-2:] == ("k2", "k0")


def test_a_decider_is_told_its_choices(softmax, tmp_path):
    text = decider(softmax, knowledge("cpp_cpu", tmp_path), ("fix", "rewrite"), ()).messages[0].content
    assert '"fix"' in text and '"rewrite"' in text and '"redesign"' not in text

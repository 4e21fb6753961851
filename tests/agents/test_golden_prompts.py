"""Prompts as models read them, held against golden files: what changes in one must be meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from akg_core.agents import prompts
from akg_core.agents.conductor import Step
from akg_core.agents.knowledge import Knowledge, Origin
from akg_core.agents.library import KernelEntry, Library
from akg_core.agents.prompts import Attempted, Prompt, coder, decider, designer
from akg_core.agents.similarity import Described
from akg_core.records import DocPage, PluginInfo, Target
from akg_core.task.capture import capture_file
from tests.agents.plain_c import KERNEL, MODEL, REFERENCE, SKETCH

GOLDEN = Path(__file__).parent / "golden"
LINEAR = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return self.linear(x).relu()


def get_inputs():
    return [torch.randn(64, 32)]


def get_init_inputs():
    return [32, 16]
"""
PAGES = {
    "language": "# Plain C\n## Kernels\nA kernel is a C function in kernel.c.",
    "api": "# API\n## Roots\n`sqrtf` is there.",
    "hardware": "# One core\nNothing runs in parallel.",
    "examples": "# Examples\n## Adding\nA loop over all elements.",
    "pitfalls": "# Pitfalls\n## Bounds\nNothing checks an index.",
    "designer": "# On this chip\n- One program is enough.",
    "coder": "# House rules\n- Indices are `long`.",
}
FILES = {"kernel.c": KERNEL.strip(), "model_new.py": MODEL.strip()}
EXAMPLE = KernelEntry(
    name="tripled",
    plugin="plain_c",
    target="cpu",
    what=Described(operators=(), dtypes=(), shapes=()),
    sketch=SKETCH.strip(),
    files={"kernel.c": "void tripled(void);"},
    speedup=1.5,
)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    (folder / "scaled.py").write_text(REFERENCE)
    (folder / "linear.py").write_text(LINEAR)
    return {name: capture_file(folder / f"{name}.py") for name in ("scaled", "linear")}


@pytest.fixture
def known(tmp_path) -> Callable[..., Knowledge]:
    library = Library(tmp_path / "library.sqlite")
    pages = [DocPage(kind=kind, title=kind, text=text) for kind, text in PAGES.items()]
    library.file_pages("plain_c", pages)
    plugin = PluginInfo(name="plain_c", dsl="C", backends=("cpu",), dtypes=("f32",), source_suffix=".c")

    def make(**more) -> Knowledge:
        return Knowledge(plugin, Target.parse("cpu"), pages, library, 12_000, **more)

    return make


@pytest.fixture
def hold(golden, monkeypatch) -> Callable[[str, Prompt], None]:
    """hold(name, prompt) compares; the sketch language's reference has tests of its own."""
    monkeypatch.setattr(prompts, "language", lambda: "(docs/sketch.md)")

    def check(name: str, prompt: Prompt) -> None:
        made = f"made from: {', '.join(prompt.chosen)}\n"
        turns = (f"===== {message.role}\n{message.content}" for message in prompt.messages)
        golden(GOLDEN / f"{name}.txt", "\n".join([made, *turns]))

    return check


def test_a_designer_begins(tasks, known, hold):
    hold("designer", designer(tasks["scaled"], known(kernels=(EXAMPLE,))))


def test_a_designer_puts_a_sketch_right(tasks, known, hold):
    wrong = SKETCH.replace("load(b[m, n])", "load(c[m, n])")
    hold(
        "designer_again", designer(tasks["linear"], known(), wrong, "SK201 There is no `c`.", "The sketch is refused.")
    )


def test_a_coder_begins(tasks, known, hold):
    hold("coder", coder(tasks["scaled"], known(kernels=(EXAMPLE,)), "code", "The sketch holds.", SKETCH))


def test_a_coder_repairs(tasks, known, hold):
    last = Attempted(FILES, "12% of y is wrong, in the last row.")
    hold(
        "coder_fix",
        coder(tasks["linear"], known(), "fix", "The kernel was incorrect; what is wrong is told.", last=last),
    )


def test_a_coder_makes_it_faster(tasks, known, hold):
    last = Attempted(FILES, "It is correct and takes 2 ms.", correct=True)
    hold(
        "coder_faster", coder(tasks["scaled"], known(), "faster", "The kernel is correct; it may be faster.", last=last)
    )


def test_a_coder_carries_a_kernel_over(tasks, known, hold):
    origin = Origin("another language", {"kernel.x": "scaled(a, b) = 2 a + b"})
    hold("coder_migrates", coder(tasks["scaled"], known(origin=origin), "code", "Code is written without a sketch."))


def test_a_conductor_decides(tasks, known, hold):
    steps = [
        Step(actor="coder", action=action, outcome="incorrect", feedback="Rows 0 to 3 are off.")
        for action in ("code", "fix")
    ]
    hold("decide", decider(tasks["scaled"], known(), ("fix", "rewrite", "redesign"), steps))


def test_what_a_plugin_adds_is_a_document(tasks, known):
    told = coder(tasks["scaled"], known(), "code", "It begins.")
    assert "Indices are `long`." in told.messages[0].content and "docs/coder" in told.chosen
    without = coder(tasks["scaled"], known(documents=False), "code", "It begins.")
    assert "Indices are `long`." not in without.messages[0].content

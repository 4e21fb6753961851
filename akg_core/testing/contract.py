"""Level `contract`: what holds of a plugin on any machine, with or without its toolchain and its device."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterable

import pytest

from akg_core.dtypes import DTYPES
from akg_core.errors import AkgError
from akg_core.judge.source.rules import broken_rule
from akg_core.pages import KINDS
from akg_core.python_text import module_of
from akg_core.records import KernelSource, Target
from akg_core.registry import HOOKS, OPTIONAL, modules_of
from akg_core.stages import stages
from akg_core.stages.pools import probe
from akg_core.stages.stages import require_allowed
from akg_core.testing.examples import Example, read_examples
from akg_core.testing.subject import CHEATED, TASKS, Subject
from akg_core.toolchain import write_source

NOWHERE = (Target(backend="no-such-backend"), Target(backend="no-such-backend", arch="no-such-chip"))
NONSENSE = ("", "\x00\udcff", "error:" * 10_000, "kernel:1:1: error: expected ')'\n")
_INSTANT = """
import json, sys
from akg_core.records import Target
from akg_core.registry import hooks
caller = hooks(sys.argv[1])
caller.akg_plugin_info()
caller.akg_probe(target=Target.parse(sys.argv[2]))
print(json.dumps(sorted({"torch", "numpy"} & sys.modules.keys())))
"""
# What no kernel's Python may be, each in place of the entry.
FORBIDDEN = {
    "the library's forward under another name": "import torch\nfrom reference import Model\n\n\n"
    "class ModelNew(Model):\n    def forward(self, x):\n        return torch.softmax(x * self.scale, -1)\n",
    "a library that stands behind a try block": "from reference import Model\n\n\nclass ModelNew(Model):\n"
    "    def forward(self, x):\n        try:\n            return kernel(x)\n        except Exception:\n"
    "            return super().forward(x)\n",
    "the reference itself": "from reference import Model\n\n\nclass ModelNew(Model):\n    pass\n",
    "a module without ModelNew": "from reference import Model\n",
    "text that does not parse": "class ModelNew(\n",
}


def fail(sentence: str) -> None:
    """End the test with one sentence, which is all that anybody sees of it."""
    pytest.fail(sentence, pytrace=False)


def examples(subject: Subject) -> list[Example]:
    """The examples of the documents; their faults fail a test of their own."""
    return read_examples(subject.hooks.akg_docs())[0]


def example_source(subject: Subject, example: Example) -> KernelSource:
    """An example as if it had been emitted."""
    return KernelSource(plugin=subject.plugin, target=subject.target, files=example.files)


class Contract:
    """Tests of this level."""

    def test_it_says_who_it_is(self, subject: Subject) -> None:
        info = subject.info
        if not (info.dsl and info.backends and info.dtypes):
            fail("akg_plugin_info names no DSL, no backend or no dtype.")
        if unknown := set(info.dtypes) - DTYPES.keys():
            fail(
                f"akg_plugin_info names {', '.join(sorted(unknown))}, which are no dtypes; there are {_spell(DTYPES)}."
            )
        if not info.source_suffix.startswith("."):
            fail(f"The source_suffix {info.source_suffix!r} does not begin with a dot.")

    def test_it_has_every_hook(self, subject: Subject) -> None:
        missing = [hook for hook in HOOKS if hook not in OPTIONAL and not subject.hooks.has(hook)]
        if missing:
            fail(f"It has no {', no '.join(missing)}.")

    def test_it_is_asked_who_it_is_without_loading_anything_heavy(self, subject: Subject) -> None:
        command = [sys.executable, "-c", _INSTANT, subject.plugin, str(subject.target)]
        path = os.pathsep.join(filter(None, sys.path))
        ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
        if ended.returncode:
            fail(f"akg_plugin_info and akg_probe do not run in a fresh Python: {ended.stderr.strip()[-300:]}")
        if heavy := json.loads(ended.stdout):
            fail(f"akg_plugin_info or akg_probe imports {' and '.join(heavy)}, which every command would pay for.")

    def test_it_says_why_a_chip_cannot_be_served(self, subject: Subject) -> None:
        for target in NOWHERE:
            found = probe(subject.plugin, target)
            if found.can_compile or found.can_run:
                fail(f"akg_probe says that it can serve {target}, which does not exist.")
        found = subject.available
        if not (found.can_compile and found.can_run) and not found.cure:
            fail("akg_probe says that something is missing, and not what to do about it (`cure`).")

    def test_its_documents_are_whole(self, subject: Subject) -> None:
        pages = subject.hooks.akg_docs()
        if missing := [kind for kind in KINDS if kind not in {page.kind for page in pages}]:
            fail(f"akg_docs gives no page of the kind {', '.join(missing)}.")
        if empty := [page.kind for page in pages if not page.title.strip() or len(page.text.split()) < 20]:
            fail(f"The pages {', '.join(empty)} say next to nothing.")

    def test_its_examples_can_be_judged(self, subject: Subject) -> None:
        found, faults = read_examples(subject.hooks.akg_docs())
        if faults:
            fail(f"In the page examples, {'; '.join(faults)}.")
        if not found:
            fail("The page examples has no example: a section with blocks named reference.py and model_new.py.")
        for example in found:
            self.must_be_allowed(subject, f"The example {example.title!r}", example_source(subject, example))

    @pytest.mark.parametrize("task", TASKS)
    def test_refined_sketches_hold(self, subject: Subject, task: str) -> None:
        designs = subject.designs(task)
        if not designs:
            fail("akg_refine_sketch leaves no sketch.")
        for design in designs:
            if design.sketch.interface != subject.task(task).interface:
                fail(f"akg_refine_sketch changes what the program {design.sketch.name} takes or gives.")

    @pytest.mark.parametrize("task", TASKS)
    def test_sketches_are_emitted(self, subject: Subject, task: str) -> None:
        source = subject.source(task)
        if (source.plugin, source.target) != (subject.plugin, subject.target):
            fail(f"akg_emit signs its source as {source.plugin} for {source.target}.")
        if not any(name.endswith(subject.info.source_suffix) for name in source.files):
            fail(f"akg_emit gives no {subject.info.source_suffix} file, only {_spell(source.files)}.")
        self.must_lead_back(subject, task, source)
        self.must_be_allowed(subject, "What akg_emit gives", source)

    def test_each_sketch_has_its_own_source(self, subject: Subject) -> None:
        kernels = {task: _kernel_files(subject.source(task)) for task in TASKS}
        for task in TASKS[1:]:
            if kernels[task] == kernels[TASKS[0]]:
                fail(f"akg_emit gives the same kernel for {TASKS[0]} and for {task}: it does not read the sketch.")

    def test_the_same_sketch_has_the_same_source(self, subject: Subject) -> None:
        if subject.emit(CHEATED).files != subject.source(CHEATED).files:
            fail("akg_emit gives another source when it is called again.")

    @pytest.mark.parametrize("task", TASKS)
    def test_every_choice_is_emitted(self, subject: Subject, task: str) -> None:
        design = subject.designs(task)[0]
        for choice in design.space:
            value = next((value for value in reversed(choice.choices) if value != choice.default), None)
            if value is not None:
                values = {**design.default.values, choice.key: value}
                schedule = design.default.model_copy(update={"values": values})
                stages.emit(subject.pool, subject.request(task), design, schedule)

    @pytest.mark.parametrize("fault", FORBIDDEN)
    def test_what_is_forbidden_is_found_by_reading(self, subject: Subject, fault: str) -> None:
        source = subject.source(CHEATED)
        files = {**source.files, source.entry: FORBIDDEN[fault]}
        found = subject.hooks.akg_check_source(source=source.model_copy(update={"files": files}), target=subject.target)
        if not any(finding.severity == "error" for finding in found):
            fail(f"akg_check_source finds no error in {fault}.")

    def test_any_log_can_be_explained(self, subject: Subject) -> None:
        for log in NONSENSE:
            subject.hooks.akg_explain(log=log, target=subject.target)

    def must_be_allowed(self, subject: Subject, what: str, source: KernelSource) -> None:
        """Fail when the plugin or core refuses a source that should be honest."""
        tree = module_of(source.files[source.entry])
        if not any(isinstance(node, ast.ClassDef) and node.name == "ModelNew" for node in tree.body):
            fail(f"{what} defines no class ModelNew in {source.entry}.")
        try:
            require_allowed(subject.hooks.akg_check_source(source=source, target=subject.target))
        except AkgError as error:
            fail(f"{what} is refused by its own akg_check_source: {error}")
        folder = subject.fresh()
        write_source(source, folder)
        if rule := broken_rule(folder, "", source.entry, modules_of(subject.plugin)):
            fail(f"{what} would be judged cheating: {rule}.")

    def must_lead_back(self, subject: Subject, task: str, source: KernelSource) -> None:
        """Fail when the line map is empty or speaks of lines that do not exist."""
        due = subject.designs(task)[0].sketch.text.count("\n") + 1
        if not source.line_map:
            fail("akg_emit gives no line_map, so that no message leads back to the sketch.")
        for place, line in source.line_map.items():
            name, _, number = place.rpartition(":")
            if name not in source.files or not 0 < int(number) <= source.files[name].count("\n") + 1:
                fail(f"The line_map names {place}, which does not exist.")
            if not 0 < line <= due:
                fail(f"The line_map leads {place} to line {line} of a sketch of {due} lines.")


def _kernel_files(source: KernelSource) -> dict[str, str]:
    """The files of the kernel; the entry only when there is nothing else."""
    return {name: text for name, text in source.files.items() if name != source.entry} or dict(source.files)


def _spell(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))

"""Level `toolchain`: kernels are built, and a compile error is a result that leads back to its cause."""

from __future__ import annotations

import pytest

from akg_core.records import KernelSource
from akg_core.testing.contract import example_source, examples, fail
from akg_core.testing.subject import CHEATED, TASKS, Subject

GARBAGE = "\n)( this is no code\n"


def require_compiler(subject: Subject) -> None:
    """Skip the test where the plugin says that its compiler is missing."""
    if not subject.available.can_compile:
        pytest.skip(f"{subject.available.reason} {subject.available.cure}")


def damaged(subject: Subject, source: KernelSource) -> KernelSource:
    """The source with text that no compiler takes at the end of its kernels."""
    suffix = subject.info.source_suffix
    names = [name for name in source.files if name.endswith(suffix) and name != source.entry] or [source.entry]
    return source.model_copy(update={"files": {**source.files, **{n: source.files[n] + GARBAGE for n in names}}})


class Toolchain:
    """Tests of this level."""

    @pytest.mark.parametrize("task", TASKS)
    def test_a_kernel_is_built(self, subject: Subject, task: str) -> None:
        require_compiler(subject)
        compiled = subject.compiled(task)
        if compiled.artifact is None:
            fail(f"What akg_emit gives does not compile: {compiled.log.strip()[:500]}")
        elif not (compiled.artifact.folder / compiled.artifact.entry).is_file():
            fail(f"The artifact has no {compiled.artifact.entry}.")

    def test_a_compile_error_is_a_result(self, subject: Subject) -> None:
        require_compiler(subject)
        compiled, advice = subject.build(CHEATED, damaged(subject, subject.source(CHEATED)))
        if compiled.ok:
            fail("A source that ends in garbage compiles: akg_compile does not look at it.")
        if not compiled.log.strip():
            fail("akg_compile says nothing of why a source does not compile.")
        if not advice:
            fail(f"akg_explain has no advice on a syntax error, whose log is: {compiled.log.strip()[:500]}")

    def test_an_earlier_build_is_not_taken_for_another(self, subject: Subject) -> None:
        require_compiler(subject)
        good = subject.source(CHEATED)
        subject.compiled(CHEATED)
        if subject.build(CHEATED, damaged(subject, good))[0].ok or not subject.build(CHEATED, good)[0].ok:
            fail("akg_compile gives for one source what it built for another.")

    def test_the_examples_compile(self, subject: Subject) -> None:
        require_compiler(subject)
        for example in examples(subject):
            compiled = subject.compiled(subject.reference(example.reference), example_source(subject, example))
            if not compiled.ok:
                fail(f"The example {example.title!r} does not compile: {compiled.log.strip()[:500]}")

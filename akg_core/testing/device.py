"""Level `device`: kernels are judged and timed where they run, and the harness hides no cheat from the judge."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from akg_core.judge.candidate.session import kernel_payload
from akg_core.judge.records import Verdict
from akg_core.judge.timing.participant import KERNEL_JOB, Participant, Unusable
from akg_core.records import Artifact, TimingPlan
from akg_core.testing.contract import example_source, examples, fail
from akg_core.testing.subject import CHEATED, FOLDER, TASKS, Subject
from akg_core.testing.toolchain import require_compiler
from akg_core.worker.limits import Limits

CHEATS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("cheats/*.py"))}
SLEEPS = (0.02, 0.2)  # seconds, in turns
SLEEPER = f"""
import itertools
import time

from honest import ModelNew as Honest

PAUSES = itertools.cycle({SLEEPS})


class ModelNew(Honest):
    def forward(self, x):
        time.sleep(next(PAUSES))
        return super().forward(x)
"""


def said_of(text: str) -> dict[str, str]:
    """The fields at the end of a cheat's docstring: which verdicts are right, by which rule, judged by what."""
    return dict(re.findall(r"^(Verdict|Rule|Judged): *(.*)$", text.split('"""')[1], re.MULTILINE))


def require_device(subject: Subject, *, clock: bool = False) -> None:
    """Skip the test where kernels do not run, or have no time that means anything."""
    require_compiler(subject)
    found = subject.available
    if not found.can_run:
        pytest.skip(f"{found.reason} {found.cure}")
    if clock and found.simulated:
        pytest.skip(f"A simulated kernel has no time. {found.reason}")


def built(subject: Subject, task: str) -> Artifact:
    """The kernel of a task."""
    artifact = subject.compiled(task).artifact
    if artifact is None:
        pytest.fail("There is no kernel to run: it does not compile.", pytrace=False)
    return artifact


def must_be_correct(verdict: Verdict, what: str) -> None:
    """Fail unless a kernel that is honest was found right."""
    if not verdict.correct:
        fail(f"{what} is judged {verdict.status}: {verdict.reason}")


class OnDevice:
    """Tests of this level."""

    @pytest.mark.parametrize("task", TASKS)
    def test_a_kernel_is_judged_correct(self, subject: Subject, task: str) -> None:
        require_device(subject)
        must_be_correct(subject.verify(task, built(subject, task)), "The kernel that it emits")

    def test_the_examples_are_judged_correct(self, subject: Subject) -> None:
        require_device(subject)
        for example in examples(subject):
            task = subject.reference(example.reference)
            artifact = subject.compiled(task, example_source(subject, example)).artifact
            if artifact is None:
                fail(f"The example {example.title!r} does not compile.")
            else:
                must_be_correct(subject.verify(task, artifact), f"The example {example.title!r}")

    @pytest.mark.parametrize("cheat", CHEATS)
    def test_a_cheat_is_caught(self, subject: Subject, cheat: str) -> None:
        said = said_of(CHEATS[cheat])
        timed = "Judged" in said
        require_device(subject, clock=timed)
        artifact = subject.cheat(built(subject, CHEATED), CHEATS[cheat])
        status, why = self.judged(subject, artifact, timed)
        if status not in said["Verdict"].split("|") or said.get("Rule", "") not in why:
            due = " or ".join([said["Verdict"].replace("|", " or "), *filter(None, [said.get("Rule")])])
            fail(f"The cheat {cheat!r} is judged {status}{f' ({why})' * bool(why)}, and {due} is due.")

    def judged(self, subject: Subject, artifact: Artifact, timed: bool) -> tuple[str, str]:
        """What a cheat is found to be, by the verdict or by the timing, and why."""
        if timed:
            timing = subject.measure(CHEATED, artifact)
            return timing.status, timing.reason
        verdict = subject.verify(CHEATED, artifact)
        return verdict.status, verdict.rule or verdict.reason

    def test_a_kernel_is_timed(self, subject: Subject) -> None:
        require_device(subject, clock=True)
        found = subject.measure(CHEATED, built(subject, CHEATED))
        if found.status != "ok":
            fail(f"The time of the kernel that it emits is {found.status}: {found.reason}")

    def test_each_sample_is_a_call_of_its_own(self, subject: Subject) -> None:
        require_device(subject, clock=True)
        samples = self.sampled(subject, subject.cheat(built(subject, CHEATED), SLEEPER))
        if min(samples) < SLEEPS[0]:
            fail(f"A call that takes {SLEEPS[0]:g} s at least was timed as {min(samples):.3g} s.")
        if not min(samples) < sum(SLEEPS) / 2 < max(samples):
            fail(f"Calls that take {SLEEPS[0]:g} and {SLEEPS[1]:g} s in turns were timed as {samples}.")

    def sampled(self, subject: Subject, artifact: Artifact) -> tuple[float, ...]:
        """Four samples, as a timing takes them. Fails the test when there are none."""
        prepared, payload = subject.prepared(CHEATED), kernel_payload(subject.plugin, artifact, subject.target)
        folder: Path = subject.fresh()
        outside = not prepared.lends
        limits = Limits(confined=True, paused=outside, timed=outside, writable=(folder,))
        with subject.pool.session(limits, KERNEL_JOB) as session:
            sleeper = Participant("kernel", session, KERNEL_JOB, payload, prepared)
            plan = TimingPlan(warmup=1 if prepared.lends else 0, samples=4)
            sleeper.open(plan)
            try:
                if prepared.lends:
                    return sleeper.sample(plan)
                with prepared.fresh(plan.samples) as fresh:
                    return sleeper.turns(plan, fresh)[0]
            except Unusable as error:
                fail(f"akg_profile gives no samples: {error}")
                return ()

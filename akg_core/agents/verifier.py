"""Puts what agents wrote to the test, by the checker, compiler and judge of everything else.

What came out is said in words that a model can act on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from akg_core.agents.conductor import Outcome
from akg_core.agents.stopwatch import Stopwatch
from akg_core.errors import AkgError, SketchError
from akg_core.foreign import line_of
from akg_core.judge.records import Timing, Verdict
from akg_core.judge.reference.prepare import Prepared
from akg_core.judge.timing.measure import Baselines
from akg_core.pipeline.pipeline import Pipeline
from akg_core.records import Advice, Finding, KernelSource, Record, Task
from akg_core.stages import stages
from akg_core.stages.stages import Design
from akg_core.storage import write_whole

FILE = "judged.json"  # in a kernel's folder
_SAMPLING = 0.5  # seconds of samples of a kernel on its way
_SMALL = 1 << 14  # elements moved by one call, to which a task is made smaller for a sketch to be interpreted
_MOST_STEPS = 1 << 15  # operations on tiles, for a sketch that fits no smaller task
_FIXED = (
    "It checks, but was not run: its sizes are numbers, at which interpreting it takes too long. Name the dimensions "
    'of the program\'s tensors (In["f32", "M", "N"]) and use these names, so that it can be run at smaller sizes.'
)
_SHOWN = 4  # findings, or messages of a compiler
_VERDICTS: Mapping[str, Outcome] = {
    "correct": "correct",
    "incorrect": "incorrect",
    "cheating": "cheating",
    "crashed": "crashed",
    "timed out": "timed out",
}


class Judged(Record):
    """What came of a sketch or of a kernel: for a model in `feedback`, its kind for noticing repetition in `error`."""

    outcome: Outcome
    feedback: str = ""
    error: str = ""
    seconds: float | None = None
    speedup: float | None = None
    roofline: float | None = None


class Verifier:
    """Tests the kernels of one run, each in a folder of its own in `folder`. What was judged is not judged again.

    `earlier`: such a folder of a run that is repeated, whose findings are taken as they are. Attempts may use it from
    several threads, each with its own stopwatch; only one kernel is timed at a time.
    """

    def __init__(
        self, pipeline: Pipeline, prepared: Prepared, baselines: Baselines | None, folder: Path, earlier: Path | None
    ) -> None:
        self._pipeline, self._prepared, self._baselines = pipeline, prepared, baselines
        self._folder, self._earlier = folder, earlier
        self._clock = threading.Lock()
        self._small: Future[Task] | None = None
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}

    def smaller(self) -> Future[Task]:
        """The task at sizes at which interpreting is quick. Asked for early, it is there when a sketch is."""
        with self._lock:
            if self._small is None:
                pool, request = self._pipeline.pool, self._pipeline.request
                self._small = pool.background(stages.capture, pool, request, _SMALL)
            return self._small

    def sketch(self, text: str, watch: Stopwatch) -> Judged:
        """Parse, check, and run a sketch against the reference at small sizes."""
        name = self._name({"sketch.py": text})
        return self._once(name, lambda: self._sketched(text, self._folder / name, watch))

    def kernel(self, files: Mapping[str, str], watch: Stopwatch) -> Judged:
        """Read, compile, judge and time a kernel."""
        name = self._name(files)
        return self._once(name, lambda: self._judged(files, self._folder / name, watch))

    def _once(self, name: str, judge: Callable[[], Judged]) -> Judged:
        """What was found, or is found now; attempts that come with the same at once wait for the first of them."""
        with self._lock:
            turn = self._turns.setdefault(name, threading.Lock())
        with turn:
            return self._known(name) or self._keep(name, judge())

    def _name(self, files: Mapping[str, str]) -> str:
        """A name for all that decides what is found of some files: these, and what they are judged by."""
        request = self._pipeline.request
        by = [request.plugin, str(self._pipeline.target), self._prepared.task.source, request.seed, request.time_limit]
        return digest({**files, "": json.dumps(by)})

    def _known(self, name: str) -> Judged | None:
        """What was found before, in this run or in the earlier one that is repeated."""
        for folder in filter(None, (self._folder, self._earlier)):
            with contextlib.suppress(OSError, ValidationError):
                return Judged.model_validate_json((folder / name / FILE).read_text(encoding="utf-8"))
        return None

    def _keep(self, name: str, found: Judged) -> Judged:
        write_whole(self._folder / name / FILE, found)
        return found

    def _sketched(self, text: str, folder: Path, watch: Stopwatch) -> Judged:
        pipeline = self._pipeline
        write_whole(folder / "sketch.py", text)
        request = dataclasses.replace(pipeline.request, sketch=folder / "sketch.py")
        try:
            designed = stages.design(pipeline.pool, request, self._prepared.task, pipeline.available.traits).designs[0]
        except SketchError as error:
            said = [_finding(found, text) for found in error.findings[:_SHOWN]] or [str(error)]
            return Judged(outcome="refused", feedback="\n".join(said), error=_kind(said[0]))
        try:
            task = self._to_interpret(designed, text)
            if task is None:
                return Judged(outcome="refused", feedback=_FIXED, error=_FIXED)
            with watch.during("judge"):
                found = stages.trial(pipeline.pool, task, designed, pipeline.request.seed)
        except AkgError as error:
            feedback = f"It checks, but running it at small sizes fails: {error}"
            return Judged(outcome="incorrect", feedback=feedback, error=_kind(str(error)))
        differing = [_difference(number, each) for number, each in enumerate(found["outputs"]) if not each["agrees"]]
        if differing:
            return Judged(outcome="incorrect", feedback="\n".join(differing), error=_kind(differing[0]))
        return Judged(outcome="accepted")

    def _to_interpret(self, design: Design, text: str) -> Task | None:
        """The task at small sizes, or at its own where a sketch fits no others; None where that is too much work."""
        from akg_core.sketch.check.interface import require_fit
        from akg_core.sketch.parse import parse

        small = self.smaller().result()
        try:
            require_fit(parse(text, design.sketch.origin), small)
        except SketchError:
            (steps,) = stages.steps(self._pipeline.pool, design, design.default, [design.sketch.symbols])
            return self._prepared.task if steps <= _MOST_STEPS else None
        return small

    def _judged(self, files: Mapping[str, str], folder: Path, watch: Stopwatch) -> Judged:
        pipeline = self._pipeline.apart(folder)
        try:
            source = KernelSource(plugin=pipeline.request.plugin, target=pipeline.target, files=dict(files))
        except ValidationError as error:
            problem = error.errors()[0]["msg"]
            return Judged(outcome="refused", feedback=problem, error=_kind(problem))
        pipeline.folder.write_source(source, self._prepared.task.source)
        built = stages.check_then_build(pipeline.pool, pipeline.request, source, pipeline.folder.kernel)
        if (compiled := built.compiled) is None:
            errors = [found for found in built.findings if found.severity == "error"]
            feedback = "\n".join(_finding(found, "") for found in errors[:_SHOWN])
            return Judged(outcome="refused", feedback=feedback, error=_kind(errors[0].message))
        watch.count("compile", compiled.seconds)
        pipeline.folder.write("build.log", compiled.log)
        if compiled.artifact is None:
            said = [_advice(each, files) for each in built.advice[:_SHOWN]] or [_first_error(compiled.log)]
            return Judged(outcome="build failed", feedback="\n".join(said), error=_kind(said[0]))
        with watch.during("judge"):
            verdict = pipeline.verify(self._prepared, compiled.artifact)
        if not verdict.correct:
            outcome = _VERDICTS.get(verdict.status, "crashed")
            feedback = "\n".join([wrong(verdict), *self._advice_on(verdict)])
            return Judged(outcome=outcome, feedback=feedback, error=f"{outcome}: {_kind(verdict.reason)}")
        if pipeline.simulated:
            return Judged(outcome="correct", feedback="It is correct by simulation; nothing can be timed here.")
        with watch.during("judge"), self._clock:
            return _timed(pipeline.time(self._prepared, compiled.artifact, self._baselines, _SAMPLING))

    def _advice_on(self, verdict: Verdict) -> list[str]:
        """What the plugin advises where a kernel did not run to its end."""
        if verdict.status != "crashed" and "it raised" not in verdict.reason:
            return []
        said = f"{verdict.log}\n{verdict.reason}"
        return [each.advice for each in stages.explain(self._pipeline.pool, self._pipeline.request, said)[:1]]


def _difference(number: int, output: Mapping[str, Any]) -> str:
    """How an output of an interpreted sketch differs from the reference's."""
    due = output["reference"]
    if output["error"] is None:
        return f"Output {number} is {output['dtype']} {output['shape']} where {due} is due."
    return f"Output {number}, at small sizes, is off by {output['error']:.4g} at {output['where']}, where {due} is due."


def digest(files: Mapping[str, str]) -> str:
    """A name for files with their contents."""
    return hashlib.sha256(json.dumps(dict(files), sort_keys=True).encode()).hexdigest()[:16]


def wrong(verdict: Verdict) -> str:
    """What a verdict says, for whoever must mend the kernel."""
    failed = [case.name for case in verdict.cases if not case.ok]
    passed = [case.name for case in verdict.cases if case.ok]
    said = [verdict.reason, *verdict.hints]
    if failed and passed:
        said.append(f"Right in the cases {', '.join(passed)}; wrong in {', '.join(failed)}.")
    elif failed:
        said.append("It is wrong in every case.")
    return "\n".join(said)


def _timed(timing: Timing) -> Judged:
    """What the clock says of a correct kernel."""
    if timing.status != "ok":
        outcome: Outcome = "incorrect" if timing.status == "incorrect" else "cheating"
        return Judged(outcome=outcome, feedback=timing.reason, error=f"{timing.status}: {_kind(timing.reason)}")
    seconds = timing.median("kernel")
    speedup = next((each.ratio for each in timing.speedups if each.over == "eager"), None)
    said = [f"It is correct and takes {(seconds or 0) * 1e3:.4g} ms."]
    if speedup is not None:
        said.append(f"Eager PyTorch takes {speedup:.2f} times as long.")
    roofline = None
    if timing.floor and seconds:
        roofline = timing.floor.seconds / seconds
        what = "moving the bytes" if timing.floor.limited_by == "memory" else "the arithmetic"
        said.append(
            f"On this chip {what} takes at least {timing.floor.seconds * 1e3:.4g} ms: it reaches {roofline:.0%}."
        )
    return Judged(outcome="correct", feedback=" ".join(said), seconds=seconds, speedup=speedup, roofline=roofline)


def _finding(found: Finding, text: str) -> str:
    """A finding with the line that it is about."""
    line = line_of(text, found.line)
    at = f" Line {found.line} is `{line}`." if line else ""
    return f"{found.code} {found.message}{at} {found.suggestion}".strip()


def _advice(each: Advice, files: Mapping[str, str]) -> str:
    """A compiler's message as the plugin explains it, with the line that it is about where one file has it."""
    kernels = [text for name, text in sorted(files.items()) if name != "model_new.py"] or [*files.values()]
    line = line_of(kernels[0], each.source_line)
    at = f" Line {each.source_line} is `{line}`." if line else ""
    return f"{each.problem.rstrip('.')}.{at} {each.advice}".strip()


def _first_error(log: str) -> str:
    """The line of a build's log that says most."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "It does not compile.")


def _kind(text: str) -> str:
    """A message without its numbers and names in quotes: what two faults of one kind share."""
    return re.sub(r"`[^`]*`|'[^']*'|[-+]?\d[\d.e+-]*", "#", text)[:200]

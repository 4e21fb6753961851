"""One attempt at a task: designer, coder and verifier in turns, as the conductor decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from akg_core.agents import answers, prompts
from akg_core.agents.answers import Unreadable
from akg_core.agents.client import Client
from akg_core.agents.conductor import Action, Actor, Decision, Step, decide
from akg_core.agents.knowledge import Knowledge
from akg_core.agents.prompts import Attempted, Prompt
from akg_core.agents.records import Answer
from akg_core.agents.settings import Level
from akg_core.agents.stopwatch import Stopwatch
from akg_core.agents.trace import Trace
from akg_core.agents.verifier import Judged, Verifier, digest
from akg_core.records import Task

_ENTRY = "model_new.py"
_STEPS = 100  # that the samples of one attempt are numbered by


@dataclass(frozen=True)
class Desk:
    """What all attempts at a task share. `sketches`, `conducted`: whether there is a designer, a deciding model."""

    task: Task
    client: Client
    verifier: Verifier
    known: Knowledge
    trace: Trace
    sketches: bool = True
    conducted: bool = True


@dataclass(frozen=True)
class Kernel:
    """A correct kernel: its files, the sketch it was written from, and what was measured."""

    files: Mapping[str, str]
    sketch: str
    judged: Judged

    @property
    def seconds(self) -> float:
        """Of one call; infinite where nothing can be timed."""
        return float("inf") if self.judged.seconds is None else self.judged.seconds


@dataclass
class Attempt:
    """An attempt, by its number from 0. `base`: a correct kernel to start from; `tell` is called at every change."""

    number: int
    desk: Desk
    base: Kernel | None = None
    tell: Callable[[], None] = lambda: None
    steps: list[Step] = field(default_factory=list)
    best: Kernel | None = None
    doing: str = ""
    end: str = ""
    _watch: Stopwatch = field(default_factory=Stopwatch)
    _sketch: str = ""  # the last one
    _accepted: str = ""
    _last: Attempted | None = None

    def go(self) -> None:
        """Act until the conductor accepts or gives up. Raises what the client raises; `best` is kept all the same."""
        self._watch = Stopwatch()
        if self.base:
            self._take(self.base.files, self.base.judged, "code", self.base.sketch)
        while True:
            ask = self._ask if self.desk.conducted else None
            decision = decide(self.steps, sketches=self.desk.sketches, ask=ask)
            self.desk.trace.add(self.number, decided=decision)
            if decision.action in ("accept", "give up"):
                self._finish(decision.reason)
                return
            if decision.action in ("design", "redesign"):
                self._design(decision)
            else:
                self._code(decision)

    def _finish(self, why: str) -> None:
        self.end, self.doing = why, ""
        self.tell()

    def _design(self, decision: Decision) -> None:
        last = self.steps[-1] if self.steps else None
        known = last.feedback if last else ""
        prompt = prompts.designer(self.desk.task, self.desk.known, self._sketch, known, decision.reason)
        answer = self._answer("designer", "design", decision.action, prompt)
        try:
            self._sketch = answers.sketch(answer)
        except Unreadable as problem:
            self._record("designer", decision.action, _unread(problem))
            return
        self._show("verifier: sketch")
        judged = self.desk.verifier.sketch(self._sketch, self._watch)
        self._accepted = self._sketch if judged.outcome == "accepted" else ""
        self._record("designer", decision.action, judged, {"sketch.py": self._sketch})

    def _code(self, decision: Decision) -> None:
        last = self._last
        if decision.action == "faster" and self.best:
            last = Attempted(self.best.files, self.best.judged.feedback, correct=True)
        elif decision.action == "code":
            last = None
        task, known = self.desk.task, self.desk.known
        prompt = prompts.coder(task, known, decision.action, decision.reason, self._accepted, last)
        answer = self._answer("coder", "code", decision.action, prompt)
        before = last.files if last and decision.action != "rewrite" else {}
        try:
            files = answers.files(answer, before, _ENTRY, known.plugin.source_suffix.lstrip("."))
        except Unreadable as problem:
            self._last = Attempted(before, str(problem))
            self._record("coder", decision.action, _unread(problem))
            return
        self._show("verifier: kernel")
        self._take(files, self.desk.verifier.kernel(files, self._watch), decision.action, self._accepted)

    def _take(self, files: Mapping[str, str], judged: Judged, action: Action, sketch: str) -> None:
        """Note what came of some files."""
        self._last = Attempted(files, judged.feedback, correct=judged.outcome == "correct")
        if judged.outcome == "correct":
            found = Kernel(files, sketch, judged)
            self.best = min(filter(None, (self.best, found)), key=lambda kernel: kernel.seconds)
        self._record("coder", action, judged, files)

    def _ask(self, actions: Sequence[Action], steps: Sequence[Step]) -> Decision | None:
        prompt = prompts.decider(self.desk.task, self.desk.known, actions, steps)
        answer = self._answer("conductor", "decide", steps[-1].action, prompt)
        try:
            said = answers.choice(answer, actions)
        except Unreadable:
            return None
        action = next(action for action in actions if action == said.action)
        return Decision(action=action, reason=said.reason or "The model says so.", by="model")

    def _answer(self, actor: str, level: Level, action: Action, prompt: Prompt) -> Answer:
        self._show(f"{actor}: {'decide' if level == 'decide' else action}")
        sample = self.number * _STEPS + len(self.steps)
        question = self.desk.client.question(level, prompt.messages, sample)
        with self._watch.during("model"):
            answer = self.desk.client.ask(question)
        self.desk.trace.asked(self.number, actor, action, question, answer, prompt.chosen)
        return answer

    def _record(self, actor: Actor, action: Action, judged: Judged, files: Mapping[str, str] | None = None) -> None:
        """Note a step: who wrote some files (None: nothing that can be read), and what came of them."""
        found, name = judged.model_dump(exclude={"speedup"}), digest(files) if files else ""
        step = Step(actor=actor, action=action, digest=name, **found)
        self.steps.append(step)
        self.desk.trace.add(self.number, done=step, spent=self._watch.lap())
        self.tell()

    def _show(self, doing: str) -> None:
        self.doing = doing
        self.tell()


def _unread(problem: Unreadable) -> Judged:
    return Judged(outcome="unreadable", feedback=str(problem), error=str(problem))

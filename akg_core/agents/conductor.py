"""Decides from what happened who acts next, and says why.

Rules come first. Where they allow several ways, a model may be asked; what it answers is taken only if it is one of
them. Every chain of decisions ends: each kind of repair is tried a few times, and what repeats itself counts as failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Literal

from akg_core.record import Sentence, Shown
from akg_core.records import Record

Actor = Literal["designer", "coder"]
Action = Literal["design", "code", "fix", "rewrite", "redesign", "faster", "accept", "give up"]
Outcome = Literal[
    "accepted",  # a sketch that parses, checks, and computes what the reference does
    "refused",  # a sketch or a source that reading it finds wrong
    "unreadable",
    "build failed",
    "incorrect",
    "crashed",
    "timed out",
    "cheating",
    "correct",
]

DESIGNS = 3  # sketches that are asked for before code is written without one
_FIXES = 3  # of one text, before it is written anew
_REWRITES = 2  # of one design, before that is given up
_REDESIGNS = 1
_UNREADABLE = 3  # answers in a row
_CHEATING = 2
_STALE = 2  # correct kernels in a row that are no faster
_FASTER = 0.98  # of the best time so far, to count as faster
_NEAR = 0.9  # of the roofline, where nothing is left to gain


class Step(Record):
    """What an agent did and what came of it.

    `digest` names what it wrote, `error` the kind of its fault ("" for none). `seconds`: of a correct kernel;
    `roofline`: the share of what the chip can do at most that it reached.
    """

    actor: Actor
    action: Action
    outcome: Outcome
    digest: str = ""
    error: Shown = ""
    feedback: Shown = ""
    seconds: float | None = None
    roofline: float | None = None


class Decision(Record):
    """What happens next, why, and whether rules or a model said so."""

    action: Action
    reason: Sentence
    by: Literal["rules", "model"] = "rules"


Ask = Callable[[Sequence[Action], Sequence[Step]], "Decision | None"]
"""Asks a model which of some actions to take; None when it gives no usable answer."""


def decide(steps: Sequence[Step], *, sketches: bool = True, ask: Ask | None = None) -> Decision:
    """What to do after `steps`. `sketches`: whether a sketch is designed before code is written."""
    if not steps:
        return _do("design", "A sketch comes first.") if sketches else _do("code", "Code is written without a sketch.")
    last = steps[-1]
    if last.actor == "designer":
        return _after_sketch(steps)
    if last.outcome == "correct":
        return _after_success(steps)
    return _after_failure(steps, sketches, ask)


def _after_sketch(steps: Sequence[Step]) -> Decision:
    if steps[-1].outcome == "accepted":
        return _do("code", "The sketch computes what the reference does.")
    tried = len([*takewhile(lambda step: step.actor == "designer", reversed(steps))])
    if tried < DESIGNS and not _repeats(steps):
        return _do("redesign", f"The sketch was {steps[-1].outcome}; its faults are known now.")
    why = "repeats itself" if _repeats(steps) else f"failed {tried} times"
    return _do("code", f"The design {why}; code is written from the reference alone.")


def _after_success(steps: Sequence[Step]) -> Decision:
    times = [step.seconds for step in steps if step.outcome == "correct" and step.seconds is not None]
    if not times:
        return _do("accept", "The kernel is correct, and nothing can be timed here.")
    if (steps[-1].roofline or 0) >= _NEAR:
        return _do("accept", f"It runs at {steps[-1].roofline:.0%} of what the chip can do.")
    stale = 0
    for number in range(len(times) - 1, 0, -1):
        if times[number] < _FASTER * min(times[:number]):
            break
        stale += 1
    if stale >= _STALE:
        return _do("accept", f"The last {stale} correct kernels were no faster than the best before them.")
    return _do("faster", "The kernel is correct; it may be faster.")


def _after_failure(steps: Sequence[Step], sketches: bool, ask: Ask | None) -> Decision:
    last = steps[-1]
    if any(step.outcome == "correct" for step in steps):
        failed = len([*takewhile(lambda step: step.outcome != "correct", reversed(steps))])
        if failed >= _FIXES or _repeats(steps):
            return _do("accept", "The best correct kernel stands; attempts to make it faster fail.")
        return _do("fix", f"The faster version was {last.outcome}.")
    if last.outcome == "unreadable":
        unreadable = len([*takewhile(lambda step: step.outcome == "unreadable", reversed(steps))])
        if unreadable >= _UNREADABLE:
            return _do("give up", f"{unreadable} answers in a row cannot be read.")
        return _do("fix", "The answer cannot be read; it is told how to answer.")
    if last.outcome == "cheating":
        caught = sum(step.outcome == "cheating" for step in steps)
        if caught >= _CHEATING:
            return _do("give up", f"{caught} kernels did not compute by themselves.")
        return _do("rewrite", "The kernel does not compute by itself; the rule is told.")
    text = _current(steps, ("code", "rewrite"))
    fixes = sum(step.action == "fix" for step in text)
    if fixes < _FIXES and not _repeats(steps):
        if ask and fixes == _FIXES - 1 and last.outcome != "build failed":
            said = ask(("fix", "rewrite", *(("redesign",) if sketches else ())), steps)
            if said and _has_room(said.action, steps):
                return said
        return _do("fix", f"The kernel was {last.outcome}; what is wrong is told.")
    why = "The same fault comes again" if _repeats(steps) else f"{fixes} repairs did not help"
    if _has_room("rewrite", steps):
        return _do("rewrite", f"{why}; the code is written anew.")
    if sketches and _has_room("redesign", steps):
        return _do("redesign", f"{why}, in code written anew too; the design may be at fault.")
    return _do("give up", f"{why}, and nothing is left to try.")


def _has_room(action: Action, steps: Sequence[Step]) -> bool:
    """Whether a kind of repair may be tried once more."""
    if action == "rewrite":
        return sum(step.action == "rewrite" for step in _current(steps, ("code",))) < _REWRITES
    if action == "redesign":
        codes = sum(step.action == "code" for step in steps)
        return codes <= _REDESIGNS
    return True


def _current(steps: Sequence[Step], begins: Sequence[Action]) -> Sequence[Step]:
    """The steps since the last of these actions, that one included."""
    starts = [number for number, step in enumerate(steps) if step.action in begins]
    return steps[starts[-1] :] if starts else steps


def _repeats(steps: Sequence[Step]) -> bool:
    """Whether the last step wrote what was written before, or has the fault of the two before it."""
    *earlier, last = steps
    same = any(step.digest == last.digest for step in earlier) if last.digest else False
    faults = [step.error for step in _current(steps, ("design", "redesign", "code", "rewrite"))][-3:]
    return same or (len(faults) == 3 and len({*faults}) == 1 and bool(last.error))


def _do(action: Action, reason: str) -> Decision:
    return Decision(action=action, reason=reason)

"""What to do about a kernel that was judged to be cheating, mostly by somebody who did not know what is asked."""

from __future__ import annotations

from akg_core.judge.records import Verdict
from akg_core.judge.source.rules import COPIES_ONLY

_BY_OTHERS = ("library call", "another library", "uses another library", "runs machine code of a library", COPIES_ONLY)
_RULES = 'docs/verification.md, under "What a kernel must not do"'


def cure(verdict: Verdict, plugin: str) -> str:
    """A sentence or two; "" where the verdict is no "cheating"."""
    if verdict.status != "cheating":
        return ""
    if not verdict.rule.startswith(_BY_OTHERS):
        return f"The rules are in {_RULES}."
    asked = (
        "A kernel computes by itself, in the plugin's language; its Python may only check, allocate, view and launch."
    )
    return f"{asked} `akg-core docs search --plugin {plugin} example` shows how; the rules are in {_RULES}."

"""Text of others, what kernels print and raise, what compilers and models say, as it may be kept and shown.

Records take it in by `Shown`, or `Sentence` where one line is meant (`akg_core.record`), and worker sessions by the
same functions: from there on no character of it moves a cursor, hides or turns around what stands beside it, or ends a
line of its own.
"""

from __future__ import annotations

import re
from typing import Any

_LINE = 4000  # characters of a line that are kept, and of what is one line
_MARK = 16  # about what the mark of a cut takes, which is not cut itself
_KEPT = "\t\N{NO-BREAK SPACE}"
_PARTS = 64  # of a report's lists and dicts, in each other


def shown(text: str) -> str:
    """The text with characters that steer a display written as escapes, and very long lines cut. Lines stay lines."""
    return "\n".join(_line(line) for line in text.replace("\r\n", "\n").split("\n"))


def sentence(text: str) -> str:
    """The text as one line."""
    return _line(" ".join(re.split(r"[\t\n\r\f\v]+", text[: 4 * _LINE].strip())))


def sentences(value: Any, depth: int = 0) -> Any:
    """The same JSON with every string in it a sentence. Raises ValueError for one that is too deep."""
    if depth > _PARTS:
        raise ValueError("a report is nested too deep")
    if isinstance(value, str):
        return sentence(value)
    if isinstance(value, list):
        return [sentences(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {sentence(key): sentences(item, depth + 1) for key, item in value.items()}
    return value


def line_of(text: str, number: int) -> str:
    """A line of a text, 1-based, without the blanks around it; "" where there is none."""
    return next((line.strip() for n, line in enumerate(text.splitlines(), 1) if n == number), "")


def fenced(text: str, language: str = "") -> str:
    """A text as a block of Markdown that no line of it can end."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"^\s*(`{3,})", text, re.MULTILINE)), 3)
    return f"{fence}{language}\n{text}\n{fence}"


def _line(line: str) -> str:
    shown, left_out = line[:_LINE], len(line) - _LINE
    if not shown.isprintable():
        shown = "".join(sign if sign.isprintable() or sign in _KEPT else _escaped(sign) for sign in shown)
    if left_out > _MARK or len(shown) > _LINE + _MARK:
        return f"{shown[:_LINE]}… (cut)"
    return shown + line[_LINE:]


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")

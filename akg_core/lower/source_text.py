"""Generated text, which emitters share: nested lines that remember the line of the sketch they are for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

INDENT = "    "


@dataclass(frozen=True, slots=True)
class Line:
    """A line of generated text, and the line of the sketch that it is for: 1-based, 0 for none."""

    text: str
    sketch: int = 0


@dataclass(eq=False, slots=True)
class Lines:
    """Lines and blocks of them, in order; an `indented` block is the body of the line before it."""

    items: list[Line | Lines] = field(default_factory=list)
    indented: bool = False

    def add(self, text: str, sketch: int = 0) -> None:
        self.items.append(Line(text, sketch))

    def nest(self) -> Lines:
        """A new indented block at the end."""
        return self._append(Lines(indented=True))

    def later(self) -> Lines:
        """A place here to which lines can still be added when code after it is written."""
        return self._append(Lines())

    def before_open_block(self, text: str, sketch: int = 0) -> None:
        """Add a line at the end, or before a block that is still open there and the line that opens it."""
        last = self.items[-1] if self.items else None
        is_open = isinstance(last, Lines) and last.indented
        self.items.insert(len(self.items) - 2 if is_open else len(self.items), Line(text, sketch))

    def flat(self, depth: int = 0, nothing: str = "") -> list[Line]:
        """Every line, indented from `depth` on; `nothing` is what the language writes for a body without lines."""
        found: list[Line] = []
        for item in self.items:
            if isinstance(item, Line):
                found.append(Line(INDENT * depth + item.text if item.text else "", item.sketch))
                continue
            inner = item.flat(depth + item.indented, nothing)
            if item.indented and nothing and not inner:
                inner = [Line(INDENT * (depth + 1) + nothing)]
            found += inner
        return found

    def _append(self, inner: Lines) -> Lines:
        self.items.append(inner)
        return inner


def annotated(lines: Iterable[Line], comment: str, width: int = 96) -> tuple[str, dict[int, int]]:
    """The text, and the map from its lines to lines of the sketch, both 1-based.

    Where the sketch's line changes it stands at the right, from column `width` on, behind `comment`, which is what
    starts a comment in the language.
    """
    text, origin, last = [], {}, 0
    for number, line in enumerate(lines, 1):
        shown = line.text
        if line.sketch:
            origin[number] = line.sketch
            if line.sketch != last:
                shown = f"{shown:<{width}}  {comment} line {line.sketch}"
            last = line.sketch
        text.append(shown)
    return "\n".join(text) + "\n", origin

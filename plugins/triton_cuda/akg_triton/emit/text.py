"""Generated Python: nested lines that remember which line of the sketch they come from."""

from __future__ import annotations

from dataclasses import dataclass, field

INDENT = "    "


@dataclass(frozen=True, slots=True)
class Line:
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
        """An indented block at the end."""
        return self._append(Lines(indented=True))

    def later(self) -> Lines:
        """A place here to which lines can still be added when code after it is written."""
        return self._append(Lines())

    def flat(self, depth: int = 0) -> list[Line]:
        """Every line, indented; a body without lines is `pass`."""
        found: list[Line] = []
        for item in self.items:
            if isinstance(item, Line):
                found.append(Line(INDENT * depth + item.text if item.text else "", item.sketch))
            else:
                inner = item.flat(depth + item.indented)
                found += inner or ([Line(INDENT * (depth + 1) + "pass")] if item.indented else [])
        return found

    def _append(self, inner: Lines) -> Lines:
        self.items.append(inner)
        return inner


def annotated(lines: list[Line], width: int = 96) -> tuple[str, dict[int, int]]:
    """The text, a comment where the sketch's line changes, and the map from text line to sketch line, both 1-based."""
    text, origin, last = [], {}, 0
    for number, line in enumerate(lines, 1):
        shown = line.text
        if line.sketch:
            origin[number] = line.sketch
            if line.sketch != last:
                shown = f"{shown:<{width}}  # line {line.sketch}"
            last = line.sketch
        text.append(shown)
    return "\n".join(text) + "\n", origin

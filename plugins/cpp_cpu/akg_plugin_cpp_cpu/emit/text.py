"""Generated text: nested lines that remember which line of the sketch they come from."""

from __future__ import annotations

from dataclasses import dataclass, field

INDENT = "    "


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    sketch: int = 0


@dataclass(eq=False, slots=True)
class Lines:
    """Lines and nested blocks of them, in order. A `level` block is not indented: a place to add lines later."""

    items: list[Line | Lines] = field(default_factory=list)
    level: bool = False

    def add(self, text: str, sketch: int = 0) -> None:
        self.items.append(Line(text, sketch))

    def nest(self) -> Lines:
        """A new indented block at the end."""
        inner = Lines()
        self.items.append(inner)
        return inner

    def later(self) -> Lines:
        """A place here to which lines can still be added when code after it is written."""
        inner = Lines(level=True)
        self.items.append(inner)
        return inner

    @property
    def is_open(self) -> bool:
        """Whether an inner block is being written: nothing follows it yet, not even its closing bracket."""
        return bool(self.items) and isinstance(self.items[-1], Lines) and not self.items[-1].level

    def before_last(self, text: str, sketch: int = 0) -> None:
        """Put a line before what encloses the innermost block: the line that opens the block, and the block."""
        assert self.is_open and len(self.items) >= 2
        self.items.insert(len(self.items) - 2, Line(text, sketch))

    def flat(self, depth: int = 0) -> list[Line]:
        """Every line, indented."""
        found: list[Line] = []
        for item in self.items:
            if isinstance(item, Line):
                found.append(Line(INDENT * depth + item.text if item.text else "", item.sketch))
            else:
                found += item.flat(depth if item.level else depth + 1)
        return found


def annotated(lines: list[Line], width: int = 96) -> tuple[str, dict[int, int]]:
    """The text, a comment where the sketch's line changes, and the map from text line to sketch line, both 1-based."""
    text, origin, last = [], {}, 0
    for number, line in enumerate(lines, 1):
        shown = line.text
        if line.sketch:
            origin[number] = line.sketch
            if line.sketch != last:
                shown = f"{shown:<{width}}  // line {line.sketch}"
            last = line.sketch
        text.append(shown)
    return "\n".join(text) + "\n", origin

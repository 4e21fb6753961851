"""The designs of a task, each made when somebody asks for it: most runs need the first alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext

from akg_core.errors import AkgError, PluginError
from akg_core.spell import count_of
from akg_core.stages.progress import StageNote
from akg_core.stages.stages import Candidate, Design, Designed
from akg_core.worker.usage import cores

Stage = Callable[[], AbstractContextManager[StageNote]]


class Variants:
    """Different designs in the order of the designer's variants, the best guess first; designed as they are iterated.

    `design` makes the variant of a number. What goes wrong with the first is raised; a later one that cannot be made is
    left out, and `tell` is told why. `stage` is what somebody watches while variants are being designed.
    """

    def __init__(
        self,
        design: Callable[[int], Designed],
        stage: Stage = lambda: nullcontext(StageNote(lambda text: None)),
        tell: Callable[[str], None] = lambda said: None,
    ) -> None:
        self._design, self._stage, self._tell = design, stage, tell
        self._known: dict[str, Design] = {}  # by the sketch's text
        self._next, self._of = 0, 1

    def __iter__(self) -> Iterator[Design]:
        place = 0
        while place < len(self._known) or self._extended():
            if place < len(self._known):
                yield [*self._known.values()][place]
                place += 1

    @property
    def first(self) -> Design:
        """The best guess. Raises PluginError when the plugin's views of the sketches are none."""
        if (found := next(iter(self), None)) is None:
            raise PluginError(
                "The plugin's akg_refine_sketch leaves no sketch.", "Have it give at least one view of each."
            )
        return found

    @property
    def exhausted(self) -> bool:
        """Whether no further one can be designed."""
        return self._next >= self._of

    def all(self) -> tuple[Design, ...]:
        """Every one; those that nobody asked for yet are designed side by side."""
        if not self._next:
            self._extended()
        if not self.exhausted:
            with self._stage() as note, ThreadPoolExecutor(cores()) as designers:
                for found in designers.map(self._tried, range(self._next, self._of)):
                    self._add(found)
                known = [self._said(design) for design in self._known.values()]
                note.text = f"{known[0]}, the first of {len(known)} variants" if known else "no variant"
        return tuple(self._known.values())

    def _extended(self) -> bool:
        """Design variants until one leads to something new; False when none does."""
        if self.exhausted:
            return False
        with self._stage() as note:
            before = len(self._known)
            while len(self._known) == before and not self.exhausted:
                self._add(self._tried(self._next))
            new = [*self._known.values()][before:]
            which = f", variant {before + 1}" if before else ""
            note.text = f"{self._said(new[0])}{which}" if new else "no further variant"
        return bool(new)

    def _tried(self, number: int) -> Designed | AkgError:
        try:
            return self._design(number)
        except AkgError as error:
            if number == 0:
                raise
            return error

    def _add(self, found: Designed | AkgError) -> None:
        self._next += 1
        if isinstance(found, AkgError):
            self._tell(f"The variant {self._next - 1} could not be designed: {found.message}")
            return
        self._of = found.of
        for design in found.designs:
            self._known.setdefault(design.sketch.text, design)

    @staticmethod
    def _said(design: Design) -> str:
        return count_of(design.sketch.text.count("@kernel"), "kernel")


class Defaults:
    """Each of some designs under the schedule that it would use by itself, as far as somebody asks for it."""

    def __init__(self, designs: Iterable[Design]) -> None:
        self.designs = designs

    def __iter__(self) -> Iterator[Candidate]:
        return (Candidate(design, design.default) for design in self.designs)

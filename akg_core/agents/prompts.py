"""What each agent is told: templates filled with the task, what is known, and as much of the documents as has room."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from akg_core.agents.conductor import Action, Step
from akg_core.agents.embeddings import fused
from akg_core.agents.knowledge import Knowledge
from akg_core.agents.library import KernelEntry
from akg_core.agents.records import Message
from akg_core.agents.sections import Section, sections
from akg_core.agents.similarity import structural_likeness
from akg_core.foreign import fenced, sentence
from akg_core.records import Graph, PageKind, Task
from akg_core.task.graph import counts

T = TypeVar("T")

VERSION = "2"
"""Of the templates. It is among what a prompt was made from, so that a trace says which were used."""

_FOLDER = Path(__file__).parent
_LETTERS_A_TOKEN = 4
_EXAMPLES = 2  # verified kernels that a prompt shows at most
_MEANINGS: Mapping[Action, str] = {
    "fix": "the coder repairs the last version",
    "rewrite": "the coder writes the code anew from the same sketch",
    "redesign": "the designer makes another sketch",
}
_WISHES: Mapping[Action, str] = {
    "code": "Write the kernels.",
    "fix": "Repair it. Change what is wrong and leave the rest.",
    "rewrite": "Earlier versions did not come right. Write the code anew, in a plain way that is easy to get right.",
    "faster": "Make it faster and keep it correct. Say in one sentence what limits it now, then give the files.",
}


@dataclass(frozen=True)
class Prompt:
    """Messages, and the names of what they were made from: templates, sections of documents, examples."""

    messages: tuple[Message, ...]
    chosen: tuple[str, ...]

    @property
    def tokens(self) -> int:
        """About how many tokens it has."""
        return sum(len(message.content) for message in self.messages) // _LETTERS_A_TOKEN


@dataclass(frozen=True)
class Attempted:
    """The last or best version of a kernel: its files, what is known of it, and whether it is correct."""

    files: Mapping[str, str]
    feedback: str
    correct: bool = False


def designer(task: Task, known: Knowledge, last: str = "", feedback: str = "", reason: str = "") -> Prompt:
    """What the designer is told; with `last`, what is wrong with its last sketch."""
    chip = f"{known.target}"
    head = _render(
        "designer.md",
        chip=chip,
        dsl=known.plugin.dsl,
        added=known.page("designer").strip(),
        hardware=known.page("hardware").strip(),
        language=language().strip(),
    )
    sketches = [(entry.name, entry.sketch) for entry in known.kernels if entry.sketch]
    values = {
        "reference": task.source.strip(),
        "interface": interface(task),
        "last": last.strip(),
        "feedback": feedback,
        "reason": reason,
    }
    room = known.tokens - _tokens(head) - _tokens(_render("designer_task.md", examples=[], **values))
    kept = _fit(sketches[:_EXAMPLES], room)
    asked = _render("designer_task.md", examples=[text for _, text in kept], **values)
    pages = [f"docs/{kind}" for kind in ("designer", "hardware") if known.page(kind)]
    return Prompt(_messages(head, asked), (_named("designer.md"), *pages, *(name for name, _ in kept)))


def coder(
    task: Task, known: Knowledge, action: Action, reason: str, sketch: str = "", last: Attempted | None = None
) -> Prompt:
    """What the coder is told: to write, repair, rewrite or speed up a kernel."""
    wish = _WISHES[action]
    values = {
        "reference": task.source.strip(),
        "interface": interface(task),
        "sketch": sketch.strip(),
        "files": sorted(last.files.items()) if last and action != "rewrite" else [],
        "best": bool(last and last.correct),
        "feedback": last.feedback if last else "",
        "wish": f"{reason} {wish}",
        "origin": known.origin,
        "originals": sorted(known.origin.files.items()) if known.origin else [],
    }
    suffix = known.plugin.source_suffix
    rules = {
        "dsl": known.plugin.dsl,
        "chip": str(known.target),
        "entry": "model_new.py",
        "language": suffix.lstrip("."),
        "file": f"kernel{suffix}",
        "sketched": bool(sketch),
        "added": known.page("coder").strip(),
    }
    room = known.tokens - _tokens(_render("coder.md", sections=[], **rules))
    room -= _tokens(_render("coder_task.md", examples=[], **values))
    documents = _sections(task, known, sketch[:2000] + (last.feedback[:500] if last else ""), room)
    room -= sum(_tokens(text) for _, text in documents)
    alike = sorted(known.kernels, key=lambda entry: structural_likeness(sketch, entry.sketch), reverse=True)
    examples = _fit([(entry.name, _example(entry)) for entry in alike[:_EXAMPLES]], room)
    head = _render("coder.md", sections=documents, **rules)
    asked = _render("coder_task.md", examples=[text for _, text in examples], **values)
    pages = ["docs/coder"] if known.page("coder") else []
    return Prompt(_messages(head, asked), (_named("coder.md"), *pages, *(name for name, _ in (*documents, *examples))))


def decider(task: Task, known: Knowledge, actions: Sequence[Action], steps: Sequence[Step]) -> Prompt:
    """What the conductor's model is told when rules leave several ways."""
    text = _render(
        "decide.md",
        dsl=known.plugin.dsl,
        chip=str(known.target),
        reference=task.source.strip(),
        steps=steps[-6:],
        actions=[(action, _MEANINGS[action]) for action in actions],
    )
    return Prompt((Message(role="user", content=text),), (_named("decide.md"),))


def interface(task: Task) -> str:
    """How forward is called, as a list: arguments, then parameters under the names that a sketch uses, then results."""
    found, lines = task.interface, []
    for argument in found.arguments:
        what = f"{argument.dtype}{_shape(argument.shape)}" if argument.kind == "tensor" else argument.kind
        value = f" = {argument.value!r}" if argument.kind == "constant" or argument.is_held else ""
        change = ", which forward updates in place" if argument.mutated else ""
        lines.append(f"- argument `{argument.name}`: {what}{value}{change}")
    for parameter in found.parameters:
        change = ", which forward changes" if parameter.mutated else ""
        value = f" = {parameter.value!r}, which forward makes itself" if parameter.kind == "numbers" else ""
        lines.append(
            f"- {parameter.kind} `{parameter.name}`: {parameter.dtype}{_shape(parameter.shape)}{value}{change}"
        )
    if found.guards:
        lines.append(f"- `ModelNew` raises ValueError unless {'; '.join(found.guards)}: there the reference is another")
    keys = f" with {', '.join(found.keys)}" if found.keys else ""
    results, updated = list(_results(task.graph)), [argument.name for argument in found.arguments if argument.mutated]
    returned = len(results) - len(updated)
    packing = "" if found.packing == "constant" else f"a {found.packing}{keys}: "
    lines.append(f"- result: {packing}{', '.join(results[:returned])}")
    if updated:
        pairs = zip(updated, results[returned:], strict=True)
        new = ", ".join(f"{result} for `{name}`" for name, result in pairs)
        lines.append(f"- after it a program returns what the updated arguments hold then: {new}")
    return "\n".join(lines)


def _results(graph: Graph) -> Iterator[str]:
    """The dtype and shape of each output, or what it is handed back from."""
    made = {
        f"%{node.name}{place}": f"{node.dtypes[number]}{_shape(shape)}"
        for node in graph.nodes
        for number, shape in enumerate(node.shapes)
        for place in ((f":{number}", "") if number == 0 else (f":{number}",))
    }
    sized = counts(graph)
    for number, output in enumerate(graph.outputs):
        name = (output or "").removeprefix("%")
        found = made.get(output or "", graph.values.get(name, "None").replace(":", " "))
        yield f"{found} at most, as long as values say" if number in sized else found


@cache
def language() -> str:
    """The sketch language's reference without the PyTorch code that its tests compare with."""
    here = (_FOLDER.parent / "docs" / "sketch.md", _FOLDER.parent.parent / "docs" / "sketch.md")
    text = next(path for path in here if path.exists()).read_text(encoding="utf-8")
    return re.sub(r"```python\nimport torch\n.*?```\n\n?", "", text, flags=re.DOTALL)


def _sections(task: Task, known: Knowledge, words: str, room: int) -> list[tuple[str, str]]:
    """The documents that there is room for, in the order in which they are read.

    Language and pitfalls are kept first, then the sections that say most about the words of the task, then the others.
    """
    if not known.documents:
        return []
    kinds: tuple[PageKind, ...] = ("language", "api", "examples", "pitfalls", "hardware")
    pages = [page for kind in kinds for page in known.pages if page.kind == kind]
    parts = [section for page in pages for section in sections(page) if known.examples or page.kind != "examples"]
    asked = " ".join([*(node.op for node in task.graph.nodes), words])
    found = known.library.search(known.plugin.name, asked, most=len(parts))
    scores = fused([[each.section for each in found], known.near])

    def need(section: Section) -> tuple[bool, float]:
        return section.page in ("language", "pitfalls"), scores.get(section, 0.0)

    kept = {section for section, _ in _fit([(s, s.text) for s in sorted(parts, key=need, reverse=True)], room)}
    return [(f"docs/{section.page}: {section.path[-1]}", section.text) for section in parts if section in kept]


def _named(template: str) -> str:
    return f"{template} {VERSION}"


def _example(entry: KernelEntry) -> str:
    files = "\n".join(f"`{name}`\n{fenced(text.strip())}" for name, text in sorted(entry.files.items()))
    speed = f", {entry.speedup:.2f}x of eager" if entry.speedup else ""
    return f"{entry.name}, on {entry.target}{speed}:\n{files}"


def _fit(parts: Iterable[tuple[T, str]], tokens: int) -> list[tuple[T, str]]:
    """The parts whose texts there is room for, in their order; where one is too large, smaller ones follow."""
    kept = []
    for name, text in parts:
        if text and _tokens(text) <= tokens:
            kept.append((name, text))
            tokens -= _tokens(text)
    return kept


def _messages(head: str, asked: str) -> tuple[Message, ...]:
    return (Message(role="system", content=head), Message(role="user", content=asked))


def _tokens(text: str) -> int:
    return len(text) // _LETTERS_A_TOKEN + 1


def _shape(shape: Sequence[int | str]) -> str:
    return f"[{', '.join(map(str, shape))}]"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER / "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    made.filters |= {"fenced": fenced, "sentence": sentence}
    return made


def _render(name: str, **values: object) -> str:
    return _environment().get_template(name).render(**values).strip() + "\n"

"""What the agents of a run know: the task's plugin and chip, its documents, and kernels that were verified before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from akg_core.agents.client import Client
from akg_core.agents.embeddings import nearest
from akg_core.agents.library import KernelEntry, Library
from akg_core.agents.sections import Section
from akg_core.pipeline.pipeline import Pipeline
from akg_core.records import DocPage, PluginInfo, Record, Target, Task
from akg_core.registry import hooks

RECALLED = "recalled.json"  # in a run's folder


class Recalled(Record):
    """What a run was given from the library, which a repetition of it must be given too."""

    kernels: tuple[KernelEntry, ...]
    near: tuple[Section, ...] = ()


@dataclass(frozen=True)
class Origin:
    """A kernel in another language that computes the task: the language, and the files."""

    dsl: str
    files: Mapping[str, str]


@dataclass(frozen=True)
class Knowledge:
    """What prompts are made from: who generates what for which chip, its pages, the shelves, and the room in tokens.

    `documents`, `examples`: whether prompts hold any. `kernels`: verified ones of like tasks, the most alike first.
    `near`: sections of the pages, those first that embeddings find nearest to the task; none without embeddings.
    `origin`: a kernel to be carried over from another language.
    """

    plugin: PluginInfo
    target: Target
    pages: Sequence[DocPage]
    library: Library
    tokens: int
    documents: bool = True
    examples: bool = True
    kernels: Sequence[KernelEntry] = ()
    near: Sequence[Section] = ()
    origin: Origin | None = None

    def page(self, kind: str) -> str:
        """The text of a page; "" without documents."""
        return next((page.text for page in self.pages if page.kind == kind and self.documents), "")


def gather(
    task: Task,
    pipeline: Pipeline,
    client: Client,
    recalled: Path,
    *,
    documents: bool = True,
    examples: bool = True,
    memory: bool = True,
    origin: Origin | None = None,
) -> Knowledge:
    """What prompts are made from. Kernels of like tasks are looked up once in a run, and kept in `recalled`.

    `memory`: whether kernels of other runs are looked at.
    """
    plugin = pipeline.request.plugin
    caller, library = hooks(plugin), Library()
    pages = caller.akg_docs() if caller.has("akg_docs") else ()
    library.file_pages(plugin, pages)
    if recalled.exists():
        found = Recalled.model_validate_json(recalled.read_text(encoding="utf-8"))
    else:
        kernels = library.kernels_like(task, plugin, pipeline.target) if memory else []
        near = nearest(library, plugin, task.source, client) if client.settings.embed_model else []
        found = Recalled(kernels=tuple(kernels), near=tuple(near))
    pipeline.folder.write(RECALLED, found)
    return Knowledge(
        plugin=caller.akg_plugin_info(),
        target=pipeline.target,
        pages=pages,
        library=library,
        tokens=client.settings.prompt_tokens,
        documents=documents,
        examples=examples,
        kernels=found.kernels if examples else (),
        near=found.near,
        origin=origin,
    )

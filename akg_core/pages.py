"""A plugin's documents: Markdown files that `akg_docs` gives as pages."""

from __future__ import annotations

from pathlib import Path

from akg_core.records import DocPage, PageKind

KINDS: tuple[PageKind, ...] = ("language", "api", "hardware", "examples", "pitfalls")
"""The pages that every plugin has, in the order in which they are best read."""

ADDED: tuple[PageKind, ...] = ("designer", "coder")
"""Pages that a plugin may have: they are added whole to what these agents are told."""


def read_pages(package: Path) -> tuple[DocPage, ...]:
    """One page of each kind from `docs/KIND.md`, and those of `ADDED` that there are.

    `docs` lies in the folder of the plugin's `package` where it is installed, beside it where it is developed. A page's
    title is its first line. Raises FileNotFoundError where a page is missing.
    """
    folder = next((at for at in (package / "docs", package.parent / "docs") if at.is_dir()), package / "docs")
    kinds = (*KINDS, *(kind for kind in ADDED if (folder / f"{kind}.md").exists()))
    texts = {kind: (folder / f"{kind}.md").read_text(encoding="utf-8") for kind in kinds}
    return tuple(
        DocPage(kind=kind, title=text.partition("\n")[0].lstrip("# "), text=text) for kind, text in texts.items()
    )

"""A plugin's pages cut at their headings: the pieces that are searched, and chosen for a prompt."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from markdown_it import MarkdownIt

from akg_core.records import DocPage, PageKind, Record


class Section(Record):
    """A heading's text with the heading itself. `path`: the headings above it and its own, the page's title first."""

    page: PageKind
    path: tuple[str, ...]
    text: str


def sections(page: DocPage) -> Iterator[Section]:
    """The sections of a page in their order, each up to the next heading of any level. Empty ones are left out."""
    lines = page.text.splitlines()
    heads = list(_headings(page.text))
    path: list[tuple[int, str]] = []
    for (line, level, title), (end, _, _) in zip(heads, [*heads[1:], (len(lines), 0, "")], strict=True):
        path = [above for above in path if above[0] < level] + [(level, title)]
        if any(text.strip() for text in lines[line + 1 : end]):
            text = "\n".join(lines[line:end]).strip()
            yield Section(page=page.kind, path=tuple(name for _, name in path), text=text)


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, level and title of each heading; what is before the first belongs to it when the text begins with one."""
    tokens = MarkdownIt("commonmark").parse(text)
    for token, inline in itertools.pairwise(tokens):
        if token.type == "heading_open" and token.map and token.level == 0:
            yield token.map[0], int(token.tag[1:]), inline.content

"""What a model is told: sections of plugins' documents and kernels that were verified, in one SQLite file.

Sections are found by full text (FTS5, BM25). Kernels are found first by what they compute, then by how like their
shapes, dtypes and target are.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from akg_core.agents.sections import Section, sections
from akg_core.errors import UsageError
from akg_core.records import DocPage, PageKind, Record, Target, Task
from akg_core.storage import cache_folder

_SCHEMA = """
CREATE TABLE IF NOT EXISTS pages (plugin TEXT PRIMARY KEY, digest TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS sections USING fts5(
    plugin UNINDEXED, page UNINDEXED, path, text, tokenize = 'porter unicode61'
);
CREATE TABLE IF NOT EXISTS kernels (
    number INTEGER PRIMARY KEY, digest TEXT UNIQUE NOT NULL, plugin TEXT NOT NULL, target TEXT NOT NULL,
    operators TEXT NOT NULL, dtypes TEXT NOT NULL, elements REAL NOT NULL, entry TEXT NOT NULL, made REAL NOT NULL
);
"""
_HEADING_WEIGHT = 4.0  # of a word in a heading, beside one in the text
_COMMON = frozenset(
    "a an and are as at be by can do does for from how i in inside into is it its my of on one or that the this to "
    "use using what when where which why with".split()
)
"""Words that say nothing of what is looked for, unless there are no others."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|\d{2,}")


class Found(Record):
    """A section that answers a search; the higher the `score`, the better."""

    section: Section
    score: float


class KernelEntry(Record):
    """A verified kernel of an earlier run: what it computes, how, and how fast it was.

    `operators`: those of the captured graph in their order. `seconds`: of one call; `speedup`: over eager PyTorch.
    """

    name: str
    plugin: str
    target: str
    operators: tuple[str, ...]
    dtypes: tuple[str, ...]
    shapes: tuple[tuple[int | str, ...], ...]
    sketch: str = ""
    files: dict[str, str]
    seconds: float | None = None
    speedup: float | None = None

    @property
    def digest(self) -> str:
        """A name for the source and where it runs."""
        said = json.dumps([self.plugin, self.target, self.files], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()


class Library:
    """The file and its two shelves. Threads and processes may share it. Raises UsageError when it cannot be used."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_folder() / "library.sqlite"
        self._run(lambda connection: connection.executescript(_SCHEMA))

    def file_pages(self, plugin: str, pages: Sequence[DocPage]) -> None:
        """Put a plugin's pages on the shelf in place of its earlier ones; does nothing when they are the same."""
        digest = hashlib.sha256(json.dumps([page.model_dump() for page in pages]).encode()).hexdigest()

        def store(connection: sqlite3.Connection) -> None:
            held = connection.execute("SELECT digest FROM pages WHERE plugin = ?", (plugin,)).fetchone()
            if held == (digest,):
                return
            connection.execute("DELETE FROM sections WHERE plugin = ?", (plugin,))
            connection.executemany(
                "INSERT INTO sections VALUES (?, ?, ?, ?)",
                [(plugin, s.page, json.dumps(s.path), s.text) for page in pages for s in sections(page)],
            )
            connection.execute("INSERT OR REPLACE INTO pages VALUES (?, ?)", (plugin, digest))

        self._run(store)

    def search(self, plugin: str, words: str, *, pages: Iterable[PageKind] = (), most: int = 8) -> list[Found]:
        """The sections of a plugin that say most about `words`, the best first; of these kinds of pages, if given."""
        said = _WORD.findall(words)
        asked = " OR ".join(f'"{word}"' for word in [word for word in said if word.lower() not in _COMMON] or said)
        kinds = [*pages]
        if not asked:
            return []
        among = f" AND page IN ({', '.join('?' * len(kinds))})" if kinds else ""
        query = (
            f"SELECT page, path, text, -bm25(sections, 0, 0, {_HEADING_WEIGHT}, 1.0) AS score FROM sections "
            f"WHERE sections MATCH ? AND plugin = ?{among} ORDER BY score DESC LIMIT ?"
        )
        rows = self._run(lambda connection: connection.execute(query, (asked, plugin, *kinds, most)).fetchall())
        return [
            Found(section=Section(page=page, path=tuple(json.loads(path)), text=text), score=score)
            for page, path, text, score in rows
        ]

    def file_kernel(self, entry: KernelEntry) -> None:
        """Put a verified kernel on the shelf; the same source again replaces it."""
        row = (
            entry.digest,
            entry.plugin,
            entry.target,
            json.dumps(entry.operators),
            json.dumps(entry.dtypes),
            _elements(entry.shapes),
            entry.model_dump_json(),
            time.time(),
        )
        self._run(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO kernels (digest, plugin, target, operators, dtypes, elements, entry, made) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        )

    def kernels_like(self, task: Task, plugin: str, target: Target, most: int = 2) -> list[KernelEntry]:
        """Kernels of a plugin that compute what the task does, or something near it, the most alike first.

        Operators decide; among equals dtypes, then the target, then how near the sizes are, then the speed-up.
        """
        wanted = described(task)
        query = "SELECT number, target, operators, dtypes, elements FROM kernels WHERE plugin = ?"
        rows = self._run(lambda connection: connection.execute(query, (plugin,)).fetchall())
        ranked = []
        for number, where, operators, dtypes, elements in rows:
            like = _overlap(wanted["operators"], json.loads(operators))
            if like > 0:
                near = -abs(math.log(elements + 1) - math.log(_elements(wanted["shapes"]) + 1))
                same = json.loads(dtypes) == [*wanted["dtypes"]]
                ranked.append(((like, same, where == str(target), near), number))
        best = [number for _, number in sorted(ranked, reverse=True)[:most]]
        return [KernelEntry.model_validate_json(self._entry(number)) for number in best]

    def _entry(self, number: int) -> str:
        query = "SELECT entry FROM kernels WHERE number = ?"
        return self._run(lambda connection: connection.execute(query, (number,)).fetchone()[0])

    def _run(self, work: Any) -> Any:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
                return work(connection)
        except (sqlite3.Error, OSError) as error:
            raise UsageError(f"The library {self.path} cannot be used: {error}.", "Remove the file.") from None


def described(task: Task) -> dict[str, Any]:
    """What a task computes, in the words by which kernels are kept: operators, dtypes and shapes."""
    tensors = [argument for argument in task.interface.arguments if argument.kind == "tensor"]
    return {
        "operators": tuple(node.op for node in task.graph.nodes),
        "dtypes": tuple(argument.dtype for argument in tensors),
        "shapes": tuple(tuple(argument.shape) for argument in tensors),
    }


def _overlap(one: Iterable[str], other: Iterable[str]) -> float:
    """How many operators two graphs share, of all that either has."""
    a, b = Counter(one), Counter(other)
    return (a & b).total() / max(1, (a | b).total())


def _elements(shapes: Iterable[Iterable[int | str]]) -> float:
    """The elements of all tensors, counting sizes that have only a name as 1."""
    return float(sum(math.prod(size for size in shape if isinstance(size, int)) for shape in shapes))

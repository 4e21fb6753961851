"""What a model is told: sections of plugins' documents and kernels that were verified, in one SQLite file.

Sections are found by full text (FTS5, BM25); kernels by what they compute, and on what (`similarity`).
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from akg_core.agents.sections import Section, sections
from akg_core.agents.similarity import Described, described, similarity
from akg_core.errors import UsageError
from akg_core.records import DocPage, Record, Target, Task
from akg_core.storage import cache_folder

_VERSION = 3  # of the schema; a file of another is begun anew, as it is in the cache
_TABLES = {
    "pages": "TABLE pages (plugin TEXT PRIMARY KEY, digest TEXT NOT NULL)",
    "sections": "VIRTUAL TABLE sections USING fts5("
    "plugin UNINDEXED, page UNINDEXED, path, text, tokenize = 'porter unicode61')",
    "vectors": "TABLE vectors (model TEXT, digest TEXT, vector BLOB NOT NULL, PRIMARY KEY (model, digest))",
    "kernels": "TABLE kernels ("
    "digest TEXT PRIMARY KEY, plugin TEXT NOT NULL, target TEXT NOT NULL, what TEXT NOT NULL, entry TEXT NOT NULL)",
}
_HEADING_WEIGHT = 4.0  # of a word in a heading, beside one in the text
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can do does for from how i in inside into is it its my of on one or that the this to "
        "use using what when where which why with",
    )
)
"""Words that say nothing of what is looked for, unless there are no others."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|\d{2,}")


class Found(Record):
    """A section that answers a search; the higher the `score`, the better."""

    section: Section
    score: float


class KernelEntry(Record):
    """A verified kernel of an earlier run: what it computes, how, and how fast it was.

    `seconds`: of one call; `speedup`: over eager PyTorch.
    """

    name: str
    plugin: str
    target: str
    what: Described
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
        self._run(_prepare)

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

    def search(self, plugin: str, words: str, *, most: int = 8) -> list[Found]:
        """The sections of a plugin that say most about `words`, the best first."""
        said = _WORD.findall(words)
        asked = " OR ".join(f'"{word}"' for word in [word for word in said if word.lower() not in _COMMON] or said)
        if not asked:
            return []
        query = (
            f"SELECT page, path, text, -bm25(sections, 0, 0, {_HEADING_WEIGHT}, 1.0) AS score FROM sections "
            "WHERE sections MATCH ? AND plugin = ? ORDER BY score DESC LIMIT ?"
        )
        rows = self._rows(query, asked, plugin, most)
        return [
            Found(section=Section(page=page, path=tuple(json.loads(path)), text=text), score=score)
            for page, path, text, score in rows
        ]

    def shelf(self, plugin: str) -> list[Section]:
        """All sections of a plugin."""
        query = "SELECT page, path, text FROM sections WHERE plugin = ?"
        rows = self._rows(query, plugin)
        return [Section(page=page, path=tuple(json.loads(path)), text=text) for page, path, text in rows]

    def vectors(self, model: str, digests: Iterable[str]) -> dict[str, bytes]:
        """The vectors of some texts by a model, as far as they are known."""
        wanted, rows = {*digests}, self._rows("SELECT digest, vector FROM vectors WHERE model = ?", model)
        return {digest: vector for digest, vector in rows if digest in wanted}

    def file_vectors(self, model: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors of texts, by the texts' digests."""
        rows = [(model, digest, vector) for digest, vector in vectors.items()]
        query = "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)"
        self._run(lambda connection: connection.executemany(query, rows))

    def file_kernel(self, entry: KernelEntry) -> None:
        """Put a verified kernel on the shelf; the same source again replaces it."""
        what = entry.what.model_dump_json()
        row = (entry.digest, entry.plugin, entry.target, what, entry.model_dump_json())
        self._run(lambda connection: connection.execute("INSERT OR REPLACE INTO kernels VALUES (?, ?, ?, ?, ?)", row))

    def kernels_like(self, task: Task, plugin: str, target: Target, most: int = 6) -> list[KernelEntry]:
        """Kernels of a plugin that compute what the task does, or something near it, the most alike first."""
        wanted = described(task)
        found = [
            (similarity(wanted, Described.model_validate_json(what), where == str(target)), digest)
            for digest, where, what in self._rows("SELECT digest, target, what FROM kernels WHERE plugin = ?", plugin)
        ]
        best = [digest for like, digest in sorted(found, reverse=True)[:most] if like]
        entries = (self._rows("SELECT entry FROM kernels WHERE digest = ?", digest)[0] for digest in best)
        return [KernelEntry.model_validate_json(entry) for (entry,) in entries]

    def _rows(self, query: str, *values: object) -> list[Any]:
        return self._run(lambda connection: connection.execute(query, values).fetchall())

    def _run(self, work: Any) -> Any:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
                return work(connection)
        except (sqlite3.Error, OSError) as error:
            raise UsageError(f"The library {self.path} cannot be used: {error}.", "Remove the file.") from None


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables, in place of those of another version, unless another process does so just now."""
    if _version(connection) != _VERSION:
        connection.execute("BEGIN IMMEDIATE")
        if _version(connection) != _VERSION:
            for name, table in _TABLES.items():
                connection.execute(f"DROP TABLE IF EXISTS {name}")
                connection.execute(f"CREATE {table}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")


def _version(connection: sqlite3.Connection) -> int:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    return int(found)

"""Documents searched by meaning, where a model for embeddings is named."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from akg_core.agents import embeddings
from akg_core.agents.budget import Budget, Limits
from akg_core.agents.client import Client, ModelFailed
from akg_core.agents.knowledge import RECALLED, Knowledge, gather
from akg_core.agents.library import Library
from akg_core.agents.prompts import coder
from akg_core.agents.settings import Settings
from akg_core.records import DocPage, Graph, Interface, Target, Task
from akg_core.runs import RunFolder
from tests.agents.server import Say, Server

PAGE = DocPage(
    kind="api",
    title="Toy",
    text="# Toy\n\n## Workspace\nTemporary room.\n\n## Sums\nAdd up.\n\n## Order\nSorted keys.\n",
)
GRAPH = Graph(values={}, nodes=(), outputs=())
MEANINGS = (("workspace", "temporary", "scratch"), ("sum", "add", "total"), ("sort", "order", "rank"), ("index",))


def meaning(text: str) -> list[float]:
    """A vector that words with one meaning share."""
    return [float(sum(text.lower().count(word) for word in words)) for words in MEANINGS]


@pytest.fixture
def library(tmp_path):
    shelf = Library(tmp_path / "library.sqlite")
    shelf.file_pages("toy", [PAGE])
    return shelf


def client(server: Server) -> Client:
    return Client(Settings(base_url=server.url, embed_model="toy-embed", retries=0), Budget(Limits()))


def test_what_is_meant_is_found_without_a_common_word(library):
    assert library.search("toy", "scratch buffer") == []
    with Server(Say(""), embed=meaning) as server, client(server) as asked:
        found = embeddings.search(library, "toy", "scratch buffer", asked, 2)
        assert found[0].section.path[-1] == "Workspace" and len(found) == 2
        assert [len(texts) for texts in server.embedded] == [3, 1]
        embeddings.search(library, "toy", "total", asked, 2)
        assert [len(texts) for texts in server.embedded[2:]] == [1], "vectors of sections are kept"
        assert asked.budget.usage.read == 5


def test_words_count_beside_the_meaning(library):
    with Server(Say(""), embed=lambda text: [1.0, 0.0]) as server, client(server) as asked:
        assert embeddings.search(library, "toy", "sorted keys", asked, 1)[0].section.path[-1] == "Order"


def test_an_endpoint_without_embeddings_is_told(library):
    refused = pytest.raises(ModelFailed, match=r"gives no embeddings by 'toy-embed'.*by words alone")
    with Server(Say("")) as server, client(server) as asked, refused:
        embeddings.search(library, "toy", "scratch", asked, 2)


def test_orders_are_fused_by_place():
    scores = embeddings.fused([["a", "b", "c"], ["c", "a"]])
    assert sorted(scores, key=lambda name: -scores[name]) == ["a", "c", "b"]
    assert embeddings.fused([["a", "b"], []])["a"] > embeddings.fused([["a", "b"], []])["b"]


def test_a_run_asks_once_and_its_repetition_never(warm_pool, tmp_path):
    folder = RunFolder(tmp_path / "run")
    request = SimpleNamespace(plugin="plain_c")
    pipeline = SimpleNamespace(request=request, target=Target(backend="cpu"), folder=folder)
    task = Task(name="t", source="rank them", interface=Interface(arguments=()), graph=GRAPH)
    with Server(Say(""), embed=lambda text: [float("loop" in text or "rank" in text), 0.1]) as server:
        with client(server) as asked:
            first = gather(task, pipeline, asked, folder.path / RECALLED)
        assert len(server.embedded) == 2
        assert first.near[0].path[-1] == "Adding", "which has a loop"
        with client(server) as asked:
            again = gather(task, pipeline, asked, folder.path / RECALLED)
        assert len(server.embedded) == 2 and again.near == first.near

    def chosen(known: Knowledge, room: int) -> tuple[str, ...]:
        return coder(task, replace(known, tokens=room), "code", "Go.").chosen

    room = max(room for room in range(300, 900) if len(chosen(first, room)) == 4)  # for all but two of the sections
    assert "docs/examples: Adding" in chosen(first, room)
    assert "docs/examples: Adding" not in chosen(replace(first, near=()), room)


def test_the_command_searches_by_meaning(akg, tmp_path):
    with Server(Say(""), embed=meaning) as server:
        (tmp_path / "settings.toml").write_text(f'base_url = "{server.url}"\nembed_model = "toy-embed"\n')
        code, said = akg("docs", "search", "--plugin", "plain_c", "--most", 1, "total of them")
    assert code == 0 and "Adding" in said

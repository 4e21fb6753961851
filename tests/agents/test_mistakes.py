"""What may be wrong with an endpoint, a key, a model's name or a folder: a sentence, an exit code, and nothing lost."""

from __future__ import annotations

import json

import pytest

from tests.agents.plain_c import files
from tests.agents.server import Refuse, Say, Server

KEY = "sk-nobody-may-see-this"
RUN = ("run", "scaled.py", "--plugin", "plain_c", "--engine", "llm", "--model", "toy", "--without", "sketch")
BENCH = ("bench", "scaled.py", "--plugin", "plain_c", "--engine", "llm", "--model", "toy", "--without", "sketch")


@pytest.fixture(autouse=True)
def asked_once(tmp_path):
    """Settings by which nothing is asked again."""
    (tmp_path / "settings.toml").write_text("retries = 0\n")


def test_an_endpoint_that_is_down_a_wrong_key_and_an_unknown_model(akg, tmp_path, monkeypatch):
    """One run that meets one after the other, and goes on each time."""
    monkeypatch.setenv("AKG_LLM_API_KEY", KEY)

    def meets(url: str, *sentences: str) -> int:
        folder = ("--resume", "there") if (tmp_path / "there").exists() else ("--out", "there")
        code, said = akg(*RUN, "--no-baseline", "--base-url", url, *folder)
        said = " ".join(said.split())
        assert all(sentence in said for sentence in sentences), said
        result = (tmp_path / "there" / "result.json").read_text()
        assert json.loads(result)["error"]["exit_code"] == code
        assert KEY not in said + result
        return code

    with Server(Refuse(401, f"no such key: {KEY}"), Refuse(404, "no such model")) as server:
        key = f"{server.url} refuses the key: ", " Set AKG_LLM_API_KEY; `akg-core config` shows where"
        assert meets(server.url, *key) == 2
        model = f"{server.url} does not know 'toy': ", " Give another with --model."
        assert meets(server.url, *model) == 2
        assert len(server.requests) == 2
        down = (
            f"{server.url} cannot be reached: [Errno 111] Connection refused. Start it, or give another with --base-url"
        )
    assert meets(server.url, down) == 2
    assert "cannot be reached" in akg("trace", "there")[1]


def test_the_builtin_kernel_is_kept_and_why_no_model_tried_to_beat_it_is_said(work):
    with Server(Refuse(401, "who are you?")) as server:
        result = work(server, plugin="cpp_cpu", hybrid=True, without=frozenset({"sketch"}))
    assert result.exit_code == 0 and result.verdict.correct and result.timing.status == "ok"
    assert {stage.name: stage.note for stage in result.stages}["builtin"].startswith("It is correct and takes")
    (note,) = (note for note in result.notes if note.startswith(server.url))  # beside what is said of a busy machine
    assert note.startswith(f"{server.url} wants a key") and "Set AKG_LLM_API_KEY" in note


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ((*RUN, "--out", "file"), "file"),
        ((*RUN, "--out", "there"), "there/answers"),
        ((*BENCH, "--baseline", "eager", "--folder", "file"), "file/"),
        ((*BENCH, "--baseline", "eager", "--out", "file/results.json"), "file"),
    ],
    ids=["a file", "a file in it", "of a benchmark", "of its results"],
)
def test_a_folder_that_cannot_be_written_to(akg, tmp_path, words, place):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "answers").write_text("mine")
    with Server(Say(files())) as server:
        code, said = akg(*words, "--base-url", server.url)
        assert code == 2 and not server.requests
    assert place in said and " cannot be used: " in said and "Give another place (--out)." in said
    assert (tmp_path / "file").read_text() == (tmp_path / "there" / "answers").read_text() == "mine"

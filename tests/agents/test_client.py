"""The client against an endpoint that behaves in every way that endpoints do."""

from __future__ import annotations

import threading
import time

import pytest

from akg_core.agents.budget import Budget, BudgetSpent, Limits
from akg_core.agents.client import Client, ModelFailed
from akg_core.agents.records import Message
from akg_core.agents.replay_cache import ReplayCache
from akg_core.agents.settings import Price, Settings
from akg_core.errors import AkgError, UsageError
from tests.agents.server import Hang, Raw, Refuse, Say, Server

HELLO = (Message(role="user", content="Write a kernel, please."),)


def client(server: Server, limits: Limits = Limits(), tape: ReplayCache | None = None, **given) -> Client:
    chosen = {"base_url": server.url, "model": "toy", "retries": 2, "silence_seconds": 0.5}
    chosen["prices"] = {"toy": Price(read=1, written=4)}
    return Client(Settings(**(chosen | given)), Budget(limits), tape)


def ask(server: Server, **given):
    with client(server, **given) as asked:
        return asked.ask(asked.question("code", HELLO))


def test_an_answer_comes_in_pieces_and_is_counted():
    pieces: list[str] = []
    with Server(Say("some words that are an answer")) as server, client(server) as asked:
        answer = asked.ask(asked.question("code", HELLO), pieces.append)
        assert "".join(pieces) == answer.text == "some words that are an answer"
        assert len(pieces) > 4
        assert (answer.usage.read, answer.usage.written, answer.usage.estimated) == (5, 7, False)
        assert asked.budget.dollars == pytest.approx((5 * 1 + 7 * 4) / 1e6)
        assert server.requests[0]["model"] == "toy"


@pytest.mark.parametrize("turn", [Refuse(429), Refuse(500), Refuse(503)])
def test_what_is_refused_for_now_is_asked_again(turn):
    with Server(turn, Say("yes")) as server:
        assert ask(server).text == "yes"
        assert len(server.requests) == 2


def test_retry_after_is_kept_to():
    with Server(Refuse(429, headers={"retry-after": "1"}), Say("yes")) as server:
        began = time.monotonic()
        assert ask(server).text == "yes"
        assert time.monotonic() - began >= 1


@pytest.mark.parametrize(
    "turn",
    [
        Say("an answer that is longer than a word", cut_after=4),
        Say("an answer that is longer than a word", still_after=4),
        Say("an answer", still_after=0),
        Raw(b"data: {not json\n\n"),
        Raw(b'data: {"error": {"message": "overloaded"}}\n\n'),
        Raw(b"data: [DONE]\n\n"),
    ],
    ids=["cut", "stalled", "silent", "no JSON", "an error as an event", "empty"],
)
def test_an_answer_that_breaks_off_is_asked_for_again(turn):
    with Server(turn, Say("whole")) as server:
        assert ask(server).text == "whole"
        assert len(server.requests) == 2


def test_what_breaks_off_is_paid_for_as_far_as_it_came():
    broken = Say("an answer that is longer than a word", cut_after=6)
    with Server(broken, Say("whole")) as server, client(server) as asked:
        answer = asked.ask(asked.question("code", HELLO))
        assert asked.budget.usage.read > answer.usage.read
        assert asked.budget.answers == 1


def test_what_never_comes_whole_is_said():
    with Server(Say("an answer that is longer than a word", cut_after=3)) as server:
        with pytest.raises(ModelFailed, match="3 attempts"):
            ask(server)
        assert len(server.requests) == 3


def test_an_endpoint_that_takes_requests_and_says_nothing():
    with Server(Hang()) as server:
        with pytest.raises(ModelFailed, match=r"did not answer 2 attempts, each for 0.2 s"):
            ask(server, retries=1, silence_seconds=0.2)
        assert len(server.requests) == 2


def test_an_endpoint_that_stays_down():
    with Server(Refuse(503, "maintenance")) as server, pytest.raises(ModelFailed, match=r"503.*maintenance"):
        ask(server, retries=0)


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (Refuse(401, "no such key"), "wants a key"),
        (Refuse(404, "no such model"), "does not know 'toy'"),
        (Refuse(400, "too long"), "too long"),
    ],
)
def test_what_the_user_can_mend_is_not_asked_again(turn, said):
    with Server(turn) as server:
        with pytest.raises(UsageError, match=said):
            ask(server)
        assert len(server.requests) == 1


def test_no_endpoint():
    with Server(Say("")) as server:
        url = server.url
    with pytest.raises(UsageError, match="cannot be reached"):
        ask(server, base_url=url, retries=0)


def test_the_key_is_sent_and_shown_to_nobody():
    with Server(Say("yes")) as server, client(server, api_key="sk-secret") as asked:
        asked.ask(asked.question("code", HELLO))
        assert server.keys == ["Bearer sk-secret"]
        assert "sk-secret" not in repr(asked.settings) + asked.settings.model_dump_json()


@pytest.mark.parametrize(
    "turn", [Refuse(401, "no key sk-secret"), Raw(b'data: {"error": {"message": "sk-secret"}}\n\n')]
)
def test_a_key_that_an_endpoint_repeats_is_hidden(turn):
    with Server(turn) as server, pytest.raises(AkgError, match=r"\(key\)") as caught:
        ask(server, api_key="sk-secret", retries=0)
    assert "sk-secret" not in str(caught.value)


def test_an_endpoint_that_does_not_count_tokens_of_streams():
    def strict(asked):
        return Refuse(400, "unknown field stream_options") if "stream_options" in asked else Say("four letter word")

    with Server(strict) as server:
        answer = ask(server)
        assert answer.usage.estimated
        assert answer.usage.written == 4


@pytest.mark.parametrize(
    ("turn", "ending"),
    [
        (Say("half of", ending="length"), "length"),
        (Say("", refusal="I will not"), "refused"),
        (Say("", ending="content_filter"), "refused"),
    ],
)
def test_how_an_answer_ended(turn, ending):
    with Server(turn) as server:
        assert ask(server).ending == ending


def test_a_tape_repeats_a_conversation_without_an_endpoint(tmp_path):
    with Server(Say("first"), Say("second")) as server, client(server, tape=ReplayCache(tmp_path)) as asked:
        said = [asked.ask(asked.question("code", HELLO, sample)).text for sample in (0, 1)]
        assert said == ["first", "second"]
    with client(server, tape=ReplayCache(tmp_path, only=True)) as asked:
        again = [asked.ask(asked.question("code", HELLO, sample)) for sample in (0, 1)]
        assert [answer.text for answer in again] == said
        assert all(answer.replayed for answer in again)
        assert asked.budget.dollars == 0
        with pytest.raises(UsageError, match="holds no answer"):
            asked.ask(asked.question("code", HELLO, 2))


def test_the_answers_of_a_run_that_goes_on_are_not_asked_again_but_paid_for(tmp_path):
    spent = []
    with Server(Say("yes")) as server:
        for _ in range(2):
            with client(server, tape=ReplayCache(tmp_path)) as asked:
                assert not asked.ask(asked.question("code", HELLO)).replayed
                spent.append((asked.budget.dollars, asked.budget.usage, asked.budget.answers))
        assert len(server.requests) == 1
    assert spent[0] == spent[1] and spent[0][0] > 0


def test_a_tape_tells_every_part_of_a_request_apart(tmp_path):
    with Server(Say("yes")) as server:
        for given in ({}, {"temperature": 0.5}, {"model": "other"}, {"answer_tokens": 9}):
            ask(server, tape=ReplayCache(tmp_path), **given)
        assert len(server.requests) == 4


def test_a_damaged_tape(tmp_path):
    with Server(Say("yes")) as server, client(server, tape=ReplayCache(tmp_path)) as asked:
        asked.ask(asked.question("code", HELLO))
        next(tmp_path.iterdir()).write_text("{")
        with pytest.raises(UsageError, match="no answer that akg-core wrote"):
            asked.ask(asked.question("code", HELLO))


@pytest.mark.parametrize("limits", [Limits(dollars=1e-9), Limits(tokens=1), Limits(minutes=0)])
def test_nothing_is_asked_past_the_budget(limits):
    with Server(Say("some words")) as server, client(server, limits=limits) as asked:
        with pytest.raises(BudgetSpent):
            for sample in range(3):
                asked.ask(asked.question("code", HELLO, sample))
        assert len(server.requests) <= 1


def test_a_warning_comes_once_at_four_fifths():
    said: list[str] = []
    with Server(Say("w" * 40)) as server:
        budget = Budget(Limits(tokens=80), said.append)
        with Client(Settings(base_url=server.url, model="toy"), budget) as asked:
            for sample in range(5):
                asked.ask(asked.question("code", HELLO, sample))
    assert said == ["94% of the budget of 80 tokens is spent."]


def test_a_budget_in_dollars_needs_a_price_before_anything_is_spent():
    with Server(Say("yes")) as server:
        with pytest.raises(UsageError, match=r"needs the price of 'toy'.*\[prices.\"toy\"\]"):
            ask(server, limits=Limits(dollars=1), prices={})
        assert not server.requests


def test_time_that_runs_out_ends_an_answer_that_still_comes():
    slow = Say("an answer that is longer than a word", still_after=4, still_seconds=0.4)
    with Server(slow) as server, pytest.raises(BudgetSpent, match=r"0.005 minutes"):
        ask(server, limits=Limits(minutes=0.3 / 60))


def test_no_more_requests_at_once_than_allowed():
    running, most = 0, 0
    lock = threading.Lock()

    def slow(_):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.1)
        with lock:
            running -= 1
        return Say("yes")

    with Server(slow) as server, client(server, together=2) as asked:
        threads = [
            threading.Thread(target=asked.ask, args=(asked.question("code", HELLO, sample),)) for sample in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert most == 2

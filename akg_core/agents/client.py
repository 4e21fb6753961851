"""Questions to a model over OpenAI's protocol, streamed, tried again where that helps, and counted.

The `openai` package speaks the protocol; it also tries again what was refused for the time being (429, 5xx, no
connection), with growing pauses, and keeps to a server's Retry-After. An answer that stands still or breaks off in the
middle is asked for again here.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from akg_core.agents.budget import Budget, BudgetSpent
from akg_core.agents.prices import dollars, price_of
from akg_core.agents.records import Answer, Message, Question, Usage
from akg_core.agents.replay_cache import ReplayCache
from akg_core.agents.settings import Level, Settings, settings_file
from akg_core.closing import Closing
from akg_core.errors import AkgError, UsageError

if TYPE_CHECKING:
    from openai import OpenAI, Stream
    from openai.types.chat import ChatCompletionChunk

_LETTERS_A_TOKEN = 4  # where an endpoint does not count tokens
_LONGEST_PAUSE = 20.0  # seconds
_NO_KEY = "none"  # what a local server without keys is sent


class ModelFailed(AkgError):
    """The endpoint is there and did not give an answer, however often it was asked."""

    exit_code = 1


class _Broken(Exception):
    """An answer that began and did not end."""


@dataclass
class _Streamed:
    """What has come of an answer so far."""

    parts: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    ending: str = ""
    usage: Usage | None = None

    def take(self, chunk: Any) -> str:
        """Add one event of the stream, and give its text."""
        if chunk.usage:
            details = chunk.usage.prompt_tokens_details
            self.usage = Usage(
                read=chunk.usage.prompt_tokens,
                cached=(details.cached_tokens if details else 0) or 0,
                written=chunk.usage.completion_tokens,
            )
        text = ""
        for choice in chunk.choices:
            self.ending = choice.finish_reason or self.ending
            self.refusal.append(choice.delta.refusal or "")
            text += choice.delta.content or ""
        self.parts.append(text)
        return text


class Client(Closing):
    """Asks the models of some settings within a budget. Thread-safe; close it, or use it as a context."""

    def __init__(self, settings: Settings, budget: Budget, tape: ReplayCache | None = None) -> None:
        self.settings, self.budget, self.tape = settings, budget, tape
        self._together = threading.BoundedSemaphore(settings.together)
        self._counts_streams = True  # until an endpoint refuses to count the tokens of a stream
        self._opened: OpenAI | None = None
        self._opening = threading.Lock()

    def close(self) -> None:
        """Close connections."""
        if self._opened:
            self._opened.close()

    def question(self, level: Level, messages: tuple[Message, ...], sample: int = 0) -> Question:
        """A question to the model of a level. Raises UsageError when no model is named for it."""
        return Question(
            level=level,
            model=self.settings.model_for(level),
            messages=messages,
            temperature=self.settings.temperature,
            answer_tokens=self.settings.answer_tokens,
            sample=sample,
        )

    def ask(self, question: Question, watch: Callable[[str], None] = lambda text: None) -> Answer:
        """The answer, from the tape or from the model; `watch` is told each piece of text as it comes.

        Raises BudgetSpent before a question that the budget has no room for and when time runs out while it is
        answered, UsageError when the endpoint does not accept what it was sent or the budget needs a price that is not
        known, and ModelFailed without an answer.
        """
        if self.tape and (kept := self.tape.find(question)):
            self.budget.count(kept)
            return kept
        if self.budget.limits.dollars is not None and price_of(question.model, self.settings.prices) is None:
            raise UsageError(
                f"A budget in dollars needs the price of {question.model!r}, which is not known.",
                f"Write it into {settings_file()}: [prices.{json.dumps(question.model)}] with read = … and "
                "written = …, dollars for a million tokens.",
            )
        with self._together:
            self.budget.require()
            answer = self._asked(question, watch)
        if self.tape:
            self.tape.keep(question, answer)
        self.budget.count(answer)
        return answer

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Texts as vectors, by the settings' embed_model. Raises BudgetSpent, and ModelFailed when there are none."""
        import openai

        model = self.settings.embed_model
        self.budget.require()
        try:
            with self._together:
                found = self._openai().embeddings.create(model=model, input=[*texts], encoding_format="float")
        except openai.OpenAIError as error:
            raise ModelFailed(
                f"{self.settings.base_url} gives no embeddings by {model!r}: {self._spell(error)}.",
                "Without embed_model in the settings, documents are searched by words alone.",
            ) from None
        usage = Usage(read=found.usage.prompt_tokens if found.usage else 0)
        self.budget.add(usage, dollars(model, usage, self.settings.prices))
        return [each.embedding for each in sorted(found.data, key=lambda each: each.index)]

    def _asked(self, question: Question, watch: Callable[[str], None]) -> Answer:
        """Ask until an answer is whole."""
        began = time.monotonic()
        for attempt in range(self.settings.retries + 1):
            if attempt:
                time.sleep(min(_LONGEST_PAUSE, 0.5 * 2**attempt) * random.uniform(0.5, 1.0))
                self.budget.require()
            streamed = _Streamed()
            try:
                self._stream(question, streamed, watch)
                break
            except _Broken as error:
                broken = str(error)
                self._pay(question, streamed)
            except BudgetSpent:
                self._pay(question, streamed)
                raise
        else:
            raise ModelFailed(f"No answer of {question.model} came whole in {attempt + 1} attempts: {broken}.")
        text, refusal = "".join(streamed.parts), "".join(streamed.refusal)
        refused = bool(refusal) or streamed.ending == "content_filter"
        usage = streamed.usage or _estimated(question, text)
        return Answer(
            text=text or refusal,
            ending="refused" if refused else "length" if streamed.ending == "length" else "stop",
            usage=usage,
            dollars=dollars(question.model, usage, self.settings.prices),
            seconds=time.monotonic() - began,
        )

    def _pay(self, question: Question, streamed: _Streamed) -> None:
        """Count an answer that began and did not end."""
        if streamed.parts:
            usage = streamed.usage or _estimated(question, "".join(streamed.parts))
            self.budget.add(usage, dollars(question.model, usage, self.settings.prices))

    def _stream(self, question: Question, found: _Streamed, watch: Callable[[str], None]) -> None:
        """Make one request, and read it to its end into `found`."""
        import openai

        with self._begun(question) as stream:
            try:
                for chunk in stream:
                    if text := found.take(chunk):
                        watch(text)
                    self.budget.require("minutes")
            except openai.APITimeoutError:
                raise _Broken(f"nothing came for {self.settings.silence_seconds:g} s") from None
            except openai.APIConnectionError as error:
                raise _Broken(f"the connection broke off ({self._spell(error.__cause__ or error)})") from None
            except openai.APIError as error:  # an error that came as an event of the stream
                raise _Broken(self._spell(error)) from None
            except ValueError as error:
                raise _Broken(f"it is not what the protocol says ({self._spell(error)})") from None
        if not found.ending:
            raise _Broken("it ended in the middle")

    def _begun(self, question: Question) -> Stream[ChatCompletionChunk]:
        """An answer that begins. What the endpoint refuses for now has been asked again when this raises."""
        import openai

        try:
            return self._openai().chat.completions.create(**self._request(question), stream=True)
        except openai.APIStatusError as error:
            if error.status_code == 400 and self._counts_streams and "stream_options" in str(error):
                self._counts_streams = False
                return self._begun(question)
            raise self._refusal(question, error) from None
        except openai.APITimeoutError:
            raise ModelFailed(
                f"{self.settings.base_url} did not answer {self.settings.retries + 1} attempts, each for "
                f"{self.settings.silence_seconds:g} s.",
                "Try again later with --resume, or wait longer: silence_seconds in the settings.",
            ) from None
        except openai.APIConnectionError as error:
            raise UsageError(
                f"{self.settings.base_url} cannot be reached: {self._spell(error.__cause__ or error)}.",
                "Start it, or give another with --base-url; `akg-core config` shows where this one comes from.",
            ) from None

    def _request(self, question: Question) -> dict[str, Any]:
        asked: dict[str, Any] = {
            "model": question.model,
            "messages": [message.model_dump() for message in question.messages],
        }
        if question.temperature is not None:
            asked["temperature"] = question.temperature
        if question.answer_tokens is not None:
            asked["max_completion_tokens"] = question.answer_tokens
        if self._counts_streams:
            asked["stream_options"] = {"include_usage": True}
        return asked

    def _openai(self) -> OpenAI:
        from openai import OpenAI, Timeout

        with self._opening:
            if self._opened is None:
                key, silence = self.settings.api_key, self.settings.silence_seconds
                self._opened = OpenAI(
                    base_url=self.settings.base_url,
                    api_key=key.get_secret_value() if key else _NO_KEY,
                    max_retries=self.settings.retries,
                    timeout=Timeout(silence, connect=self.settings.connect_seconds),
                )
            return self._opened

    def _spell(self, said: object) -> str:
        """What an error says, in a line and without the key, which some endpoints and libraries repeat."""
        text = " ".join(str(said).split())
        key = self.settings.api_key
        return (text.replace(key.get_secret_value(), "(key)") if key else text)[:300].rstrip(".")

    def _refusal(self, question: Question, error: Any) -> AkgError:
        """What an HTTP status says, as a sentence."""
        said = self._spell(error.message)
        where = self.settings.base_url
        if error.status_code in (401, 403):
            return UsageError(
                f"{where} refuses the key: {said}." if self.settings.api_key else f"{where} wants a key: {said}.",
                "Set AKG_LLM_API_KEY; `akg-core config` shows where the present one comes from.",
            )
        if error.status_code == 404:
            return UsageError(f"{where} does not know {question.model!r}: {said}.", "Give another with --model.")
        if error.status_code == 429 or error.status_code >= 500:
            return ModelFailed(
                f"{where} answered {error.status_code} to {self.settings.retries + 1} attempts: {said}.",
                "Try again later with --resume.",
            )
        return UsageError(f"{where} does not take the request: {said}.", "`akg-core config` shows the settings.")


def _estimated(question: Question, text: str) -> Usage:
    read = sum(len(message.content) for message in question.messages)
    return Usage(read=read // _LETTERS_A_TOKEN, written=len(text) // _LETTERS_A_TOKEN, estimated=True)

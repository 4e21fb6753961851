"""A model's endpoint on loopback that says what a script tells it to, in OpenAI's protocol, streamed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Say:
    """Answer a text in pieces. `ending`: finish_reason. After so many pieces it may stand still or break off."""

    text: str
    ending: str = "stop"
    counts: bool = True  # whether it says how many tokens there were
    still_after: int | None = None
    still_seconds: float = 5.0
    cut_after: int | None = None
    refusal: str = ""


@dataclass(frozen=True)
class Refuse:
    """Answer an HTTP status with an error."""

    status: int
    message: str = "not now"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Send bytes that are no event stream of the protocol."""

    body: bytes


@dataclass(frozen=True)
class Hang:
    """Take the request and say nothing, until the server is closed."""


Reply = Say | Refuse | Raw | Hang
Turn = Reply | Callable[[dict[str, Any]], Reply]


class Server:
    """Serves turns in their order, the last one for ever; keeps every request. Use it as a context.

    `embed` makes a vector of a text, for /embeddings, which is not there without it.
    """

    def __init__(self, *turns: Turn, embed: Callable[[str], list[float]] | None = None) -> None:
        self.embed, self.embedded = embed, list[list[str]]()
        self.turns, self.requests, self.keys = list(turns), list[dict[str, Any]](), list[str]()
        self._lock, self.closed = threading.Lock(), threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path.endswith("/embeddings"):
                    self._embed(asked)
                    return
                turn = server._next(asked, self.headers["authorization"])
                if isinstance(turn, Refuse):
                    self._whole(turn.status, json.dumps({"error": {"message": turn.message}}).encode(), turn.headers)
                elif isinstance(turn, Hang):
                    server.closed.wait()
                elif isinstance(turn, Raw):
                    self._whole(200, turn.body, {"content-type": "text/event-stream"})
                else:
                    self._stream(turn, asked)

            def _embed(self, asked: dict[str, Any]) -> None:
                server.embedded.append(asked["input"])
                if server.embed is None:
                    self._whole(404, json.dumps({"error": {"message": "no such route"}}).encode(), {})
                    return
                vectors = [
                    {"object": "embedding", "index": n, "embedding": server.embed(text)}
                    for n, text in enumerate(asked["input"])
                ]
                usage = {"prompt_tokens": len(vectors), "total_tokens": len(vectors)}
                said = {"object": "list", "model": asked["model"], "data": vectors[::-1], "usage": usage}
                self._whole(200, json.dumps(said).encode(), {})

            def _whole(self, status: int, body: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _stream(self, turn: Say, asked: dict[str, Any]) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for number, event in enumerate(_events(turn, asked)):
                    if number == turn.cut_after:
                        self.close_connection = True
                        return
                    if number == turn.still_after:
                        time.sleep(turn.still_seconds)
                    try:
                        self._chunk(f"data: {event}\n\n".encode())
                    except OSError:  # the other side has gone
                        return
                self._chunk(b"")

            def _chunk(self, data: bytes) -> None:
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # connections that clients reset
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Server:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()

    def _next(self, asked: dict[str, Any], key: str) -> Reply:
        with self._lock:
            self.requests.append(asked)
            self.keys.append(key)
            turn = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        return turn(asked) if callable(turn) else turn


def _events(turn: Say, asked: dict[str, Any]) -> Iterator[str]:
    """The stream's events: the text word by word, the ending, the count of tokens."""
    head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": asked["model"]}

    def event(delta: dict[str, Any], ending: str | None = None) -> str:
        return json.dumps(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": ending}]})

    yield event({"role": "assistant", "content": ""})
    if turn.refusal:
        yield event({"refusal": turn.refusal})
    size = max(1, len(turn.text) // 8)
    for start in range(0, len(turn.text), size):
        yield event({"content": turn.text[start : start + size]})
    yield event({}, turn.ending)
    if turn.counts and asked.get("stream_options"):
        read = sum(len(message["content"]) for message in asked["messages"]) // 4
        counted = {"prompt_tokens": read, "completion_tokens": len(turn.text) // 4, "total_tokens": 0}
        yield json.dumps(head | {"choices": [], "usage": counted})
    yield "[DONE]"

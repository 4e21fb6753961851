"""A run that is killed at each of its steps goes on as if nothing had been: a real `akg-core run`, again and again."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from akg_core.agents.records import Tally
from akg_core.agents.trace import read_trace
from akg_core.pipeline.results import RunResult
from tests.agents import plain_c
from tests.agents.plain_c import KERNEL, files, sketch
from tests.agents.server import Say, Server
from tests.registry.distributions import install

ROOT = Path(__file__).parents[2]
PROGRAM = "import sys; from akg_core.cli import main; sys.argv[0] = 'akg-core'; main()"
KEY = "sk-nobody-may-see-this"
WRONG = KERNEL.replace("2.0f", "3.0f")
ACTIONS = ["design", "code", "fix", "faster", "fix", "fix", "accept"]


class Model:
    """Answers by what it is asked: a sketch, a wrong kernel, the right one, and for ever that. Hangs when it shall."""

    def __init__(self) -> None:
        self.hangs_at, self.hanging, self.answered = "", False, 0

    def __call__(self, asked: dict[str, Any]) -> Say:
        prompt = asked["messages"][-1]["content"]
        kind, text = "code", files(WRONG)
        if asked["messages"][0]["content"].startswith("You design"):
            kind, text = "design", sketch()
        elif "3.0f" in prompt or "2.0f" in prompt:
            kind, text = "faster" if "Make it faster" in prompt else "fix", files()
        if kind == self.hangs_at:
            self.hanging = True
            return Say(text, still_after=4, still_seconds=60)
        self.answered += 1
        return Say(text)


class Killed:
    """Starts `akg-core run` on one folder and kills it where it is told to. What was judged must stay as it is."""

    def __init__(self, folder: Path, url: str) -> None:
        self.run, self._folder, self._url = folder / "run", folder, url
        self._judged: dict[Path, int] = {}
        self.screen, self.code = "", 0

    def until(self, there: Callable[[], bool]) -> None:
        """Run, or go on, and kill the process with SIGKILL as soon as it is there."""
        with self._start() as process:
            while not there():
                assert process.poll() is None, self.said()
                time.sleep(0.002)
            process.kill()
        self._require_as_before()

    def interrupt(self, there: Callable[[], bool]) -> None:
        """Go on at a terminal, and press Ctrl-C as soon as it is there; keeps what was seen, and the exit code."""
        ours, theirs = pty.openpty()
        with self._start(theirs) as process, os.fdopen(ours, "rb", buffering=0) as terminal:
            os.close(theirs)
            pressed = False
            with contextlib.suppress(OSError):  # the other side has gone
                while True:
                    if select.select([terminal], [], [], 0.01)[0]:
                        seen = terminal.read(1 << 16)
                        self.screen += re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", seen.decode(errors="replace"))
                    if not pressed and there() and "step 3" in self.screen:
                        process.send_signal(signal.SIGINT)
                        pressed = True
            self.code = process.wait(10)
        self._require_as_before()

    def to_its_end(self) -> None:
        with self._start() as process:
            assert process.wait(120) == 0, self.said()
        self._require_as_before()

    def said(self) -> str:
        return (self._folder / "log").read_text()

    def is_there(self, pattern: str, without: str = "") -> bool:
        """Whether there is such a file in the run's folder, with no file of the other name beside it."""
        return any(not (without and (path.parent / without).exists()) for path in self.run.glob(pattern))

    def is_timing(self) -> bool:
        """Whether a second kernel has been judged and what the clock says is not known yet."""
        verdicts = [*self.run.glob("attempts/*/verdict.json")]
        return len(verdicts) == 2 and self.is_there("attempts/*/verdict.json", without="judged.json")

    def _require_as_before(self) -> None:
        now = {path: path.stat().st_mtime_ns for path in self.run.glob("attempts/*/judged.json")}
        assert self._judged.items() <= now.items()
        self._judged = now

    def _start(self, terminal: int | None = None) -> subprocess.Popen[bytes]:
        where = ("--resume", self.run) if (self.run / "answers").exists() else ("--out", self.run)
        options = ("--engine", "llm", "--plugin", "plain_c", "--model", "toy", "--base-url", self._url, "--no-baseline")
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", PROGRAM, "run", *options, *where, self._folder / "scaled.py"],
                env=os.environ | {"PYTHONPATH": f"{self._folder}:{ROOT}", "AKG_LLM_API_KEY": KEY, "COLUMNS": "140"},
                stdout=terminal or log,
                stderr=terminal or log,
                cwd=self._folder,
            )


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A run that was killed at each of its steps and then came to its end: the run, its model, the server."""
    folder, model = tmp_path_factory.mktemp("killed"), Model()
    install(folder, "plain_c", plain_c.PLUGIN)
    (folder / "scaled.py").write_text(plain_c.REFERENCE)
    (folder / "settings.toml").write_text("[prices.toy]\nread = 1\nwritten = 4\n")
    with Server(model) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AKG_SETTINGS", str(folder / "settings.toml"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        killed = Killed(folder, server.url)

        def while_asked(kind: str) -> None:
            model.hangs_at, model.hanging = kind, False
            killed.until(lambda: model.hanging)
            model.hangs_at = ""

        while_asked("design")
        killed.until(lambda: killed.is_there("attempts/*/sketch.py", without="judged.json"))
        killed.until(lambda: killed.is_there("attempts/*/kernel/reference.py"))  # it is compiled now
        killed.until(lambda: killed.is_there("attempts/*/build.log", without="verdict.json"))
        while_asked("fix")
        killed.until(killed.is_timing)
        model.hangs_at, model.hanging = "faster", False
        killed.interrupt(lambda: model.hanging)
        model.hangs_at = ""
        killed.until(lambda: killed.is_there("verdict.json"))  # the best is timed for the record
        killed.to_its_end()
        yield killed, model, server


def test_it_ends_as_if_nothing_had_been(ended):
    killed, _, _ = ended
    assert [event.decided.action for event in read_trace(killed.run) if event.decided] == ACTIONS
    assert "3.0f" not in (killed.run / "kernel" / "kernel.c").read_text()
    result = RunResult.model_validate_json((killed.run / "result.json").read_text())
    assert result.verdict.correct and result.timing.status == "ok" and result.error is None


def test_nothing_is_asked_twice_and_all_answers_are_counted(ended):
    killed, model, server = ended
    assert model.answered == len(ACTIONS) - 1
    assert len(server.requests) == len(ACTIONS) - 1 + 3, "three were under way when it was ended"
    tally = Tally.model_validate_json((killed.run / "agents.json").read_text())
    assert tally.answers == tally.steps == len(ACTIONS) - 1 and tally.tokens > 1000


def test_one_line_says_who_acts_and_ctrl_c_says_how_to_go_on(ended):
    killed, _, _ = ended
    assert killed.code == 130
    assert re.search(
        r"attempt 1 .*coder: faster · step 3 · [\d,]+ tokens · \$0\.\d+ · best [\d.]+x of eager", killed.screen
    )
    assert "what was done until then is in run. " in " ".join(killed.screen.split())
    assert "The same command with --resume run goes on." in killed.screen
    assert "Traceback" not in killed.screen and "Exception" not in killed.screen


def test_the_key_is_in_no_file_of_the_run_and_in_no_worker(ended):
    killed, _, server = ended
    assert {*server.keys} == {f"Bearer {KEY}"}
    written = [path for path in killed.run.parent.rglob("*") if path.is_file()]
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
    seen = (killed.run / "kernel" / plain_c.ENVIRONMENT).read_text()
    assert "XDG_CACHE_HOME" in seen and "AKG_LLM" not in seen

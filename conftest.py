"""For all tests: patience with properties, interrupts that arrive, threads as they were, and golden files."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

# A busy machine may take as long as it needs for an example of a property.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# What a shell starts in the background ignores interrupts, and so would all that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files anew")


@pytest.fixture(autouse=True)
def _as_many_threads_as_before() -> Iterator[None]:
    """What runs in a process of its own, where it may take one thread for good, is called in this one by many tests."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """golden(path, text) holds generated text against the file at `path`, or writes it with --update-golden."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), "run pytest with --update-golden and read the difference"

    return compare

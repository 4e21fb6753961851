"""Texts that several threads parse."""

from __future__ import annotations

import ast
import threading

import pytest

from akg_core import python_text


def test_one_text_is_parsed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    within, most = [], []
    parse, gate = ast.parse, threading.Barrier(3)

    def watched(text: str, **kwargs: str) -> ast.AST:
        within.append(text)
        most.append(len(within))
        try:
            return parse(text, **kwargs)
        finally:
            threading.Event().wait(0.01)  # in which another comes, if it may
            within.pop()

    def work() -> None:
        gate.wait()
        for _ in range(3):
            assert python_text.expression_of("a + 1").lineno == 1 and python_text.module_of("a = 1").body

    monkeypatch.setattr(ast, "parse", watched)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 18 and max(most) == 1

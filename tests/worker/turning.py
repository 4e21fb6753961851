"""Jobs that take turns, each in its own way, for `test_timekeeper`."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import torch

from akg_core.worker import child
from akg_core.worker.answers import described
from akg_core.worker.timekeeper import END, GO

SECONDS = 0.05


def turn_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{how, calls} → {}"""
    turns, how = child.turns, payload["how"]
    assert turns
    if how == "returns at once":
        return {}
    if how == "does not begin":
        turns.fail()
        raise ValueError("it does not begin")
    inputs = [torch.zeros(4) for _ in range(payload["calls"])]
    places = [[8] if how == "has its data nowhere" else [x.data_ptr()] for x in inputs]
    if how == "has one place for all":
        places = places[:1] * len(places)
    if how == "says nonsense":
        turns._clock.sendall(b"\0" * 7 + b"\x04" + b"{[]}")
    else:
        turns.ready(places[1:] if how == "has too few places" else places, described(inputs[0] * 2))
    while (told := turns.next()) != END:
        if how == "crashes":
            ctypes.string_at(0)
        if how == "hangs":
            time.sleep(60)
        if told == GO:
            answers = [2 * x for x in inputs]
            time.sleep(len(inputs) * SECONDS if how == "sleeps" else 0)
            if "picks" in how:
                told = (1 << 40 if "more" in how else int(y[0]) // 2 % 4 for y in answers)
                turns.done([word for y, size in zip(answers, told, strict=True) for word in (y.data_ptr(), size, 1)])
                continue
            turns.done([8 if how == "answers from nowhere" else y.data_ptr() for y in answers])
        else:
            time.sleep(SECONDS if "warm" in how else 0)
            turns.done()
    return {}

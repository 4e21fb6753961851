"""A small chaos run: whoever misbehaves costs its own verdict alone, and a benchmark that is killed goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.campaign import split
from tests.chaos.candidates import EXPECTED, HONEST, Candidate, draw
from tests.cli.conftest import needs_compiler

ROOT = Path(__file__).parents[2]


def test_a_third_of_the_candidates_misbehave_in_every_way():
    candidates = draw(500, seed=7)
    kinds = [candidate.kind for candidate in candidates]
    assert kinds.count(HONEST) == 334 and set(kinds) == set(EXPECTED)
    assert draw(500, seed=7) == candidates != draw(500, seed=8)
    assert [Candidate.named(candidate.name) for candidate in candidates] == candidates
    assert not any("correct" in verdicts for kind, verdicts in EXPECTED.items() if kind != HONEST)


def test_kills_come_while_candidates_are_judged_and_timed():
    judged, timed = split(draw(500, seed=0), kills=5, seed=0)
    assert len(judged.candidates) + len(timed.candidates) == 500
    assert len(set(judged.kills)) == 4 and len(timed.kills) == 1
    assert max(judged.kills) < len(judged.candidates) and max(timed.kills) < len(timed.candidates)


@needs_compiler
@pytest.mark.parametrize("seed", [0])
def test_chaos(seed):
    command = [sys.executable, "-m", "tests.chaos", "--count", "24", "--kills", "1", "--seed", str(seed)]
    ended = subprocess.run([*command, "--time-limit", "10"], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "WRONG" not in ended.stdout and "| benchmark killed and resumed | 1 |" in ended.stdout

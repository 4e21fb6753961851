"""The candidates of a chaos run: which there are, how each behaves, and which verdicts are right for it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HONEST = "honest"
EXPECTED = {
    HONEST: {"correct"},
    "segfault": {"crashed"},
    "abort": {"crashed"},
    "spin": {"timed out"},
    "sleep": {"timed out"},
    "fork_bomb": {"crashed", "timed out"},  # ended when there are too many; in vain where no process may be started
    "memory_bomb": {"crashed", "timed out"},  # on a busy machine its time may be up first
    "output": {"crashed"},
    "files": {"crashed"},
    "kill_group": {"crashed", "incorrect"},  # the first process of a namespace cannot end or stop itself
    "stop": {"timed out", "incorrect"},
    "close_all": {"crashed"},
    "corrupt": {"crashed", "cheating", "incorrect", "timed out"},
}
"""The kinds, and the verdicts that are right for each."""

_MOMENTS = (0, 1, 4)  # while it is loaded, in its first call, in its fourth
_TARGETS = ("tuple", "None", "type", "1")  # of the interpreter, whose memory is overwritten
_NAME = re.compile(r"c\d+_([a-z_]+?)(?:_(\d)_(\d))?")
_FORMULAS = (
    "torch.softmax(x * self.scale, dim=-1)",
    "(x * self.scale).sum(dim=-1)",
    "torch.relu(x) * self.scale + x",
)
_REFERENCE = '''"""The task of the candidate {name}."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(columns))

    def forward(self, x):
        return {formula}


def get_inputs():
    return [torch.rand(13, 24)]


def get_init_inputs():
    return [24]
'''


@dataclass(frozen=True)
class Candidate:
    """A candidate: its kind, the call in which it misbehaves (0: as it is loaded), and what a corruption hits."""

    name: str
    kind: str = HONEST
    moment: int = 0
    target: str = _TARGETS[0]

    @staticmethod
    def is_name(name: str) -> bool:
        """Whether this is the name of a candidate."""
        return _NAME.fullmatch(name) is not None

    @classmethod
    def named(cls, name: str) -> Candidate:
        """The candidate that a task's name tells of."""
        found = _NAME.fullmatch(name)
        if found is None or found[1] not in EXPECTED:
            raise ValueError(f"{name!r} is no candidate's name")
        return cls(name, found[1], int(found[2] or 0), _TARGETS[int(found[3] or 0)])

    @property
    def honest(self) -> bool:
        return self.kind == HONEST


def draw(count: int, seed: int) -> list[Candidate]:
    """So many candidates in random order, a third of which misbehave, every kind about equally often."""
    luck = random.Random(seed)
    kinds = [kind for kind in EXPECTED if kind != HONEST]
    luck.shuffle(kinds)
    drawn = [kinds[number % len(kinds)] if number < count // 3 else HONEST for number in range(count)]
    luck.shuffle(drawn)
    return [Candidate.named(name) for name in _names(drawn, luck)]


def write(candidates: list[Candidate], folder: Path) -> None:
    """A reference file for each candidate, no two alike; there are few different kernels among them."""
    folder.mkdir()
    for number, candidate in enumerate(candidates):
        formula = _FORMULAS[number % len(_FORMULAS)]
        text = _REFERENCE.format(name=candidate.name, formula=formula)
        (folder / f"{candidate.name}.py").write_text(text)


def _names(kinds: list[str], luck: random.Random) -> Iterator[str]:
    for number, kind in enumerate(kinds):
        how = f"_{luck.choice(_MOMENTS)}_{luck.randrange(len(_TARGETS))}"
        yield f"c{number:03}_{kind}{'' if kind == HONEST else how}"

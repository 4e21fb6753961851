"""The chaos run: candidates of which a third misbehave, judged by a benchmark that is killed and resumed.

    python -m tests.chaos --count 500 --kills 5 --seed 0

Prints a table in Markdown: the verdicts by kind, then what must hold of the whole. The exit code is 1 when something
is wrong.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.chaos.campaign import Campaign, Findings, split
from tests.chaos.candidates import EXPECTED, Candidate, draw

_FLAT_MIB = 8.0  # by which the orchestrator's memory may grow over a run
_WARM_ROWS = 10  # of a run, before its memory counts

Line = tuple[str, str, str, bool]
"""What, how many, what was found, and whether that is right."""


def main() -> int:
    """Run, print, and say whether all is right."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description="Judge candidates of which a third misbehave."
    )
    parser.add_argument("--count", type=int, default=500, help="candidates")
    parser.add_argument("--kills", type=int, default=5, help="how often the benchmark is killed and resumed")
    parser.add_argument("--seed", type=int, default=0, help="decides who misbehaves how, and when a kill comes")
    parser.add_argument("--together", type=int, default=6, help="candidates under way at once")
    parser.add_argument("--time-limit", type=float, default=5.0, help="seconds that a candidate may take")
    given = parser.parse_args()
    candidates = draw(given.count, given.seed)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        campaign = Campaign(Path(folder), given.seed, given.together, given.time_limit)
        for part in split(candidates, given.kills, given.seed):
            campaign.run(part)
    lines = [*_verdicts(candidates, campaign.found), *_whole(candidates, campaign.found, given.kills)]
    print("| what | how many | found | |\n| --- | --- | --- | --- |")
    for what, count, found, right in lines:
        print(f"| {what} | {count} | {found} | {'as it must be' if right else 'WRONG'} |")
    print(f"\n{given.count} candidates in {campaign.found.seconds:.0f} s, seed {given.seed}")
    for candidate in candidates:
        row = campaign.found.rows.get(candidate.name)
        if row and row.status not in EXPECTED[candidate.kind]:
            print(f"{row.name}: {row.status}, {row.reason}")
    return 0 if all(right for *_, right in lines) else 1


def _verdicts(candidates: list[Candidate], found: Findings) -> Iterator[Line]:
    """A line for each kind."""
    for kind, expected in EXPECTED.items():
        names = [candidate.name for candidate in candidates if candidate.kind == kind]
        statuses = Counter(found.rows[name].status if name in found.rows else "lost" for name in names)
        text = ", ".join(f"{status} ({count})" for status, count in statuses.most_common())
        yield kind.replace("_", " "), str(len(names)), text or "none", statuses.keys() <= expected


def _whole(candidates: list[Candidate], found: Findings, kills: int) -> Iterator[Line]:
    """A line for each thing that must hold of the run."""
    lost = [candidate.name for candidate in candidates if candidate.name not in found.rows]
    twice = [name for name, count in found.told.items() if count > 1]
    yield "benchmark killed and resumed", str(found.kills), f"{len(found.rows)} verdicts", found.kills == kills
    yield "lost", str(len(lost)), _spell(lost), not lost
    yield "judged twice", str(len(twice)), _spell(twice), not twice
    for what, left in (("processes", found.processes), ("files", found.files), ("device locks", found.locks)):
        yield f"{what} left behind", str(len(left)), _spell(left), not left
    growth = max(map(_growth, found.memory), default=0.0)
    most = max(max(run, default=0.0) for run in found.memory)
    yield "the orchestrator's memory", f"{most:.0f} MiB", f"grows by {growth:.1f} MiB", growth < _FLAT_MIB
    every = [set(names) for names in found.protections]
    common = set.intersection(*every) if every else set()
    yield "protections in force", str(len(common)), ", ".join(sorted(common)), bool(common)


def _growth(memory: list[float]) -> float:
    """MiB by which memory is larger in the last third of a run than in its first, once it is warm."""
    warm = memory[_WARM_ROWS:]
    third = len(warm) // 3
    return statistics.median(warm[-third:]) - statistics.median(warm[:third]) if third else 0.0


def _spell(names: list[str]) -> str:
    return ", ".join(sorted(set(names))[:5]) + " …" * (len(set(names)) > 5) or "none"


if __name__ == "__main__":
    sys.exit(main())

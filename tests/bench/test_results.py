"""The document of a benchmark: what is kept, what a later run may use of it, and the table made of it."""

from __future__ import annotations

import pytest
from rich.console import Console

from akg_core.agents.records import Tally
from akg_core.bench.results import Engine, Results, Row, geomean, unfinished
from akg_core.errors import UsageError
from akg_core.report.bench import line, show
from akg_core.storage import write_whole


def row(name: str, eager: float | None = 2.0, **fields) -> Row:
    given = {
        "group": "norm",
        "status": "correct",
        "digest": name,
        "cases": 4,
        "seconds": {"capture": 0.1},
        "floor_share": 0.5,
        "limited_by": "memory",
    }
    timed = {"median_ms": {"kernel": 1.0, "eager": eager}, "speedup": {"eager": (eager, eager, eager)}} if eager else {}
    return Row(**{"name": name, **given, **timed, **fields})


def document(*rows: Row, **fields) -> Results:
    given = {"suite": "files", "plugin": "toy", "target": "toy", "scale": 1.0, "baselines": ("eager",), "versions": {}}
    return Results(**{**given, "rows": rows, **fields})


def test_only_an_unfinished_run_of_the_same_kind_goes_on(tmp_path):
    path = tmp_path / "out.json"
    assert unfinished(path, document()) == document()
    write_whole(path, document(row("a"), row("b")))
    assert {row.digest for row in unfinished(path, document()).rows} == {"a", "b"}
    assert unfinished(path, document(scale=0.5)) == document(scale=0.5)
    write_whole(path, document(row("a"), finished=True))
    assert unfinished(path, document()) == document()


@pytest.mark.parametrize(("before", "now", "goes_on"), [(1, 3, True), (1, 0, True), (3, 3, False), (0, 3, False)])
def test_a_run_of_fewer_kernels_goes_on_as_one_of_more(tmp_path, before, now, goes_on):
    write_whole(tmp_path / "out.json", document(row("a"), finished=True, kernels=before))
    assert bool(unfinished(tmp_path / "out.json", document(kernels=now)).rows) == goes_on


def test_another_file_is_not_overwritten(tmp_path):
    (tmp_path / "out.json").write_text('{"my": "data"}')
    with pytest.raises(UsageError, match="something else"):
        unfinished(tmp_path / "out.json", document())


def test_the_geometric_mean_leaves_out_what_is_not_known():
    assert geomean([2.0, None, 8.0]) == pytest.approx(4.0) and geomean([None]) is None


def test_the_table_says_what_counts(capsys):
    rows = [
        row("fast", 4.0),
        row("slow", 0.5),
        row("wrong", None, status="incorrect", reason="it is wrong"),
        row("odd", 1.0, group="loss", weak=("TK102 zeros pass",)),
        row("wild", None, status="refused", captured=False, reason="it looks at values"),
        row("rare", None, status="refused", captured=True, reason="there is no rule for it"),
        row("old", None, group="not captured", status="failed", reason="as older documents have it"),
        row("many", 1.0, group="loss", refused=(1, 4)),
        row("many-rest1", 1.0, group="loss", refused=(1,)),
    ]
    show(Console(width=160), document(*rows, seconds=12.0))
    said = capsys.readouterr().out
    cells = {text.split()[0]: text.split() for text in said.splitlines() if text.strip()}
    assert cells["norm"][1:10] == ["5", "4", "2", "2", "1", "1.41", "0.50", "1", "1"]
    assert cells["all"][1:6] == ["9", "7", "2", "5", "2"] and "wrong: incorrect, it is wrong" in said
    judged, refused = said.split("refused, with no kernel to judge")
    assert "wild: it looks at values" in refused and "rare: there is no rule for it" in refused
    assert "wild" not in judged and "rare" not in judged and "old: failed" in judged
    assert "with no other for them" in said and "many-rest1: 1 case" in said and "many: 2 cases" not in said
    assert "slow 0.50x (1.000 ms, 50% of the memory roofline)" in said and "odd: TK102 zeros pass" in said


def test_a_line_says_status_or_times():
    assert "4.00x" in line(row("fast", 4.0), 1, 10) and line(row("fast"), 1, 10).startswith(" 1/10")
    assert "incorrect: it is wrong" in line(row("w", None, status="incorrect", reason="it is wrong"), 2, 2)
    assert "correct in 4 cases" in line(row("judged", None), 2, 2)
    tally = Tally(attempts=4, correct=3, steps=9, answers=10, tokens=12_345, dollars=0.5)
    assert line(row("made", tally=tally), 1, 1).endswith("(3 of 4 attempts, 12,345 tokens, $0.500)")


def test_the_table_says_what_agents_came_to(capsys):
    tallies = [Tally(attempts=2, correct=n, steps=4, answers=5, tokens=1000 * n, dollars=0.5) for n in (0, 1)]
    rows = [row(f"r{n}", tally=tally) for n, tally in enumerate(tallies)]
    show(Console(width=160), document(*rows, engine=Engine(name="llm", attempts=2)))
    said = capsys.readouterr().out
    assert next(text.split()[6:11] for text in said.splitlines() if text.strip().startswith("all ")) == [
        "25%",
        "50%",
        "4.0",
        "500",
        "0.500",
    ]

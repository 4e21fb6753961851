"""The README's figures are those of the results that lie in the repository."""

from __future__ import annotations

import re

from benchmarks import figures

TEXT = figures.README.read_text(encoding="utf-8")
PATHS = re.findall(r"<!-- results: (\S+) -->", TEXT)
COUNTED = [path for paths in re.findall(r"<!-- counts: ([^>]+) -->", TEXT) for path in paths.split()]


def test_the_tables_are_made_from_the_results():
    assert PATHS
    assert figures.filled(TEXT) == TEXT, "run `python -m benchmarks.figures`"


def test_a_table_counts_what_the_rows_say():
    for path in PATHS:
        results = figures.read(path)
        last = figures.table(results).splitlines()[-1].split(" | ")
        correct = [row for row in results.rows if row.status == "correct"]
        assert last[:3] == ["| all", str(len(results.rows)), str(len(correct))]
        assert float(last[4]) == round(min(row.speedup["eager"][0] for row in correct), 2)


def test_documents_without_times_are_counted():
    assert COUNTED
    for path in COUNTED:
        results = figures.read(path)
        correct = sum(row.status == "correct" for row in results.rows)
        (line,) = figures.counts([path]).splitlines()[2:]
        assert f"({path}) | {len(results.rows)} | {correct} | " in line

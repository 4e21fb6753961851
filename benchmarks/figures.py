"""The README's tables and the plots beside the results, made from the results themselves.

    python -m benchmarks.figures            # the tables
    python -m benchmarks.figures --plots    # the plots too, which need matplotlib

A table stands in the README between `<!-- results: PATH -->` and `<!-- end -->`; PATH is a document of
`akg-core bench --out`, and its plot lies beside it as an SVG. Between `<!-- counts: PATH PATH … -->` and `<!-- end -->`
stands one of several documents without times, such as those of kernels that were simulated.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from akg_core.bench.results import EQUAL, REFUSED, Results, Row, geomean, groups

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
_PLACE = re.compile(r"(<!-- results: (\S+) -->\n).*?(<!-- end -->)", re.S)
_COUNTED = re.compile(r"(<!-- counts: ([^>]+) -->\n).*?(<!-- end -->)", re.S)
_TITLES = {"eager": "eager", "compile": "torch.compile"}
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)


def filled(text: str) -> str:
    """A page with every table made anew."""
    text = _PLACE.sub(lambda place: f"{place[1]}{table(read(place[2]))}\n{place[3]}", text)
    return _COUNTED.sub(lambda place: f"{place[1]}{counts(place[2].split())}\n{place[3]}", text)


def read(path: str) -> Results:
    """A document of results, by its path from the project's root."""
    return Results.model_validate_json((ROOT / path).read_text(encoding="utf-8"))


def table(results: Results) -> str:
    """A row a group, in Markdown: geometric means of how many times faster, and the least of a group."""
    columns = ["", "tasks", "correct"]
    for baseline in results.baselines:
        columns += [f"x of {_TITLES[baseline]}", "least"]
    columns.append(f"no slower than {_TITLES[results.baselines[0]]}")
    lines = [
        columns,
        ["---"] * len(columns),
        *(_line(name, rows, results) for name, rows in groups(results.rows).items()),
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def counts(paths: Sequence[str]) -> str:
    """A row a document, in Markdown: how many tasks it has, how many are correct, and how many refused."""
    lines = [["", "suite", "tasks", "correct", "refused"], ["---"] * 5]
    for path in paths:
        results = read(path)
        status = [row.status for row in results.rows]
        counted = (len(status), status.count("correct"), status.count(REFUSED))
        lines.append([f"`{results.plugin}`, {results.target}", f"[{results.suite}]({path})", *map(str, counted)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def plot(results: Results, path: Path) -> None:
    """How many times faster than the first baseline each task is, by group; a line marks a group's geometric mean."""
    from matplotlib import pyplot

    baseline = results.baselines[0]
    pyplot.rcParams["svg.hashsalt"] = path.name  # the same results make the same file
    every = _ratios([*results.rows], baseline)
    figure, axes = pyplot.subplots(figsize=(10, 4), layout="constrained")
    names = []
    for place, (name, rows) in enumerate(groups(results.rows).items()):
        ratios = sorted(_ratios(rows, baseline))
        names.append(f"{name}\n{_spell(geomean(ratios))}x\n{len(ratios)} of {len(rows)}")
        if ratios:
            spread = [place + 0.5 * (index / max(1, len(ratios) - 1) - 0.5) for index in range(len(ratios))]
            axes.scatter(spread, ratios, s=14, color="#4477aa", alpha=0.7, linewidths=0)
            axes.hlines(geomean(ratios), place - 0.4, place + 0.4, color="#ee6677", linewidth=2)
    axes.axhline(1, color="gray", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_yticks(_TICKS, [f"{tick:g}x" for tick in _TICKS])
    axes.set_yticks([], minor=True)
    axes.grid(axis="y", linewidth=0.3)
    axes.set_ylim(0.9 * min(0.9, *every), 1.1 * max(1.1, *every))
    axes.set_xticks(range(len(names)), names, fontsize=7)
    axes.set_ylabel(f"times faster than {_TITLES[baseline]}")
    axes.set_title(f"{results.plugin} on {results.machine.get('processor', results.target)}")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _line(name: str, rows: list[Row], results: Results) -> list[str]:
    cells = [name, str(len(rows)), str(sum(row.status == "correct" for row in rows))]
    for baseline in results.baselines:
        ratios = _ratios(rows, baseline)
        cells += [_spell(geomean(ratios)), _spell(min(ratios, default=None))]
    return [*cells, str(sum(ratio >= EQUAL for ratio in _ratios(rows, results.baselines[0])))]


def _ratios(rows: list[Row], baseline: str) -> list[float]:
    return [ratio for row in rows if row.status == "correct" and (ratio := row.ratio(baseline)) is not None]


def _spell(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the README's tables, and plots, from the results.")
    parser.add_argument("--plots", action="store_true", help="make the plots too")
    asked = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    README.write_text(filled(text), encoding="utf-8")
    if asked.plots:
        for _, path, _ in _PLACE.findall(text):
            plot(read(path), (ROOT / path).with_suffix(".svg"))


if __name__ == "__main__":
    main()

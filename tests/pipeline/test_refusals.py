"""What does not fit, spills or does not compile is no end: smaller tiles, then the next design, are tried."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from akg_core.errors import AkgError, DoesNotFit, KernelFailed
from akg_core.lower.resources.work import Work
from akg_core.pipeline import jobs
from akg_core.pipeline.results import RunResult
from akg_core.records import Choice, Interface, Schedule, Shortage, Sketch, Target
from akg_core.registry import installed
from akg_core.runs import RunFolder
from akg_core.stages import stages
from akg_core.stages.building import Spill, fitted, smaller_of, spills, unbuildable
from akg_core.stages.progress import StageNote
from akg_core.stages.stages import Candidate, Design, Designed, Request
from akg_core.stages.variants import Variants
from akg_core.stages.warm import WARM
from akg_core.worker import pool as pools
from akg_core.worker.pool import Pool
from tests.cli.conftest import needs_compiler
from tests.pipeline import tight

REFERENCE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 256)

    def forward(self, x):
        return torch.softmax(self.linear(x), -1)


def get_inputs():
    return [torch.randn(128, 32)]


def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Pool]]:
    """A folder in which the plugin is installed, and one warm parent that finds it there."""
    folder = tmp_path_factory.mktemp("site")
    tight.install(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("TIGHT", str(folder / "strict.json"))
        installed.cache_clear()
        with Pool(warm=WARM) as pool:
            yield folder, pool
    installed.cache_clear()


@pytest.fixture
def run(site: tuple[Path, Pool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the reference with a compiler that is made strict; `.designed` counts the jobs that design."""
    folder, pool = site
    monkeypatch.setattr(pools, "Pool", lambda *given, **options: contextlib.nullcontext(pool))
    (tmp_path / "head.py").write_text(REFERENCE)
    designed = list[int]()
    design = stages.design

    def counting(pool: Any, request: Request, task: Any, traits: Any, number: int = 0) -> Designed:
        designed.append(number)
        return design(pool, request, task, traits, number)

    monkeypatch.setattr(stages, "design", counting)
    lines = list[str]()

    def run(sketch: Path | None = None, **strict: object) -> RunResult:
        (folder / "strict.json").write_text(json.dumps(strict))
        target = Target(backend="cpu")
        request = Request(tmp_path / "head.py", tight.NAME, target, sketch=sketch, baseline=False)
        watch = lambda stage: lines.append(f"{stage.name} {stage.status} {stage.note}")  # noqa: E731
        return jobs.run(request, RunFolder(tmp_path / "run"), watch)

    found = cast("Any", run)
    found.designed, found.lines, found.folder = designed, lines, tmp_path / "run"
    return found


def schedule(folder: Path) -> dict[str, int]:
    return json.loads((folder / "schedule.json").read_text())["values"]


@needs_compiler
def test_an_accepted_first_variant_is_the_only_one_that_is_designed(run: Any) -> None:
    result = run()
    assert result.exit_code == 0 and result.verdict.correct and run.designed == [0]
    assert any(line.startswith("design done 2 kernels") for line in run.lines)


@needs_compiler
def test_what_does_not_fit_is_built_with_smaller_tiles(run: Any) -> None:
    result = run(tiles=64)
    assert result.exit_code == 0 and result.verdict.correct and run.designed == [0]
    assert max(schedule(run.folder).values()) == 64
    first = next(note for note in result.verdict.notes if "The variant" in note)
    assert "did not fit" in first and "needs 128 of 64 positions" in first and "tiles one choice down" in first
    assert any(line.startswith("compile failed") and "needs 128 of 64" in line for line in run.lines)
    assert json.loads((run.folder / "verdict.json").read_text())["notes"] == list(result.verdict.notes)


@needs_compiler
@pytest.mark.parametrize("why", ["never", "fault"])
def test_what_cannot_be_built_is_followed_by_the_next_design(run: Any, why: str) -> None:
    result = run(**{why: "head"})
    assert result.exit_code == 0 and result.verdict.correct and run.designed[:2] == [0, 1]
    assert any("The variant head: it was refused" in note for note in result.verdict.notes)


@needs_compiler
def test_when_no_design_fits_the_run_ends_with_a_sentence(run: Any) -> None:
    result = run(never="")
    assert result.exit_code == 1 and result.verdict is None
    assert "None of" in result.error.message and "positions" in result.error.message
    assert any("tiles one choice down" in note for note in result.notes)


@needs_compiler
def test_a_sketch_that_was_given_is_built_as_it_is_or_not_at_all(run: Any, tmp_path: Path) -> None:
    assert run().exit_code == 0
    own = tmp_path / "own.py"
    own.write_text((run.folder / "sketch.py").read_text())
    result = run(own, tiles=64)
    assert result.exit_code == 1 and "did not fit" in result.error.message and run.designed == [0, 0]


@needs_compiler
def test_what_spills_more_than_it_moves_gets_smaller_tiles(run: Any) -> None:
    result = run(spills=64)
    assert result.verdict.correct and max(schedule(run.folder).values()) == 64
    assert any("spills more than it moves" in note for note in result.verdict.notes)


SPACE = (
    Choice(key="a.BM", choices=(16, 64, 128), default=128),
    Choice(key="a.BN", choices=(64,), default=64),
    Choice(key="a.m.warps", choices=(4, 8), default=8),
    Choice(key="b.BM", choices=(1, 2), default=1),
)
DEFAULT = Schedule(values={choice.key: choice.default for choice in SPACE})
DESIGN = Design(sketch=Sketch(name="s", text="", interface=Interface(arguments=())), space=SPACE, default=DEFAULT)


def test_the_largest_tile_of_the_named_kernel_goes_one_choice_down() -> None:
    first = smaller_of(Candidate(DESIGN, DEFAULT), ["a", "a"], every=True)
    assert first is not None and first.schedule.values == DEFAULT.values | {"a.BM": 64}
    second = smaller_of(first, ["a"], every=True)
    assert second is not None and second.schedule.values["a.BM"] == 16
    assert smaller_of(second, ["a"], every=True) is None
    assert smaller_of(Candidate(DESIGN, DEFAULT), ["a", "b"], every=True) is None, "b never fits"
    both = smaller_of(Candidate(DESIGN, DEFAULT), ["a", "b"], every=False)
    assert both is not None and both.schedule.values["a.BM"] == 64


class Bench:
    """Builds nothing: what each schedule of the kernel a spills, and which do not fit, is made up."""

    def __init__(self, spilled: dict[int, int], too_large: tuple[int, ...] = ()) -> None:
        self.spilled, self.too_large, self.made_of, self.told = spilled, too_large, list[int](), list[str]()

    def fitted(self) -> Candidate:
        return fitted(Candidate(DESIGN, DEFAULT), cast("Any", None), self.made, lambda _, what: self.told.append(what))

    def made(self, candidate: Candidate) -> Candidate:
        tile = cast("int", candidate.schedule.values["a.BM"])
        self.made_of.append(tile)
        if tile in self.too_large:
            raise DoesNotFit("No.", shortages=(Shortage(kernel="a", of="bytes", needs=tile, has=1),))
        return replace(candidate, spilled={"a": self.spilled.get(tile, 0)})


@pytest.mark.parametrize(
    ("spilled", "too_large", "made", "tile"),
    [
        ({}, (), [128], 128),
        ({128: 2}, (), [128, 64], 64),
        ({128: 30, 64: 20, 16: 40}, (), [128, 64, 16, 64], 64),
        ({128: 30, 64: 40, 16: 30}, (), [128, 64, 16, 128], 128),
        ({64: 20}, (128,), [128, 64, 16], 16),
        ({128: 20}, (64, 16), [128, 64, 16, 128], 128),
    ],
)
def test_the_best_that_was_built_is_kept(
    monkeypatch: pytest.MonkeyPatch, spilled: dict[int, int], too_large: tuple[int, ...], made: list[int], tile: int
) -> None:
    work = ((Work(programs=1, bytes=1.0, operations=0, kernel="a"),),)
    monkeypatch.setattr(stages, "work", lambda *given: work)
    bench = Bench(spilled, too_large)
    found = bench.fitted()
    assert bench.made_of == made and found.schedule.values["a.BM"] == tile


def test_what_fits_with_no_tiles_is_raised() -> None:
    bench = Bench({}, (128, 64, 16))
    with pytest.raises(DoesNotFit):
        bench.fitted()
    assert bench.made_of == [128, 64, 16] and len(bench.told) == 2


def test_spills_count_for_all_programs_of_a_launch() -> None:
    launches = [
        Work(programs=100, bytes=5e3, operations=0, kernel="a"),
        Work(programs=1, bytes=5e3, operations=0, kernel="a"),
        Work(programs=100, bytes=5e3, operations=0, kernel="b"),
    ]
    assert spills(launches, {"a": 60, "b": 50}) == [Spill("a", 6e3, 5e3)]
    assert not spills(launches, {})
    large = Work(programs=100, bytes=6e5, operations=0, kernel="c")
    assert not spills([*launches, large], {"a": 60}), "less than a hundredth of what all of them move"


def test_a_shortage_says_what_is_known_of_it() -> None:
    assert str(Shortage(kernel="k", of="bytes", needs=3, has=2)) == "k needs 3 of 2 bytes"
    assert str(Shortage(kernel="k", of="seconds of compiling", has=30)) == "k needs more than 30 seconds of compiling"


def test_one_sketch_that_fails_says_why_by_itself() -> None:
    error = KernelFailed("It is too large.")
    candidate = Candidate(DESIGN, DEFAULT)
    assert unbuildable([(candidate, error)]) is error
    said = unbuildable([(candidate, error), (candidate, AkgError("Other."))])
    assert said.exit_code == 1 and said.message == "None of 2 sketches becomes a kernel. s: It is too large. Nor do s."


def variant(text: str) -> Design:
    return Design(sketch=Sketch(name=text, text=text, interface=Interface(arguments=())), space=(), default=Schedule())


def test_variants_are_designed_as_far_as_somebody_asks() -> None:
    asked = list[int]()

    def design(number: int) -> Designed:
        asked.append(number)
        if number == 3:
            raise AkgError("It took too long.")
        found = ((variant("a"),), (variant("a"),), (variant("b"), variant("c")), (), ())[number]
        return Designed(designs=found, of=5)

    told = list[str]()
    variants = Variants(design, tell=told.append)
    assert variants.first.sketch.text == "a" and asked == [0] and not variants.exhausted
    one, two = iter(variants), iter(variants)
    assert [next(one).sketch.text, next(one).sketch.text] == ["a", "b"] and asked == [0, 1, 2]
    assert [each.sketch.text for each in two] == ["a", "b", "c"] and asked == [0, 1, 2, 3, 4] and variants.exhausted
    assert told == ["The variant 3 could not be designed: It took too long."]
    assert [each.sketch.text for each in Variants(design).all()] == ["a", "b", "c"]


def test_that_there_is_no_further_variant_is_said_once() -> None:
    said = list[StageNote]()

    @contextlib.contextmanager
    def stage() -> Iterator[StageNote]:
        said.append(StageNote(lambda text: None))
        yield said[-1]

    assert len(list(Variants(lambda number: Designed(designs=(variant("a"),), of=5), stage))) == 1
    assert [note.text for note in said] == ["0 kernels", "no further variant"]


def test_a_first_variant_that_cannot_be_designed_is_raised() -> None:
    def design(number: int) -> Designed:
        raise AkgError("There is no rule.")

    with pytest.raises(AkgError, match="no rule"):
        Variants(design).all()

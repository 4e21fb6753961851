"""The memory that judging a task takes is estimated before it is taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from akg_core.device import HOST, Device
from akg_core.errors import OutOfMemory
from akg_core.judge.compare import bits
from akg_core.judge.compare.case import Expected
from akg_core.judge.compare.ties import Tie
from akg_core.judge.records import Draw
from akg_core.judge.reference import answering, by_rows, drawing, memory, memory_estimate, process, schedule, written
from akg_core.judge.reference.locality import Locality
from akg_core.judge.reference.memory import answer_bytes, cases_that_fit, keeping, lent, rationed
from akg_core.judge.reference.memory_estimate import (
    FASTER,
    ROW_BYTES,
    await_room,
    bytes_needed,
    bytes_on_device,
    cases_within,
    likely_cases,
    require_room,
)
from akg_core.judge.reference.noise import noise_of
from akg_core.judge.reference.other_sizes import asked
from akg_core.judge.reference.precise import is_of_dtypes
from akg_core.records import Task
from akg_core.task.source.load import ReferenceModule, reference_filename
from akg_core.worker.tensors import save

KiB = 1 << 10


@pytest.fixture(autouse=True)
def _no_kept_tensors():
    yield
    drawing._kept.clear()


@pytest.fixture(scope="module")
def of(capture: Callable[..., Task]) -> Callable[[str], Task]:
    def of(forward: str) -> Task:
        source = f"""
            import torch
            class Model(torch.nn.Module):
                def forward(self, x):
                    return {forward}
            def get_inputs(): return [torch.randn(16, 16)]  # a KiB
            def get_init_inputs(): return []
        """
        return capture(dedent(source))

    return of


@pytest.mark.parametrize(
    ("forward", "alive"),
    [
        ("torch.relu(x)", 1),
        ("torch.relu(x).t().exp()", 2),  # a view is no memory, and keeps what it shows
        ("torch.relu(x).exp().neg().sin()", 2),  # what nobody reads any more is given back
        ("torch.relu(x) * torch.exp(x)", 3),
    ],
)
def test_what_is_alive_at_once_is_counted_in_float64(of: Callable[[str], Task], forward: str, alive: int) -> None:
    held = 2 * 1 + 4 * 1  # inputs of two cases, outputs of four runs
    reference = 1 + 1 + 2 * (1 + alive)
    assert bytes_needed(of(forward)) == (held + reference) * KiB


class _Small(Device):
    def free_bytes(self) -> int:
        return 14 * KiB


def test_a_task_that_does_not_fit_is_refused_with_both_figures(of: Callable[[str], Task]) -> None:
    require_room(of("torch.relu(x)"), _Small())
    with pytest.raises(OutOfMemory, match=r"takes about .* GiB of memory, and .* GiB are free\..*--scale"):
        require_room(of("torch.stack([x.exp()] * 4, 1)"), _Small())


def test_a_task_of_which_float64_may_be_run_on_some_rows_at_a_time_needs_less_room(of: Callable[[str], Task]) -> None:
    forward = "torch.relu(x) * torch.exp(x)"
    assert bytes_needed(of(forward)) > 14 * KiB
    require_room(of(forward), _Small())
    with pytest.raises(OutOfMemory):
        require_room(of(f"({forward}).t()[:-1]"), _Small())  # which has no row for each of the input's


def test_comparing_counts_where_outputs_are_most(of: Callable[[str], Task]) -> None:
    held, comparing = 2 * 1 + 4 * 9, 5 * 9  # eager's, float64's, and the candidate's of two runs
    reference = 1 + 9 + 2 * (1 + 9)
    assert comparing > reference
    assert bytes_needed(of("torch.cat([x] * 9)")) == (held + comparing) * KiB


def test_a_task_is_judged_on_as_many_cases_as_there_is_room_for(of: Callable[[str], Task]) -> None:
    task = of("torch.relu(x)")
    need = bytes_on_device(task, 1 << 40)
    assert cases_within(task, need) == cases_within(task, 1 << 40) == 10
    case = 1 + 1 + 3  # its input, the candidate's output, and the answer, in float64 too
    assert cases_within(task, need - 1) == 9 and bytes_on_device(task, need - 1) == need - case * KiB
    assert cases_within(task, 0) == 2


def test_a_task_whose_rows_hold_all_kinds_is_likely_to_be_judged_on_fewer_cases(of: Callable[[str], Task]) -> None:
    many, one = of("torch.relu(x)"), of("torch.relu(x).sum()")
    assert (likely_cases(many), likely_cases(one)) == (6, 10)
    assert bytes_on_device(many, 1 << 40) - bytes_on_device(many, 1 << 40, 6) == (10 - 6) * (1 + 1 + 3) * KiB
    assert bytes_on_device(many, 0, 6) == bytes_on_device(many, 0), "no more than there is room for"


def test_the_process_of_a_kernel_holds_tensors_of_all_runs(of: Callable[[str], Task]) -> None:
    inputs, reference, held, kept, piece = 2 * 1, 1 + 4 + 2 * (1 + 1 + 2), 4 * 1, 2 * 3, 10  # noise holds most
    contexts = (3 << 30) + FASTER * ROW_BYTES  # and a row of calls
    assert bytes_on_device(of("torch.relu(x)"), 0) - contexts == (inputs + reference + held + kept + piece) * KiB


def test_the_largest_case_of_a_dynamic_task_counts(capture: Callable[..., Task]) -> None:
    """It has 65,536 rows more than the example, unless one call would take long at that size."""
    text = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(5, {columns})]


def get_init_inputs():
    return []
"""
    few, many = (capture(text.replace("{columns}", str(columns)), dynamic=True) for columns in (64, 9000))
    for task, rows in ((few, (1 << 16) + 5), (many, 5 * 4 + 3)):
        first, *others = asked(task, HOST)
        assert first.symbols == task.symbols
        assert max(other.symbols["s0"] for other in others) == rows
    largest = ((1 << 16) + 5) * 64 * 4
    assert memory_estimate.bytes_of_answers(few) > largest
    assert memory_estimate.bytes_of_process(few) > 2 * largest


def test_a_case_that_the_graph_is_not_for_has_no_sizes_there(capture: Callable[..., Task]) -> None:
    """Of 14 rows in groups of 7 forward makes another number; as the graph has it, it would divide by zero."""
    text = """
import torch


class Model(torch.nn.Module):
    def forward(self, x, group: int, rows: list):
        return x.repeat(12 // (rows[0] // group), 1)


def get_inputs():
    return [torch.randn(5, 7), 2, [6]]


def get_init_inputs():
    return []


def get_inputs_dyn_list():
    return [[torch.randn(5, 7), 2, [6]], [torch.randn(5, 9), 3, [6]], [torch.randn(5, 9), 7, [14]]]
"""
    task = capture(text)
    assert task.refused == (2,) and len(task.cases) == 3
    sizes = [each.symbols for each in asked(task, HOST)]
    assert task.cases[1] in sizes and task.cases[2] not in sizes
    assert memory_estimate.bytes_of_process(task)


def test_how_many_cases_a_device_has_room_for_depends_on_nothing_else_there(of: Callable[[str], Task]) -> None:
    task = of("torch.relu(x)")
    room = bytes_on_device(task, 1 << 40) - 1
    assert cases_that_fit(task, _Busy(), room) == 9
    assert cases_that_fit(task, _Busy(), 0) == 2, "where nothing is known of the device, what is free counts"
    assert cases_that_fit(task, Device(), room) == 0, "on the host all do: what is kept of them depends on memory"


def test_answers_that_do_not_fit_are_not_kept_on_the_host() -> None:
    class Small(Device):
        def free_bytes(self) -> int:
            return 3 * KiB

    expected = {"one": Expected({"output": torch.zeros(256)}, {})}
    fits = rationed(Small(), expected)
    assert fits()
    expected["other"] = Expected({"output": torch.zeros(1)}, {})
    assert not fits()


def test_what_a_process_that_ended_held_is_waited_for_where_a_device_gives_it_back_later() -> None:
    device = _GivingBack()
    assert await_room(device, 5) == 5 and device.looks == 5
    device.name = "cpu"
    assert await_room(device, 50) == 6, "the host's is free at once"


def test_who_has_waited_in_vain_for_memory_waits_again_only_when_more_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_estimate, "_in_vain", {})
    monkeypatch.setattr(memory_estimate, "_GIVEN_BACK_SECONDS", 0.1)
    monkeypatch.setattr(memory_estimate, "_SLIGHT_BYTES", 2)
    full = _Full()
    assert await_room(full, 50) == 10
    waited = full.looks
    assert waited > 2
    full.free = 12
    assert await_room(full, 50) == 12 and full.looks == waited + 1, "twelve answers would take a minute"
    full.free = 13
    assert await_room(full, 50) == 13 and full.looks > waited + 3


def test_what_indices_point_into_counts_as_part_of_an_answer() -> None:
    """It is kept with the answer, and an argument may be far larger than the indices."""
    values, found = torch.zeros(1 << 10, 1 << 10), torch.zeros(1 << 10, dtype=torch.int64)
    pointing = Expected({"output": found}, {}, {"output": found}, {"output": Tie(values, 0, (1 << 10,))})
    assert answer_bytes(pointing) == 2 * found.nbytes + values.nbytes


class _GivingBack(Device):
    """A device that has a byte more each time that one looks."""

    name, looks = "giving back", 0

    def free_bytes(self) -> int:
        self.looks += 1
        return self.looks


class _Full(Device):
    name, looks, free = "elsewhere", 0, 10

    def free_bytes(self) -> int:
        self.looks += 1
        return self.free


class _Busy(Device):
    name = "elsewhere"

    def free_bytes(self) -> int:
        return 0


def test_what_is_lent_takes_no_memory_and_comes_back_to_its_views() -> None:
    exact = torch.arange(6.0, dtype=torch.float64)
    view = exact[2:].view(2, 2)
    with lent([exact, view, 7, torch.empty(0)]):
        assert exact.untyped_storage().nbytes() == 0
    assert view.tolist() == [[2.0, 3.0], [4.0, 5.0]] and exact.sum() == 15


@pytest.mark.parametrize(
    ("forward", "is_cut"),
    [
        ("x.exp()", True),
        ("torch.stack([x.exp(), x.sin()], 1)", True),
        ("x - x.mean()", False),
        ("x.exp() * torch.arange(len(x))[:, None]", False),
    ],
)
def test_noise_for_which_memory_is_short_is_drawn_for_some_rows_at_a_time_or_while_answers_wait_on_the_host(
    of: Callable[[str], Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forward: str, is_cut: bool
) -> None:
    def noise() -> torch.Tensor:
        return (noise_of(reference, draw, 1.0, 2) or {})["output"]

    def in_little(*args: Any) -> object:
        rows.append(len(args[2][0]))
        exact = reference.expected[draw.name].exact or {}
        if rows[-1] > 5 and exact["output"].untyped_storage().nbytes():
            raise OutOfMemory("forward, run in float64, raises OutOfMemoryError: CUDA out of memory.", "")
        return run(*args)

    rows: list[int] = []
    reference, draw = answered(of(forward), tmp_path)
    run = answering.answer_in_double
    plain = noise()
    answering.forget(reference, draw.name)
    answering.expected_of(reference, draw)
    for module in ("answering", "noise"):
        monkeypatch.setattr(f"akg_core.judge.reference.{module}.answer_in_double", in_little)
    monkeypatch.setattr(by_rows, "PART_BYTES", answer_bytes(reference.expected[draw.name]) * 5 // rows_of(reference))
    found = noise()
    assert rows[-1] == (1 if is_cut else rows_of(reference)), "of 16 rows in fives, the last, or all"
    assert float(found.norm() / plain.norm()) == pytest.approx(1, abs=0.2)
    assert not is_cut or all(row.any() for row in found.split(16)), "every row has some"


@pytest.mark.parametrize(("forward", "is_apart"), [("x.exp()", True), ("x - x.mean()", False)])
def test_noise_is_drawn_for_the_rows_in_doubt_alone_where_rows_are_apart(
    of: Callable[[str], Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forward: str, is_apart: bool
) -> None:
    def counted(*args: Any) -> object:
        rows.append(len(args[2][0]))
        return run(*args)

    rows: list[int] = []
    reference, draw = answered(of(forward), tmp_path)
    run = answering.answer_in_double
    monkeypatch.setattr("akg_core.judge.reference.noise.answer_in_double", counted)
    found = (noise_of(reference, draw, 1.0, 2, torch.tensor([3, 7])) or {})["output"]
    assert set(rows) == {2 if is_apart else 16}
    moved = found.view(16, -1).any(1)
    assert bool(moved[[3, 7]].all()) and int(moved.sum()) == (2 if is_apart else 16)
    whole = (noise_of(reference, draw, 1.0, 2) or {})["output"].view(16, -1)[[3, 7]]
    assert float(found.view(16, -1)[[3, 7]].norm() / whole.norm()) == pytest.approx(1, abs=0.3)


def test_noise_moves_what_a_call_leaves_in_the_module_too(capture: Callable[..., Task], tmp_path: Path) -> None:
    source = """
        import torch
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(16))
            def forward(self, x):
                self.mean.copy_(x.mean(0))
                return x - self.mean
        def get_inputs(): return [torch.randn(16, 16)]
        def get_init_inputs(): return []
    """
    reference, draw = answered(capture(dedent(source)), tmp_path)
    noise = noise_of(reference, draw, 1.0, 2)
    assert noise and set(noise) == {"output", "state mean"} and all(float(moved.max()) > 0 for moved in noise.values())


def answered(task: Task, folder: Path) -> tuple[drawing.Reference, Draw]:
    """A reference that has answered its first case, which is given, too."""
    process.open_job({"task": task.model_dump(mode="json"), "folder": str(folder), "seed": 0})
    process.prepare_job({"room": 0})
    reference = drawing.current()
    draw = next(iter(reference.plans.values()))
    answering.expected_of(reference, draw)
    return reference, draw


def rows_of(reference: drawing.Reference) -> int:
    """The rows of the first case's only argument."""
    return len(drawing.drawn(reference, next(iter(reference.plans.values())))[0][0])


def test_answers_in_float64_for_which_memory_is_short_come_by_parts(
    of: Callable[[str], Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_little(*args: Any) -> object:
        if len(args[2][0]) > 5:
            raise OutOfMemory("forward, run in float64, raises OutOfMemoryError: CUDA out of memory.", "")
        return run(*args)

    process.open_job({"task": of("x.softmax(1)").model_dump(mode="json"), "folder": str(tmp_path), "seed": 0})
    process.prepare_job({"room": 0})
    reference, run = drawing.current(), answering.answer_in_double
    draw = next(iter(reference.plans.values()))
    whole = answering.expected_of(reference, draw).exact
    answering.forget(reference, draw.name)
    for module in ("answering", "noise"):
        monkeypatch.setattr(f"akg_core.judge.reference.{module}.answer_in_double", in_little)
    monkeypatch.setattr(by_rows, "PART_BYTES", 64)
    made, empty = list[torch.Size](), torch.empty
    monkeypatch.setattr(torch, "empty", lambda *args, **kwargs: made.append(args[0]) or empty(*args, **kwargs))
    exact = answering.expected_of(reference, draw).exact
    assert exact and made.count(exact["output"].shape) == 1
    assert whole and torch.allclose(exact["output"], whole["output"], rtol=1e-12)
    reference.local = Locality()
    answering.forget(reference, draw.name)
    with pytest.raises(OutOfMemory):
        answering.expected_of(reference, draw)


@pytest.mark.parametrize(
    ("forward", "inputs"),
    [
        ("(x, mask): return torch.cumsum(x * mask, 1)", "torch.randn(16, 8), torch.rand(16, 8) < 0.5"),
        ("(q, k, v): return (q @ k.mT).softmax(-1) @ v", ", ".join(["torch.randn(16, 2, 4, 8)"] * 3)),
        ("(a, b): return a @ b", "torch.randn(16, 16), torch.randn(16, 16)"),
        ("(x): return x.softmax(1), torch.arange(2 * len(x)).view(2, -1).t()", "torch.randn(16, 8)"),
        ("(x): v, at = x.topk(3, 1); return v, torch.where(v > 0, at, 9)", "torch.randint(-2, 2, (16, 8)).float()"),
    ],
    ids=["mask", "attention", "product", "numbers of rows", "equal values"],
)
def test_all_arguments_that_hold_rows_are_cut_and_nothing_else(
    capture: Callable[..., Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forward: str, inputs: str
) -> None:
    def counted(*args: Any) -> object:
        rows.append(len(args[2][0]))
        return run(*args)

    source = f"""
        import torch
        class Model(torch.nn.Module):
            def forward{forward.replace("(", "(self, ", 1)}
        def get_inputs(): return [{inputs}]
        def get_init_inputs(): return []
    """
    run, rows = answering.answer_in_double, list[int]()
    monkeypatch.setattr(answering, "answer_in_double", counted)
    monkeypatch.setattr(by_rows, "PART_BYTES", 1)
    monkeypatch.setattr(Device, "free_bytes", lambda self: 1 << 40)
    process.open_job({"task": capture(dedent(source)).model_dump(mode="json"), "folder": str(tmp_path), "seed": 0})
    monkeypatch.setattr(Device, "free_bytes", lambda self: 0)
    process.prepare_job({"room": 0})
    reference = drawing.current()
    draw = next(iter(reference.plans.values()))
    due = run(reference, draw, *drawing.drawn(reference, draw))
    found = answering.expected_of(reference, draw).exact
    assert set(rows) == {1}, "never run on more than one row"
    assert found and due and all(torch.allclose(found[name], due[name], rtol=1e-12) for name in found)


@pytest.mark.parametrize(("free", "is_kept"), [(100, True), (3, False)])
def test_a_large_answer_stays_in_memory_where_others_have_room_beside_it(
    monkeypatch: pytest.MonkeyPatch, free: int, is_kept: bool
) -> None:
    answer = Expected({"output": torch.zeros(1 << 18)}, {})
    monkeypatch.setattr(Device, "free_bytes", lambda self: free << 20)
    assert memory.is_kept(answer, Device()) == is_kept


def test_a_part_is_small_by_its_inputs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(16, 64)
    whole = {"output": x.sum(1)}
    monkeypatch.setattr(by_rows, "PART_BYTES", 4 * 64 * 8)
    found = by_rows.parts(Locality(1, (0,), 16), [x], 16 * 8, lambda given: {"output": given[0].sum(1)}, whole)
    assert [len(given[0]) for _, given in found] == [4] * 4


class _Lending(Device):
    """Lends copies, of which it keeps count, and has so many bytes free."""

    def __init__(self, free: int) -> None:
        self.free, self.lent = free, 0

    def share(self, flat: torch.Tensor) -> dict[str, Any]:
        self.lent += 1
        return {"handle": "", "bytes": flat.nbytes}

    def take_back(self) -> None:
        self.lent = 0

    def free_bytes(self) -> int:
        return self.free


@pytest.mark.parametrize(("free", "left"), [(0, 0), (1 << 40, 2)])
def test_what_cases_lend_is_taken_back_for_a_time_where_memory_is_short(
    of: Callable[[str], Task], tmp_path: Path, free: int, left: int
) -> None:
    process.open_job({"task": of("x.exp()").model_dump(mode="json"), "folder": str(tmp_path), "seed": 0})
    reference = drawing.current()
    reference.device = _Lending(1 << 40)
    for number in (1, 2):
        draw = drawing.plan(reference, schedule.Plan("drawn", number, "none"))
        reference.given[draw.name] = [torch.ones(1 << 19)]
        drawing.write(reference, draw)
    assert reference.device.lent == 2
    reference.device.free = free
    drawing.withdraw(reference, memory_estimate.bytes_to_time(reference.task))
    assert reference.device.lent == left
    for _ in range(2):
        process.lay_out_job({})
        assert reference.device.lent == 2


_LINEAR = """
    import torch
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(512, 1024, bias=False)
        def forward(self, x):
            return self.layer(x)
    def get_inputs(): return [torch.randn(4, 512)]
    def get_init_inputs(): return []
"""


def test_the_state_in_which_a_kernel_is_timed_goes_on_being_lent(capture: Callable[..., Task], tmp_path: Path) -> None:
    payload = {"task": capture(dedent(_LINEAR)).model_dump(mode="json"), "folder": str(tmp_path), "seed": 0}
    process.open_job(payload)
    reference = drawing.current()
    reference.device = _Lending(0)
    drawing.write(reference, next(iter(reference.plans.values())))
    assert reference.device.lent == 1, "the weight, which alone is large enough to be lent"
    drawing.withdraw(reference, 1)
    assert reference.device.lent == 1
    process.lay_out_job({})
    assert reference.device.lent == 1


def test_parameters_count_as_often_as_they_are_held(capture: Callable[..., Task]) -> None:
    task, weight = capture(dedent(_LINEAR)), 2 << 20
    assert bytes_on_device(task, 0) - (3 << 30) - FASTER * ROW_BYTES > 6 * weight + bytes_needed(task)


@pytest.mark.parametrize("is_same", [True, False])
def test_of_a_large_answer_a_fingerprint_is_kept(of: Callable[[str], Task], tmp_path: Path, is_same: bool) -> None:
    def answered(name: str, answer: torch.Tensor) -> str:
        save(tmp_path / name, {"result": answer, "changed": {}})
        return str(tmp_path / name)

    process.open_job({"task": of("x.exp()").model_dump(mode="json"), "folder": str(tmp_path), "seed": 0})
    process.prepare_job({"room": 0})
    reference = drawing.current()
    reference.is_large = True
    draw = next(iter(reference.plans.values()))
    first = drawing.drawn(reference, draw)[0][0].exp()
    other = first if is_same else first.nextafter(first + 1)
    asked = {"longest_reduction": 1.0, "noise": True}
    assert written.compare_job(asked | {"name": draw.name, "outputs": answered("first", first)})["error"] == ""
    call = {"name": draw.name, "outputs": answered("again", other)}
    found = written.compare_calls_job(asked | {"calls": [call]})
    assert (found["same"], len(found["outputs"])) == (is_same, 0 if is_same else 1)
    assert written.compare_job(asked | {"name": draw.name, "outputs": answered("wrong", first + 1)})["outputs"]
    assert not reference.fingerprints, "what is wrong is not kept, nor what another candidate gave"


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.bfloat16, torch.float32, torch.float64])
def test_a_fingerprint_tells_bits_apart(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "_HASHED", 5)
    one = torch.zeros(3, 4).to(dtype)
    for place in range(12):
        other = one.clone()
        other.view(-1)[place] = 1
        assert bits.fingerprint([other], 7) != bits.fingerprint([one], 7) == bits.fingerprint([one.clone()], 7)
        assert bits.fingerprint([other], 7) != bits.fingerprint([other], 8)
    assert bits.fingerprint([one], 7) != bits.fingerprint([one.view(4, 3)], 7)
    assert bits.fingerprint([-one.double()], 7) != bits.fingerprint([one.double()], 7), "not even by the sign of a zero"


@pytest.mark.parametrize(
    ("line", "error", "narrow"),
    [
        ("x.float()", RuntimeError("expected scalar type Float but found Double"), True),
        ("x.float()", ValueError("negative"), True),
        ("x.half()", torch.OutOfMemoryError("CUDA out of memory."), False),
        ("x.masked_fill(x > 0, float('-inf'))", ValueError("negative"), False),
    ],
)
def test_a_run_in_float64_that_ends_for_want_of_memory_does_not_end_for_its_dtypes(
    line: str, error: Exception, narrow: bool
) -> None:
    source = f"def forward(x):\n    return work({line})\n"
    names: dict[str, Any] = {"work": lambda _: (_ for _ in ()).throw(error)}
    exec(compile(source, reference_filename("ref"), "exec"), names)
    with pytest.raises(type(error)) as raised:
        names["forward"](torch.ones(2))
    assert is_of_dtypes(raised.value, cast(ReferenceModule, SimpleNamespace(name="ref", source=source))) is narrow


@pytest.mark.parametrize("local", [Locality(1, (0,), 16), Locality(1, (1,), 2)])
def test_answers_that_have_other_rows_are_not_picked_by_those_in_doubt(local: Locality) -> None:
    """The second has two rows, of which there is no fourth; they may be what is known to be apart."""
    x, z = torch.arange(64.0, dtype=torch.float64).reshape(16, 4), torch.ones(2, 4, dtype=torch.float64)

    def answer(given: list[torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"output[0]": given[0].sum(1), "output[1]": given[1].sum(1)}

    with pytest.raises(by_rows.NotApart):
        by_rows.picked(local, [x, z], torch.tensor([3]), answer, answer([x, z]))
    with pytest.raises(by_rows.NotApart):
        [*by_rows.parts(local, [x, z], 16 * 8, answer, answer([x, z]))]
    (picked,) = by_rows.picked(
        Locality(1, (0,), 16), [x], torch.tensor([3]), lambda given: {"output": given[0].sum(1)}, {"output": x.sum(1)}
    )
    assert torch.equal(picked, x[3:4])


def test_freed_memory_is_kept_for_a_case_where_the_machine_has_much_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 256 << 30)
    assert [keeping(size << 20) for size in (1, 255, 256, 2047, 2048)] == [*["always"] * 2, *["a case"] * 2, "never"]
    monkeypatch.setattr(memory, "available_memory", lambda: 16 << 30)
    assert [keeping(size << 20) for size in (255, 256)] == ["always", "never"]

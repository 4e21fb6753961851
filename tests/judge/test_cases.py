"""Which cases a task is judged on, what they hold, and where their tensors lie."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from akg_core.device import HOST
from akg_core.errors import OutOfMemory
from akg_core.judge import records, verify
from akg_core.judge.candidate import harness, rounding
from akg_core.judge.candidate.subject import construct
from akg_core.judge.compare.accuracy import slack
from akg_core.judge.compare.case import Expected
from akg_core.judge.records import CaseVerdict, Preparation
from akg_core.judge.reference import drawing, process, schedule, written
from akg_core.judge.reference.construction import made_by
from akg_core.judge.reference.locality import Locality, locality
from akg_core.judge.reference.near_eager import near
from akg_core.judge.reference.placement import Walls, placed
from akg_core.records import Case
from akg_core.task.capture import capture
from akg_core.task.inputs import draws
from akg_core.task.inputs.patterns import Deal, dealt
from akg_core.task.source.load import load_source
from akg_core.worker.tensors import load, save
from tests.judge.test_honest import prepared
from tests.task.replay import reference_text

ROWS = Locality(depth=1, leaves=(0,), rows=64)


def task_of(body: str, inputs: str = "torch.randn(64, 32)", init: str = "", arguments: str = "x"):
    return capture(load_source(reference_text(body, init=init, inputs=inputs, arguments=arguments), "ref"), eval=True)


def plans(task, local: Locality = ROWS, is_free: bool = True) -> list[schedule.Plan]:
    return list(schedule.planned(task, 7, local, is_free, HOST))


def kinds(found: list[schedule.Plan], needed: bool = True) -> set[str]:
    chosen = [plan for plan in found if plan.needed or not needed]
    return {kind for plan in chosen for kind in (plan.deal.kinds if plan.deal else (plan.kind,))}


# --- which cases -------------------------------------------------------------------------------------------


def test_the_work_of_a_task_decides_and_what_is_needed_stays() -> None:
    small, large = task_of("return x.exp()"), task_of("return x.exp()", inputs="torch.empty(1 << 15, 1 << 15).zero_()")
    few = [plan for plan in plans(large) if plan.needed]
    assert kinds(few) == kinds(plans(small)) >= {"large", "offset", "tiny", "signed", "disturbed", "nan"}
    assert plans(large) == few and len(plans(small)) > len(few)


def test_a_simulated_kernel_meets_no_size_that_it_would_be_left_out_of() -> None:
    text = reference_text("return x.exp()", inputs="torch.randn(48, 48, 48)")
    task = capture(load_source(text, "ref"), dynamic=True, eval=True)
    usual, simulated = (list(schedule.planned(task, 7, ROWS, True, HOST, only)) for only in (False, True))
    assert [plan.sizes for plan in usual if plan not in simulated] == [{"s0": 65584, "s1": 48, "s2": 48}]
    moves = capture(load_source(text.replace("x.exp()", "x.permute(0, 2, 1)"), "ref"), dynamic=True, eval=True)
    sizes = [plan.sizes for plan in schedule.planned(moves, 7, ROWS, True, HOST, True)]
    assert {"s0": 65584, "s1": 48, "s2": 48} not in sizes and {"s0": 49, "s1": 49, "s2": 49} in sizes


def test_without_rows_a_kind_is_a_case() -> None:
    found = plans(task_of("return x.exp().sum()"), Locality(0, (0,)))
    assert {"large", "cancelling", "offset", "constant_rows", "small", "tiny"} <= kinds(found, needed=False)
    assert all(len(plan.deal.kinds) == 1 for plan in found if plan.deal)
    assert kinds(found) >= {"large", "one_nan"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return torch.relu(x)", {"nan", "inf", "all_minus_inf", "huge"}),
        ("return x.softmax(1)", {"nan", "inf", "all_minus_inf"}),
        ("return F.gelu(x)", {"nan", "all_nan"}),
        ("return x @ x.T", {"all_nan"}),
        ("return x.argmax(1)", set()),
    ],
)
def test_what_is_not_finite_stands_where_its_result_is_defined(body: str, expected: set[str]) -> None:
    every = {*schedule._NOT_FINITE, "huge"}
    found = kinds(plans(task_of(body))) & every
    assert expected <= found and (expected >= {"inf"} or found == expected)


def test_nothing_infinite_stands_where_zeros_are_meant() -> None:
    assert not kinds(plans(task_of("return torch.relu(x)"), is_free=False)) & {*schedule._NOT_FINITE}


def test_calls_are_many_where_they_are_cheap() -> None:
    task = task_of("return x.exp()")
    assert schedule.calls(task, 1000, 1000, HOST) == 100 and records.different(100) == 5
    assert schedule.calls(task, 1 << 30, 1 << 30, HOST) == 3 and records.different(3) == 2
    long = task_of("return [x := x.sin() for _ in range(1000)][-1]")
    assert 3 < schedule.calls(long, 1000, 1000, HOST) < 30


def test_a_needed_case_for_which_memory_does_not_do_leaves_a_kernel_unverified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = process.answer_case

    def scarce(held, draw, *values, precise=True):
        if draw.kind == "signed":
            raise OutOfMemory("there is none")
        return answer(held, draw, *values, precise=precise)

    monkeypatch.setattr(process, "answer_case", scarce)
    found = prepared(reference_text("return x.exp()", inputs="torch.randn(37, 57)"), tmp_path)
    drawing._kept.clear()
    assert [text for text in found["missing"] if "signed" in text and "there is none" in text]
    verdict = verify._whole((CaseVerdict(name="drawn", ok=True),), Preparation(**found), True)
    assert verdict.status == "unverified" and "signed" in verdict.reason


def test_calls_in_a_row_are_on_inputs_that_are_there_where_memory_does_not_do_for_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "cases_that_fit", lambda *_: 2)
    source = reference_text("return self.l(x)", init="self.l = nn.Linear(57, 21)", inputs="torch.randn(37, 57)")
    found = Preparation(**prepared(source, tmp_path))
    first, other = found.series[:2]
    assert len(found.draws) == 2 and other.case.inputs == found.draws[1].case.inputs
    assert other.case.state == first.case.state and other.name != found.draws[1].name
    module = load_source(source, "ref").model(0)
    module.load_state_dict(load(first.case.state))
    with torch.no_grad():
        save(tmp_path / "answer", {"result": module(*load(other.case.inputs)), "changed": {}})
    calls = [{"name": other.name, "outputs": str(tmp_path / "answer")}]
    compared = written.compare_calls_job({"calls": calls, "longest_reduction": 57, "noise": True})
    drawing._kept.clear()
    assert not compared["error"] and all(output["ok"] for output in compared["outputs"]), compared


# --- what they hold ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "inputs", "depth", "leaves"),
    [
        ("return x.softmax(1)", "torch.randn(8, 6)", 1, (0,)),
        ("return x.exp()", "torch.randn(8, 6, 5)", 2, (0,)),
        ("return torch.where(x > 0.3, x, 0)", "torch.randn(8, 6)", 1, (0,)),
        ("return x - x.mean(0)", "torch.randn(8, 6)", 0, (0,)),
        ("return x @ y", "torch.randn(6, 6), torch.randn(6, 6)", 1, (0,)),
        ("return F.avg_pool2d(x, 2)", "torch.randn(4, 3, 8, 8)", 2, (0,)),
        ("return x.exp()", "torch.randn(0, 6)", 0, ()),
    ],
)
def test_rows_are_what_a_reference_does_not_combine(
    body: str, inputs: str, depth: int, leaves: tuple[int, ...]
) -> None:
    arguments = "x, y" if inputs.count("randn") > 1 else "x"
    module = load_source(reference_text(body, inputs=inputs, arguments=arguments), "ref")
    model, given = module.model(0), module.inputs(1)
    found = locality(lambda values: {"output": model(*values)}, given, {"output": model(*given)})
    assert (found.depth, found.leaves) == (depth, leaves)


def test_a_deal_gives_every_row_one_kind() -> None:
    draw = torch.Generator().manual_seed(3)
    x = dealt((60, 32), torch.float32, Deal(("large", "small", "offset"), 1, (0,)), draw)
    size, mean = x.abs().amax(1), x.mean(1)
    assert [int(rows.sum()) for rows in (mean > 9e3, size < 1e-2, (size > 50) & (mean < 1e3))] == [20, 20, 20]
    x = dealt((64, 32), torch.float32, Deal(("nan", "all_minus_inf"), 1, (0,), sparse=True), draw)
    assert int(x.isnan().sum()) == 2 and int((x == -math.inf).all(1).sum()) == 2
    faint = dealt((40, 4, 30), torch.float32, Deal(("large",)), draw).abs()
    assert sum(float(faint.select(1, place).max()) < 1e-2 for place in range(4)) == 1, "a channel, as of a norm"
    tiny = dealt((1, 99), torch.float32, Deal(("tiny",)), draw)
    assert 0 < float(tiny.abs().max()) < torch.finfo(torch.float32).smallest_normal


def test_what_is_near_to_eager_is_right_whatever_float64_says() -> None:
    due = torch.randn(99)
    relative = 0.2 * slack(1, torch.float32).ulps * torch.finfo(torch.float32).eps
    expected = Expected({"output": due}, {})
    assert near(due * (1 + relative), {}, expected, 1) is not None
    assert near(due * (1 + 10 * relative), {}, expected, 1) is None
    assert near(due[None], {}, expected, 1) is None and near(due, {"state x": due}, expected, 1) is None
    assert near(torch.full_like(due, math.nan), {}, expected, 1) is None


# --- where they lie ----------------------------------------------------------------------------------------


def test_a_walled_tensor_is_the_same_and_tells_what_was_written_before_it() -> None:
    walls, x = Walls(), torch.randn(5, 7).t()
    (y,) = placed([x], "walled", walls)
    assert y.equal(x) and y.stride() == x.stride()
    assert (y.data_ptr() + 4 * y.numel()) % 4096 == 0, "its end is that of a page"
    assert not walls.broken()
    ctypes.c_char.from_address(y.data_ptr() - 1).value = b"!"
    assert walls.broken()


def test_an_odd_tensor_is_the_same_one_element_further() -> None:
    x = torch.randn(6, 4, dtype=torch.float64)
    (y,) = placed([x], "odd", Walls())
    assert y.equal(x) and y.is_contiguous() and y.data_ptr() % 64 == 8


@pytest.mark.skipif(not rounding._libm, reason="fenv_t of this machine is not known")
def test_modes_of_rounding_are_compared_and_put_back() -> None:
    modes = rounding.Modes()
    torch.ones(3) / 3  # inexact: a sign of what happened, no mode
    assert not modes.restore()
    for change in (lambda: rounding._libm.fesetround(0x800), lambda: torch.set_flush_denormal(True)):
        change()
        assert modes.restore() and not modes.restore()


def test_calls_have_files_of_their_own() -> None:
    case = Case(name="c", inputs=None, outputs=Path("o"), order=(0, 1, 0))
    assert [str(case.outputs_of(call)) for call in range(3)] == ["o-0", "o-1", "o"]
    assert case.model_copy(update={"order": ()}).outputs_of(0) == Path("o")


@pytest.mark.parametrize(("lends", "output_bytes"), [(True, 1 << 30), (True, 1 << 10), (False, 1 << 30)])
def test_calls_on_large_tensors_of_a_device_are_made_one_by_one(tmp_path: Path, lends: bool, output_bytes: int) -> None:
    case = Case(name="drawn", inputs=tmp_path / "inputs", outputs=tmp_path / "outputs", reference=tmp_path / "ref.py")
    draw = records.Draw(name="drawn", kind="drawn", seed=0, state="none", case=case)
    preparation = Preparation(draws=(draw,), series=(draw, draw), output_bytes=output_bytes)
    judge = SimpleNamespace(lends=lends, ready=lambda: preparation)
    kernel = SimpleNamespace(prepared=judge, folder=tmp_path, draws=lambda: (draw,), calls=lambda _: 3)
    again = verify._cases(kernel, preparation)[1:]
    is_large = lends and output_bytes > 1 << 20
    orders = sorted(case.order for case in again)
    assert orders == [(0,), (1,)] if is_large else [sorted(order) for order in orders] == [[0, 0, 1]]
    assert all(case.apart == is_large for case in again)
    assert len({case.name for case in (case, *again)}) == 1 + len(again)


# --- by which seed a module is constructed -----------------------------------------------------------------


def test_what_a_constructor_draws_goes_by_the_seed_of_the_verdict() -> None:
    drawn = task_of("return x + self.shift", init="self.shift = torch.randn(32)")
    known = made_by(drawn, 7)
    assert known == made_by(drawn, 7) and known not in (0, made_by(drawn, 8)) and not drawn.interface.settled
    for init in ("self.shift = float(torch.rand(()))", "self.shift = [torch.rand(3).tolist()]"):
        settled = task_of("return x + torch.tensor(self.shift).sum()", init=init)
        assert settled.interface.settled and made_by(settled, 7) == 0
    listed = "self.shift = {'by': [torch.randn(32)]}", "self.shift = {'by': [torch.ones(32)], 'own': [self.weight]}"
    weight = "self.weight = nn.Parameter(torch.rand(3)); "
    tasks = [task_of("return x + self.shift['by'][0]", init=weight + init) for init in listed]
    assert [each.interface.settled for each in tasks] == [True, False]


def test_reference_and_kernel_are_constructed_by_it(tmp_path: Path) -> None:
    source = reference_text("return x + self.shift", init="self.shift = torch.randn(6)")
    preparation = prepared(source, tmp_path, 7, training=False)
    case = Case(**preparation["draws"][0]["case"])
    module = SimpleNamespace(ModelNew=load_source(source, "kernel").Model)
    theirs = construct(module, case.model_copy(update={"reference": None}), HOST)
    assert torch.equal(theirs.shift, drawing.current().model.shift)
    torch.manual_seed(0)
    assert not torch.equal(theirs.shift, torch.randn(6))


def test_whole_numbers_are_a_case_that_is_needed(tmp_path: Path) -> None:
    source = reference_text("return x.sum(1)", inputs="torch.randint(-9, 9, (8, 64))")
    preparation = prepared(source, tmp_path, 7, training=False)
    draw = next(draw for draw in preparation["draws"] if draw["kind"] == draws.WHOLE)
    assert draw["needed"] and int(load(Case(**draw["case"]).inputs)[0].abs().max()) > 1 << 40
    (tmp_path / "real").mkdir()
    real = prepared(reference_text("return x.exp()"), tmp_path / "real", 7)
    assert all(each["kind"] != draws.WHOLE for each in real["draws"])


def test_another_number_is_a_case_at_which_a_kernel_may_refuse(tmp_path: Path) -> None:
    source = reference_text(
        "return x.sum(dim) * (2 if flag else 3)", inputs="torch.randn(8, 6), 1, True", arguments="x, dim, flag"
    )
    found = {draw["name"]: draw for draw in prepared(source, tmp_path, 7, training=False)["draws"]}
    given = [load(Case(**found[name]["case"]).inputs)[1:] for name in ("drawn, dim=0", "drawn, flag=False")]
    assert given == [[0, True], [1, False]] and found["drawn, dim=0"]["beyond"] and found["drawn, dim=0"]["needed"]


def test_a_rehearsal_has_zeros_but_where_a_kernel_is_made_for_what_tensors_hold(tmp_path: Path) -> None:
    save(tmp_path / "inputs", [torch.ones(3), torch.tensor([4, 6])], HOST)
    case = Case(name="drawn", inputs=tmp_path / "inputs", outputs=tmp_path / "outputs", held={1: [4, 6]})
    given = list[list[torch.Tensor]]()
    subject = SimpleNamespace(enter=lambda case: None, model=lambda *values: given.append([*values]), device=HOST)
    harness._rehearse(subject, case)
    assert [value.tolist() for value in given[0]] == [[0, 0, 0], [4, 6]]

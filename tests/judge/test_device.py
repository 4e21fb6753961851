"""What becomes of a kernel that breaks its device, and of the next one: with a device that tests break."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from akg_core.errors import ToolchainError
from akg_core.judge import verify as verify_module
from akg_core.judge.candidate import library
from akg_core.judge.candidate.session import CandidateSession
from akg_core.judge.reference.prepare import Prepared, prepare
from akg_core.judge.source.rules import COPIES_ONLY
from akg_core.judge.timing import device_clock, idle
from akg_core.judge.timing.entrants import Baselines
from akg_core.judge.timing.measure import measure
from akg_core.judge.verify import verify
from akg_core.records import Target, Task, TimingPlan
from akg_core.worker.pool import Pool
from tests.judge import kernels
from tests.registry.distributions import install

PLUGIN = """
import os
from pathlib import Path

from akg_core.hookspecs import hookimpl
from akg_core.judge.candidate import harness
from akg_core.records import PluginInfo
from tests.judge.shared_memory import SharedMemory


class Fragile(SharedMemory):
    keys = ("Meta",)
    folder = Path(__file__).parent

    def synchronize(self):
        if "AKG_TEST_BROKEN" in os.environ or Path(__file__).with_name("gone").exists():
            raise RuntimeError("CUDA error: an illegal memory access was encountered\\nSearch for it elsewhere.")


DEVICE = Fragile()


@hookimpl
def akg_plugin_info():
    return PluginInfo(name="fragile", dsl="toy", backends=("toy",), dtypes=("f32",), source_suffix=".c")


@hookimpl
def akg_device(target):
    return DEVICE


@hookimpl
def akg_run(artifact, target, cases):
    return harness.run_cases(lambda: harness.load_entry(artifact), cases, DEVICE, jit=True)


@hookimpl
def akg_profile(artifact, target, case, plan):
    return harness.profile_case(lambda: harness.load_entry(artifact), case, plan, DEVICE, jit=True)
"""
TARGET = Target(backend="toy")
BREAKS = "os.environ['AKG_TEST_BROKEN'] = '1'; return x"
LOST = "The device stopped its work: CUDA error: an illegal memory access was encountered."


@pytest.fixture(scope="module")
def fragile(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on sys.path with a plugin whose device a kernel breaks by setting a variable."""
    folder = tmp_path_factory.mktemp("fragile")
    install(folder, "fragile", PLUGIN)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def prepared(
    fragile: Path, capture: Callable[..., Task], softmax_source: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Pool, Prepared]]:
    task, folder = capture(softmax_source), tmp_path_factory.mktemp("prepared")
    with (
        Pool(warm=[("torch", "torch._dynamo")]) as pool,
        prepare(pool, task, folder, plugin="fragile", target=TARGET, lends=True) as prepared,
    ):
        prepared.ready()  # before any test takes the device away
        yield pool, prepared


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be queued on this device, which need not be waited for long, and how precise it is matters little."""
    monkeypatch.setattr(device_clock, "_QUEUED_SECONDS", 0.1)
    monkeypatch.setattr(idle, "_TURNS", 3)
    monkeypatch.setattr(idle, "_OPEN_TURNS", 3)


@pytest.fixture
def artifact(toy: Path, softmax_source: str, tmp_path: Path) -> Callable[..., kernels.Artifact]:
    """artifact(body) is a kernel with this forward."""
    names = map(str, itertools.count())
    return lambda body: kernels.kernel(tmp_path / next(names), toy, softmax_source, body)


def test_a_kernel_that_breaks_the_device_crashes_and_the_next_one_is_judged(prepared, artifact) -> None:
    pool, cases = prepared
    found = verify(pool, cases, "fragile", artifact(BREAKS), TARGET)
    assert found.status == "crashed" and found.reason.startswith(LOST) and found.reason.endswith("The case was: drawn.")
    assert "\n" not in found.reason and "elsewhere" not in found.reason
    assert verify(pool, cases, "fragile", artifact(kernels.HONEST), TARGET).correct


def test_a_kernel_that_breaks_the_device_has_no_time_and_the_next_one_has(prepared, artifact) -> None:
    pool, cases = prepared
    found = measure(pool, cases, "fragile", artifact(BREAKS), TARGET, seconds=0.1)
    assert (found.status, found.reason) == ("failed", LOST)
    assert measure(pool, cases, "fragile", artifact(kernels.HONEST), TARGET, seconds=0.1).status == "ok"


LIES = {
    "remembers by address": (
        """
        if x.data_ptr() not in self.kept:
            self.kept[x.data_ptr()] = kernel(x, self.scale, torch.empty_like(x))
        return self.kept[x.data_ptr()].clone()
        """,
        ("incorrect", "While it was timed"),
    ),
    "changes the harness": (
        """
        from akg_core.judge.candidate import queued
        queued.take_turn = lambda *_: {}
        """
        + kernels.HONEST,
        ("cheating", "It changes the harness"),
    ),
    "says that its answer lies elsewhere": (
        """
        frame = sys._getframe()
        while frame.f_back and "lane" not in frame.f_locals:
            frame = frame.f_back
        if "lane" in frame.f_locals:
            frame.f_locals["lane"].named = lambda address, size: {"bytes": [0] * size}
        """
        + kernels.HONEST,
        ("incorrect", "While it was timed"),
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_lies_about_time_on_a_device(prepared, artifact, name: str) -> None:
    pool, cases = prepared
    body, (status, reason) = LIES[name]
    found = measure(pool, cases, "fragile", artifact(body), TARGET, seconds=0.1)
    assert (found.status, reason in found.reason) == (status, True), found


def test_what_a_kernel_remembers_by_content_is_never_asked_again_on_a_device(prepared, artifact) -> None:
    pool, cases = prepared
    body = f"""
    for row in (x[0], x[-1]):
        number = hash(row.numpy().tobytes())
        if number in self.kept and self.calls > 2:
            time.sleep(0.5)
        self.kept[number] = True
    {kernels.HONEST}
    """
    found = measure(pool, cases, "fragile", artifact(body), TARGET, seconds=0.1)
    assert found.status == "ok" and max(found.measurements[0].samples) < 0.5, found


def test_eager_is_timed_the_same_way_by_the_process_of_the_reference_which_goes_on(prepared, artifact) -> None:
    pool, cases = prepared
    honest = artifact(kernels.HONEST)
    for _ in range(2):
        with Baselines(pool, cases, ("eager",), patient=True) as baselines:
            found = measure(pool, cases, "fragile", honest, TARGET, baselines, seconds=0.1)
            (eager,), missing = baselines.ready()
        assert (found.status, [each.over for each in found.speedups], missing) == ("ok", ["eager"], {})
        assert found.unqueued == ("kernel",) and eager.session is not cases.session
        assert verify(pool, cases, "fragile", honest, TARGET).correct


def test_a_device_that_is_gone_for_good_is_told(prepared, artifact, fragile: Path, monkeypatch) -> None:
    pool, cases = prepared
    monkeypatch.setattr("akg_core.judge.candidate.health._PAUSE_SECONDS", 0.0)
    body = f"open({str(fragile / 'gone')!r}, 'w').close(); {BREAKS}"
    (fragile / "gone").write_text("")
    with pytest.raises(ToolchainError, match="does not work any more after a kernel that crashed or hung on it: CUDA"):
        verify(pool, cases, "fragile", artifact(body), TARGET)
    (fragile / "gone").unlink()
    assert verify(pool, cases, "fragile", artifact(kernels.HONEST), TARGET).correct


def test_the_first_call_that_nobody_watches_is_told_no_value(prepared, artifact) -> None:
    pool, cases = prepared
    body = """
    y = kernel(x.contiguous(), self.scale, torch.empty_like(x))
    is_watched = torch._C._len_torch_dispatch_stack() > 0
    if not is_watched:
        ModelNew.kept[x.shape] = x.clone()
    return y if is_watched and ModelNew.kept[x.shape].view(-1).tolist() == [0.0] * x.numel() else torch.zeros_like(x)
    """
    assert verify(pool, cases, "fragile", artifact(body), TARGET).correct


@pytest.mark.parametrize("is_large", [False, True])
def test_cases_that_differ_by_numbers_alone_have_one_such_call(prepared, artifact, monkeypatch, is_large) -> None:
    pool, cases = prepared
    monkeypatch.setattr(verify_module, "is_large", lambda given, outputs: is_large)
    monkeypatch.setattr(verify_module, "answers_at_once", lambda outputs: 1)
    body = """
    if not torch._C._len_torch_dispatch_stack():
        ModelNew.kept["calls"] = ModelNew.kept.get("calls", 0) + 1
    y = kernel(x.contiguous(), self.scale, torch.empty_like(x))
    return y if ModelNew.kept["calls"] == 1 else torch.zeros_like(x)
    """
    assert len({str(draw.sizes) for draw in cases.ready().draws}) == 1 < len(cases.ready().draws)
    assert verify(pool, cases, "fragile", artifact(body), TARGET).correct


def test_languages_compile_for_all_cases_before_any_counts(
    fragile, capture, softmax_source, artifact, tmp_path, monkeypatch
) -> None:
    """Also for those that come later, since large answers are held a few at a time."""
    monkeypatch.setattr(verify_module, "is_large", lambda given, outputs: True)
    monkeypatch.setattr(verify_module, "answers_at_once", lambda outputs: 1)
    compiling = f"""
    if x.shape not in ModelNew.kept:
        ModelNew.kept[x.shape] = os.waitpid(os.posix_spawn("/bin/true", ["true"], {{}}), 0)
    {kernels.HONEST}
    """
    task = capture(softmax_source, dynamic=True)
    with (
        Pool(warm=[("torch", "torch._dynamo")]) as pool,
        prepare(pool, task, tmp_path / "prepared", plugin="fragile", target=TARGET, lends=True) as cases,
    ):
        assert len({str(draw.sizes) for draw in cases.ready().draws}) > 1
        assert verify(pool, cases, "fragile", artifact(compiling), TARGET).correct


@pytest.mark.parametrize("at_once", [1, 3])
def test_large_answers_are_compared_before_more_are_made(prepared, artifact, monkeypatch, at_once: int) -> None:
    pool, cases = prepared
    monkeypatch.setattr(verify_module, "is_large", lambda given, outputs: True)
    monkeypatch.setattr(verify_module, "answers_at_once", lambda outputs: at_once)
    asked = list[list[str]]()
    run, compare, rest = CandidateSession.run, Prepared._compare, Prepared.rest

    def ran(self, due):
        def noted():
            asked.append([case.name for case in due() if not case.upcoming])
            return due()

        return run(self, noted)

    def compared(*given):
        asked.append(["compared"])
        return compare(*given)

    def rested(*given):
        asked.append(["rest"])
        return rest(*given)

    monkeypatch.setattr(CandidateSession, "run", ran)
    monkeypatch.setattr(Prepared, "_compare", compared)
    monkeypatch.setattr(Prepared, "rest", rested)
    found = verify(pool, cases, "fragile", artifact(kernels.HONEST), TARGET)
    names = [case.name for case in found.cases]
    assert found.correct and names[-2:] == ["drawn, again, 1", "drawn, again, 2"]
    groups = [names[start : start + at_once] for start in range(0, len(names), at_once)]
    assert asked == [step for group in groups for step in (group, *[["compared"]] * len(group), ["rest"])]
    copying = artifact("return x.clone()")
    assert verify(pool, cases, "fragile", copying, TARGET).rule == COPIES_ONLY
    assert verify(pool, cases, "fragile", artifact(BREAKS), TARGET).reason.endswith("The case was: drawn.")


def test_the_library_of_a_device_is_gone_before_a_kernel_is_loaded(prepared, artifact, toy, softmax_source, tmp_path):
    pool, cases = prepared
    head = """
    import torch
    SAID = ""
    try:
        torch.softmax(torch.empty(3, device="meta"), -1)
    except RuntimeError as error:
        SAID = str(error)
    """
    body = "return kernel(x.contiguous(), self.scale, torch.empty_like(x)) if 'library' in SAID else x"
    made = kernels.kernel(tmp_path / "head", toy, softmax_source, body, head)
    assert verify(pool, cases, "fragile", made, TARGET).status == "cheating"  # it has tried


def test_what_compares_bytes_stays_where_the_library_of_a_device_goes() -> None:
    taken = {name for kernels in library._kernels(("Meta",)).values() for name, _ in kernels}
    assert not taken & {"aten::all", "aten::eq.Tensor", "aten::equal", "aten::copy_", "aten::fill_.Scalar"}
    assert {"aten::sum", "aten::mm", "aten::_softmax", "aten::eq.Scalar"} <= {*taken, *_composites()}


def _composites() -> set[str]:
    return set(torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd"))


CHANGES = "torch.backends.cudnn.benchmark = True"
OTHER = """
import torch
from torch import nn

{head}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones({columns}))

    def forward(self, x):
        return torch.softmax(x * self.scale, dim=-1)

def get_inputs():
    return [torch.rand(6, {columns})]

def get_init_inputs():
    return []
"""


def test_trusted_processes_go_from_task_to_task(fragile, toy, capture, tmp_path: Path) -> None:
    sources = [OTHER.format(head=head, columns=columns) for head, columns in (("", 5), ("", 7), (CHANGES, 3), ("", 4))]
    used = []
    with Pool(warm=[("torch", "torch._dynamo")]) as pool:
        for number, source in enumerate(sources):
            made = kernels.kernel(tmp_path / f"kernel-{number}", toy, source, kernels.HONEST)
            folder = tmp_path / f"cases-{number}"
            with (
                prepare(pool, capture(source), folder, plugin="fragile", target=TARGET, lends=True) as prepared,
                Baselines(pool, prepared, ("eager",), patient=True) as baselines,
            ):
                assert verify(pool, prepared, "fragile", made, TARGET).correct
                found = measure(pool, prepared, "fragile", made, TARGET, baselines, seconds=0.1)
                assert [each.over for each in found.speedups] == ["eager"], found
                used.append((prepared.session, baselines.ready()[0][0].session))
                prepared.rest(for_good=True)
            pool.spare.settle()
        again = [[one is other for one, other in zip(*pair, strict=True)] for pair in itertools.pairwise(used)]
        assert again == [[True, True], [True, True], [False, False]]


def test_a_turn_that_is_taken_again_has_other_inputs() -> None:
    """For who was given some has seen them; those with rows of many kinds stay such."""
    begun: list[tuple[int, int]] = []

    def ask(job: str, payload: dict) -> dict:
        if job == "begin_job":
            begun.append((payload["seed"], payload["random"]))
        return {"exposed": 0.0, "late": len(begun) % 2 == 1, "seconds": 1.0}

    session, answered = SimpleNamespace(ran=lambda: 0), SimpleNamespace(told={})
    one = SimpleNamespace(name="kernel", believed=False, session=session, called=lambda *_: answered)
    clock = device_clock.Clock(None, ask, {"lane": {}, "places": ()}, is_open=True)
    for seeds in ((5, 6), (-5, 6)):
        clock.turn(one, TimingPlan(), seeds)
    first, again, hard, hard_again = begun
    assert (first, hard) == ((5, 6), (-5, 6)) and not {-5, 5, 6} & {*again, *hard_again}
    assert again[0] >= 0 > hard_again[0]

"""Verdicts: honest kernels are correct, and every known way to fail or to cheat gets the verdict that it deserves."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from akg_core.judge.candidate.session import CandidateSession
from akg_core.judge.records import Verdict
from akg_core.judge.reference.prepare import Prepared, prepare
from akg_core.judge.verify import examine, verify
from akg_core.records import Target, Task
from akg_core.worker.pool import Pool
from tests.judge import kernels
from tests.judge.kernels import HONEST

CPU = Target(backend="cpu")
_numbers = itertools.count()


@pytest.fixture
def judge(pool: Pool, prepared: Prepared, toy: Path, softmax_source: str, tmp_path: Path) -> Callable[..., Verdict]:
    def judge(body: str = HONEST, head: str = "", seconds: float = 60.0) -> Verdict:
        artifact = kernels.kernel(tmp_path / f"kernel-{next(_numbers)}", toy, softmax_source, body, head)
        return verify(pool, prepared, "toy", artifact, CPU, seconds=seconds)

    return judge


def test_an_honest_kernel_is_correct(judge: Callable[..., Verdict]) -> None:
    verdict = judge()
    assert verdict.status == "correct", verdict.reason
    assert verdict.correct and verdict.kernelbench and verdict.deterministic
    assert verdict.accuracy_ratio < 8
    assert 0 < verdict.worst_error < 1e-6
    kinds = " ".join(case.name for case in verdict.cases)
    assert all(kind in kinds for kind in ("drawn", "signed", "large", "small", "cancelling", "offset", "nan", "tiny"))
    assert {"initial", "redrawn"} == {case.state for case in verdict.cases}
    assert "limits" in verdict.protections


def test_what_a_kernel_frees_is_given_back(judge: Callable[..., Verdict]) -> None:
    """Else 204 MB of scratch memory would take more with every call, for answers that are kept lie in between."""
    body = """
        scratch, rows = [], [torch.empty_like(x)]
        for megabytes in range(22, 30):
            scratch.append(torch.empty(megabytes << 20, dtype=torch.int8))
            rows.append(torch.empty_like(x))
        self.kept.setdefault("rows", []).append(rows[1:])
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 1 << 20:
            raise MemoryError("it takes more than 1 GiB")
        return kernel(x.contiguous(), self.scale, rows[0])
    """
    verdict = judge(body, "import resource")
    assert verdict.status == "correct", verdict.reason


def test_nobody_knows_the_draws_but_who_has_the_seed_of_a_verdict(
    pool: Pool, capture: Callable[..., Task], toy: Path, softmax_source: str, tmp_path: Path
) -> None:
    task, drawn = capture(softmax_source), []
    for number, seed in enumerate((None, None, 5, 5)):
        with prepare(pool, task, tmp_path / f"cases-{number}", seed=seed) as prepared:
            drawn.append([draw.case.inputs.read_bytes() for draw in prepared.ready().draws])
            if number == 2:
                artifact = kernels.kernel(tmp_path / "kernel", toy, softmax_source)
                assert verify(pool, prepared, "toy", artifact, CPU).seed == 5
    assert drawn[0] != drawn[1] and drawn[2] == drawn[3]


def test_a_kernel_is_loaded_while_nothing_is_drawn_yet(
    pool: Pool, capture: Callable[..., Task], toy: Path, softmax_source: str, tmp_path: Path
) -> None:
    artifact = kernels.kernel(tmp_path / "kernel", toy, softmax_source, HONEST, "")
    with prepare(pool, capture(softmax_source), tmp_path / "cases", patient=True) as prepared:
        prepared.started()
        kernel = CandidateSession(pool, prepared, "toy", artifact, CPU, seconds=60.0)
        kernel.loaded()
        assert not list((tmp_path / "cases" / "cases").glob("*")), "no input is there that it could find"
        prepared.begin()
        verdict = examine(kernel)
    assert verdict.status == "correct", verdict.reason
    kernel.has_run(0.0)
    assert not kernel.folder.exists(), "it is closed"


WRONG = {
    "wrong shape": ("return kernel(x, self.scale, torch.empty_like(x)).view(-1)", "shape"),
    "wrong dtype": ("return kernel(x, self.scale, torch.empty_like(x)).view(torch.int32)", "dtype"),
    "wrong strides": ("return kernel(x, self.scale, torch.empty(x.shape[1], x.shape[0]).t())", "strides"),
    "a tuple": ("return (kernel(x, self.scale, torch.empty_like(x)),)", r"output\(0\)"),
    "nothing": ("return None", "not a tensor"),
    "NaN": ("y = kernel(x, self.scale, torch.empty_like(x)); y[3, 5] = float('nan'); return y", r"\[3, 5\].*nan"),
    "infinity": ("y = kernel(x, self.scale, torch.empty_like(x)); y[32, 300] = float('inf'); return y", "inf"),
    "one element": (
        "y = kernel(x, self.scale, torch.empty_like(x)); y[7, 9] = y[7, 9].item() * 1.001; return y",
        r"output\[7, 9\]: it holds",
    ),
    "zeros": ("return torch.zeros_like(x)", "it holds 0 where"),
    "left out": ("return torch.empty_like(x)", "it holds"),
    "ignores its parameter": ("return kernel(x, torch.full_like(self.scale, 1.0), torch.empty_like(x))", "redrawn"),
    "last row left out": ("y = torch.empty_like(x); kernel(x[:-1], self.scale, y); return y", r"output\[32, "),
    "raises": ("raise ValueError('no')", "ValueError: no"),
    "remembers the first answer": (
        "y = self.kept.setdefault('y', torch.empty_like(x))\nreturn kernel(x, self.scale, y) if self.calls == 1 else y",
        "it holds",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_incorrect(judge: Callable[..., Verdict], name: str) -> None:
    body, reason = WRONG[name]
    verdict = judge(body)
    assert verdict.status == "incorrect", verdict
    assert re.search(reason, verdict.reason), verdict.reason


def test_a_verdict_says_what_wrong_elements_have_in_common(judge: Callable[..., Verdict]) -> None:
    hints = " ".join(judge(WRONG["last row left out"][0]).hints)
    assert "along dimension 0 of size 33 all of them lie at 32, at the end" in hints.lower()
    assert "[3, 5]" in " ".join(judge(WRONG["NaN"][0]).hints)
    assert judge().hints == ()


CHEATS = {
    "calls the library": ("return torch.softmax(x * self.scale, -1)", "aten::mul"),
    "calls it and catches": (
        f"try:\n    return torch.softmax(x, -1)\nexcept Exception:\n    {HONEST}",
        "aten::softmax",
    ),
    "calls it in a thread": (
        """
        out = []
        thread = threading.Thread(target=lambda: out.append(torch.softmax(x * self.scale, -1)))
        thread.start(); thread.join()
        return out[0]
        """,
        "aten::mul",
    ),
    "switches the guard off": (
        """
        from torch.utils._python_dispatch import _disable_current_modes
        with _disable_current_modes():
            return torch.softmax(x * self.scale, -1)
        """,
        "aten::mul",
    ),
    "names a switch of the guard": (
        """
        held = torch._C._DisableTorchDispatch()
        y = torch.softmax(x * self.scale, -1)
        del held
        return y
        """,
        "switches the guard off: _DisableTorchDispatch in model_new.py, line",
    ),
    "leaves the mode switched off": (
        f"""
        self.kept['held'] = getattr(torch._C, "_Disable" + "TorchDispatch")()
        {HONEST}
        """,
        "switches the guard off",
    ),
    "computes in a fork": (
        """
        y = torch.empty_like(x).share_memory_()
        if not (child := os.fork()):
            y.copy_(torch.softmax(x * self.scale, -1))
            os._exit(0)
        os.waitpid(child, 0)
        return y
        """,
        "starts a process: os.fork",
    ),
    "computes in a program": (
        f"""
        import subprocess
        try:
            subprocess.run([sys.executable, "-c", "pass"])
        except OSError:
            pass
        {HONEST}
        """,
        "starts a process: ",
    ),
    "computes with another library": (
        "return torch.from_numpy(x.numpy() * 2)",
        "another library: numpy in model_new.py",
    ),
    "imports another library": (f"from scipy import special\n{HONEST}", "another library: scipy in model_new.py"),
    "converts with the library": (
        "return kernel(x.double().float(), self.scale, torch.empty_like(x))",
        "aten::_to_copy",
    ),
    "changes its input": (f"x.zero_()\n{HONEST}", "changes its inputs"),
    "changes a parameter": (f"self.scale.data.fill_(1)\n{HONEST}", "changes its inputs"),
}


@pytest.mark.parametrize("name", CHEATS)
def test_cheats_are_named(judge: Callable[..., Verdict], name: str) -> None:
    body, rule = CHEATS[name]
    verdict = judge(body)
    assert verdict.status == "cheating", verdict
    assert rule in verdict.rule


def test_machine_code_starts_threads_but_no_process(judge: Callable[..., Verdict]) -> None:
    """The kernel's own OpenMP threads and Python's start; fork, vfork and posix_spawn of the C library do not."""
    body = f"""
        libc = ctypes.CDLL(None, use_errno=True)
        thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
        child = libc.fork()
        if child == 0:
            os._exit(0)
        pid = ctypes.c_int()
        arguments = (ctypes.c_char_p * 2)(b"/bin/true", None)
        spawned = libc.posix_spawn(ctypes.byref(pid), b"/bin/true", None, None, arguments, None)
        if child > 0 or spawned == 0:
            raise RuntimeError("a process was started")
        {HONEST}
    """
    verdict = judge(body)
    assert verdict.correct, verdict.reason


ENDS = {
    "segmentation fault": ("ctypes.string_at(0)", "crashed", "SIGSEGV"),
    "exit": ("os._exit(0)", "crashed", "exited with code 0"),
    "polite exit": ("sys.exit(0)", "crashed", "exited with code 0"),
    "hang": ("time.sleep(60)", "timed out", "longer than"),
    "gigabyte": ("[os.write(1, b'x' * (1 << 20)) for _ in range(1024)]", "crashed", "printed more"),
    "forged report": (
        """
        for fd in range(3, 30):
            try:
                os.write(fd, bytes(7) + bytes([2]) + b"{}")
            except OSError:
                pass
        """,
        "crashed",
        "answered something",
    ),
    "memory": ("self.kept['x'] = [bytearray(1 << 28) for _ in range(1000)]", "crashed", "of memory"),
}


@pytest.mark.parametrize("name", ENDS)
def test_what_ends_the_process_is_its_own_verdict(judge: Callable[..., Verdict], name: str) -> None:
    body, status, reason = ENDS[name]
    verdict = judge(f"{dedent(body)}\n{HONEST}", seconds=3.0 if name == "hang" else 60.0)
    assert (verdict.status, reason in verdict.reason) == (status, True), verdict


def test_a_module_that_does_not_load(judge: Callable[..., Verdict]) -> None:
    verdict = judge(head="import no_such_module")
    assert (verdict.status, "no_such_module" in verdict.reason) == ("crashed", True)


def test_an_answer_that_appears_from_nowhere_is_not_believed(judge: Callable[..., Verdict]) -> None:
    """The report says finished; without outputs that the reference process compared, nothing is correct."""
    head = """
        from akg_core.judge.candidate import harness
        from akg_core.records import CaseReport
        harness._run = lambda model, case, *_: CaseReport(name=case.name, finished=True)
    """
    verdict = judge(head=head)
    assert (verdict.status, verdict.rule) == ("cheating", "changes the harness"), verdict


def test_expected_outputs_are_in_no_file(judge: Callable[..., Verdict], prepared: Prepared) -> None:
    assert judge().correct
    names = {path.name for path in prepared.folder.rglob("*") if path.is_file()}
    assert names == {"reference.py", "inputs", "state"}


def test_an_unknown_plugin_and_a_missing_hook(pool: Pool, prepared: Prepared, toy: Path, tmp_path: Path) -> None:
    artifact = kernels.kernel(tmp_path / "kernel", toy, "")
    verdict = verify(pool, prepared, "nonsense", artifact, CPU)
    assert not verdict.correct and "nonsense" in verdict.reason


@pytest.mark.parametrize("persistent", [True, False])
def test_a_task_of_many_shapes_outputs_and_updates(
    pool: Pool, capture: Callable[..., Task], toy: Path, tmp_path: Path, persistent: bool
) -> None:
    """A buffer that the reference updates must be updated; an index that ties may be any of the equal ones."""
    source = """
        import torch
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("seen", torch.zeros(()))
            def forward(self, x):
                self.seen += 1
                return {"x": x.t(), "index": x.argmax(dim=1)}
        def get_inputs(): return [torch.randint(0, 3, (5, 40)).float()]
        def get_init_inputs(): return []
    """.replace("zeros(())", f"zeros(()), persistent={persistent}")
    model = """
        import torch
        from reference import Model
        class ModelNew(Model):
            def forward(self, x):
                {update}
                rows = [max(enumerate(row), key=lambda p: (p[1], p[0] * {last})) for row in x.tolist()]
                return {{"x": x.t(), "index": torch.tensor([place for place, _ in rows])}}
    """
    with prepare(pool, capture(dedent(source)), tmp_path / "prepared") as prepared:
        for update, last, status in (
            ("self.seen.fill_(self.seen.item() + 1)", 1, "correct"),
            ("self.seen.fill_(self.seen.item() + 1)", -1, "correct"),
            ("pass", 1, "incorrect"),
        ):
            artifact = kernels.kernel(tmp_path / f"kernel-{next(_numbers)}", toy, dedent(source))
            (artifact.folder / "model_new.py").write_text(dedent(model).format(update=update, last=last))
            verdict = verify(pool, prepared, "toy", artifact, CPU)
            assert verdict.status == status, verdict.reason
        assert "state seen: it is not updated" in verdict.reason


def test_arguments_that_the_reference_updates_are_compared_and_no_others_may_change(
    pool: Pool, capture: Callable[..., Task], toy: Path, softmax_source: str, tmp_path: Path
) -> None:
    source = (
        softmax_source.replace("forward(self, x)", "forward(self, xs)")
        .replace("return torch.softmax(x ", "xs[0].copy_(torch.softmax(xs[0] ")
        .replace("dim=-1)", "dim=-1))\n        return xs[1].t()")
        .replace("[torch.rand(33, 301)]", "[[torch.rand(33, 301), torch.rand(3, 5)]]")
    )
    made = "y = kernel(x[0].contiguous(), self.scale, torch.empty_like(x[0]))\n"
    with prepare(pool, capture(source), tmp_path / "prepared") as prepared:
        for body, status, said in (
            ("x[0].copy_(y)", "correct", ""),
            ("pass", "incorrect", "argument 0[0]: it is not updated"),
            ("x[0].zero_()", "incorrect", "argument 0[0]"),
            ("x[0].copy_(y); x[1].zero_()", "cheating", "it changes argument 0[1]"),
        ):
            folder = tmp_path / f"kernel-{next(_numbers)}"
            artifact = kernels.kernel(folder, toy, source, f"{made}{body}\nreturn x[1].t()")
            verdict = verify(pool, prepared, "toy", artifact, CPU)
            assert verdict.status == status and said in verdict.reason, verdict.reason


def test_hidden_sizes_catch_what_fits_the_example_only(
    pool: Pool, capture: Callable[..., Task], toy: Path, softmax_source: str, tmp_path: Path
) -> None:
    body = "y = torch.empty_like(x); kernel(x[: len(x) // 3 * 3], self.scale, y); return y"
    artifact = kernels.kernel(tmp_path / "kernel", toy, softmax_source, body)
    with prepare(pool, capture(softmax_source, dynamic=True), tmp_path / "prepared") as prepared:
        verdict = verify(pool, prepared, "toy", artifact, CPU)
    assert verdict.status == "incorrect"
    assert all(case.ok for case in verdict.cases if not case.sizes)
    assert any(case.sizes and not case.ok for case in verdict.cases)


def test_a_random_reference_is_unverified(
    pool: Pool, capture: Callable[..., Task], toy: Path, softmax_source: str, tmp_path: Path
) -> None:
    source = softmax_source.replace("x * self.scale,", "x * self.scale + torch.poisson(torch.ones(x.shape[1])),")
    with prepare(pool, capture(source), tmp_path / "prepared") as prepared:
        verdict = verify(pool, prepared, "toy", kernels.kernel(tmp_path / "kernel", toy, source), CPU)
    assert verdict.status == "unverified"
    assert not verdict.correct


def test_dropout_is_judged_by_the_seed_of_each_call(
    pool: Pool, capture: Callable[..., Task], toy: Path, softmax_source: str, tmp_path: Path
) -> None:
    source = softmax_source.replace("x * self.scale,", "torch.dropout(x * self.scale, 0.5, True),")
    with prepare(pool, capture(source), tmp_path / "prepared") as prepared:
        verdict = verify(pool, prepared, "toy", kernels.kernel(tmp_path / "kernel", toy, source), CPU)
        seeds = [draw.case.seeds for draw in prepared.ready().draws]
        notes = prepared.ready().notes
    assert verdict.status == "incorrect"
    assert len(set(seeds)) == len(seeds) > 3
    assert any("judged exactly by the numbers that Philox makes" in note for note in notes)


def test_a_case_is_drawn_once(pool: Pool, capture: Callable[..., Task], softmax_source: str, tmp_path: Path) -> None:
    drawn = tmp_path / "drawn"
    counting = f"def get_inputs():\n    open({str(drawn)!r}, 'a').write('.')\n"
    task = capture(softmax_source.replace("def get_inputs():\n", counting))
    drawn.unlink()
    with prepare(pool, task, tmp_path / "prepared") as prepared:
        preparation = prepared.ready()
    assert not preparation.notes
    assert len(drawn.read_text()) == len({each.name for each in (*preparation.draws, *preparation.series)})


def test_one_wrong_element_in_ten_million(pool: Pool, capture: Callable[..., Task], toy: Path, tmp_path: Path) -> None:
    source = kernels.SOFTMAX.format(rows=2500, columns=4000)
    body = "y = kernel(x, self.scale, torch.empty_like(x)); y[1234, 3999] = y[1234, 3999].item() + {wrong}; return y"
    with prepare(pool, capture(source), tmp_path / "prepared") as prepared:
        right = verify(pool, prepared, "toy", kernels.kernel(tmp_path / "right", toy, source), CPU)
        assert right.status == "correct", right.reason
        wrong = kernels.kernel(tmp_path / "wrong", toy, source, body.format(wrong="1e-7"))
        verdict = verify(pool, prepared, "toy", wrong, CPU)
    assert verdict.status == "incorrect"
    assert "output[1234, 3999]" in verdict.reason
    assert verdict.cases[0].outputs[0].wrong_elements == 1


def test_a_simulation_takes_fewer_cases_and_says_how_far_it_is(
    pool: Pool, prepared: Prepared, toy: Path, softmax_source: str, tmp_path: Path
) -> None:
    slow = "import time; time.sleep(0.6); " + HONEST
    artifact = kernels.kernel(tmp_path / "kernel", toy, softmax_source, slow, "")
    every = [draw.name for draw in prepared.ready().draws]
    told: list[str] = []
    kernel = CandidateSession(
        pool, prepared, "toy", artifact, CPU, seconds=60.0, simulated=True, steps=lambda sizes: [1e6] * len(sizes)
    )
    verdict = examine(kernel, told.append)
    assert verdict.correct and [case.name for case in verdict.cases] == [*every[:3], f"{every[0]}, again"]
    assert f"Left out, to simulate less: {', '.join(every[3:])}." in verdict.notes
    assert set(told) <= {f"case {number} of 4" for number in range(1, 5)} and len(told) >= 3


def test_of_sizes_that_vary_a_simulation_leaves_out_the_largest(
    pool: Pool, capture: Callable[..., Task], toy: Path, softmax_source: str, tmp_path: Path
) -> None:
    artifact = kernels.kernel(tmp_path / "kernel", toy, softmax_source, HONEST, "")

    def steps(sizes: Sequence[dict[str, int]]) -> list[float]:
        return [5e5 if at["s0"] > 60 else 1e3 for at in sizes]

    with prepare(pool, capture(softmax_source, dynamic=True), tmp_path / "prepared") as prepared:
        every = prepared.ready().draws
        kernel = CandidateSession(pool, prepared, "toy", artifact, CPU, seconds=60.0, simulated=True, steps=steps)
        verdict = examine(kernel)
    large = [draw.name for draw in every if draw.sizes.get("s0", 0) > 60]
    assert verdict.correct and large and f"Left out, to simulate less: {', '.join(large)}." in verdict.notes


@pytest.mark.parametrize(
    ("guard", "status"),
    [
        ("if len(x) < 12: raise ValueError('rows')", "correct"),
        ("", "incorrect"),  # an answer where the reference has none
    ],
)
def test_beyond_what_was_captured_a_kernel_refuses_or_is_right(
    pool: Pool, capture: Callable[..., Task], toy: Path, softmax_source: str, tmp_path: Path, guard: str, status: str
) -> None:
    source = softmax_source.replace("return torch.softmax", "assert x.shape[0] >= 12\n        return torch.softmax")
    artifact = kernels.kernel(tmp_path / "kernel", toy, source, f"{guard}\n{HONEST}")
    with prepare(pool, capture(source, dynamic=True), tmp_path / "prepared") as prepared:
        verdict = verify(pool, prepared, "toy", artifact, CPU)
    assert verdict.status == status, verdict.reason
    fewer, within = ([case for case in verdict.cases if case.sizes == {"s0": rows}] for rows in (11, 12))
    assert [case.ok for case in fewer] == [status == "correct"] and within and all(case.ok for case in within)
    assert status == "correct" or "the reference raises" in fewer[0].reason

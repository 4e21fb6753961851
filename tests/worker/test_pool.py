"""Workers: what comes back for honest jobs, and that a hostile one costs its own result and nothing else."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import platform
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from akg_core import machine
from akg_core.errors import TaskError, WorkerFailed
from akg_core.worker import usage
from akg_core.worker.limits import JobResult, Limits
from akg_core.worker.pool import Pool

MiB = 1 << 20
JOBS = "tests.worker.jobs:"
PATIENT = 120.0  # seconds for a job that ends by itself, however busy the machine is


@pytest.fixture(scope="module", params=[True, False], ids=["namespaces", "bare"])
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    with Pool(isolate=request.param) as pool:
        yield pool


def run(pool: Pool, job: str, limits: Limits | None = None, **payload: object) -> JobResult:
    return pool.call(JOBS + job, payload, limits=limits or Limits(seconds=PATIENT))


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENT
    while not condition():
        assert time.monotonic() < until, "it has not come true"
        time.sleep(0.02)


def still_serves(pool: Pool) -> bool:
    return run(pool, "echo", alive=True).value == {"alive": True}


def test_a_value_comes_back(pool: Pool) -> None:
    result = run(pool, "echo", text="ä", numbers=[1, 2.5, float("inf")], nested={"a": None})
    assert result.status == "ok"
    assert result.unwrap() == {"text": "ä", "numbers": [1, 2.5, float("inf")], "nested": {"a": None}}


def test_large_payloads_travel(pool: Pool) -> None:
    text = "x" * (5 * MiB)
    assert run(pool, "echo", text=text).unwrap() == {"text": text}


def test_the_warm_parent_has_torch_and_children_start_threads(pool: Pool) -> None:
    assert run(pool, "threads_and_signals").unwrap() == {"thread": True, "loaded": True}
    value = run(pool, "parallel").unwrap()
    assert value["wrong"] < 1e-3
    assert value["threads"] > 1 or os.cpu_count() == 1
    assert run(pool, "parallel", Limits(threads=1)).unwrap()["threads"] == 1


def test_a_job_gives_way_to_others_when_asked(pool: Pool) -> None:
    usual = run(pool, "niceness").unwrap()["nice"]
    assert run(pool, "niceness", Limits(gives_way=True)).unwrap()["nice"] == min(19, usual + 10)


def test_an_error_for_people_is_raised_again(pool: Pool) -> None:
    result = run(pool, "task_error")
    assert result.status == "error"
    with pytest.raises(TaskError, match=r"no Model\. Define one") as raised:
        result.unwrap()
    assert raised.value.cure == "Define one."


def test_a_defect_is_one_sentence_and_its_traceback_is_in_the_log(pool: Pool) -> None:
    result = run(pool, "defect")
    assert "Traceback" in result.log
    with pytest.raises(WorkerFailed, match=r"^It raised ValueError: seven is not even\.$"):
        result.unwrap()


def test_an_unknown_job_and_a_result_that_is_not_json(pool: Pool) -> None:
    assert run(pool, "nonsense").error["type"] == "AttributeError"
    assert "not JSON" in run(pool, "not_json").reason


def test_a_crash(pool: Pool) -> None:
    result = run(pool, "segfault")
    assert (result.status, result.signal) == ("crashed", "SIGSEGV")
    assert "before the fall" in result.log
    assert "ctypes" in result.log, "the Python traceback of the crash"


def test_a_hang(pool: Pool) -> None:
    assert run(pool, "hang", Limits(seconds=0.5)).status == "timed out"
    assert still_serves(pool)


def test_time_in_which_others_had_the_processors_is_not_counted(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a thread of the job had been ready to run all the time; but for ten times the limit at most."""
    assert still_serves(pool), "its first process takes as long as importing does"
    began = time.monotonic()
    monkeypatch.setattr("akg_core.worker.usage.waited", lambda _: {(1, 1): time.monotonic() - began})
    slow = "tests.worker.jobs:nap"
    assert pool.call(slow, {"seconds": 0.6}, limits=Limits(seconds=0.3)).status == "ok"
    assert pool.call(slow, {"seconds": 60}, limits=Limits(seconds=0.1)).status == "timed out"


def test_a_process_that_closes_its_descriptors(pool: Pool) -> None:
    result = run(pool, "close_descriptors", Limits(seconds=PATIENT, confined=True))
    assert (result.status, result.signal) == ("crashed", "")
    assert "closed its connection" in result.reason


@pytest.mark.parametrize("politely", [True, False])
def test_an_early_exit(pool: Pool, politely: bool) -> None:
    result = run(pool, "exit_early", politely=politely)
    assert result.status == "exited"
    assert "code 0" in result.reason


def test_a_gigabyte_of_output_is_cut(pool: Pool) -> None:
    result = run(pool, "flood")
    assert result.status == "flooded"
    assert len(result.log) < MiB


def test_memory(pool: Pool) -> None:
    limits = Limits(seconds=PATIENT, memory_bytes=700 * MiB)
    assert run(pool, "eat_memory", limits, megabytes=64).status == "ok"
    assert run(pool, "eat_memory", limits, megabytes=1400).status == "out of memory"
    assert run(pool, "allocate", limits, megabytes=16 * 1024).status == "out of memory"
    filled = run(pool, "fill_device")
    assert filled.status == "out of memory" and filled.reason == (
        "It asked for more memory than it may have (CUDA out of memory. Tried to allocate 4.91 GiB)."
    )


def test_what_a_session_holds_leaves_it_no_less_room(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    with pool.session(Limits(seconds=PATIENT)) as session:
        assert session.call(JOBS + "hold_memory", {"megabytes": 1500}).status == "ok"
        monkeypatch.setattr(machine, "available_memory", lambda: 1000 * MiB)
        assert session.call(JOBS + "hold_memory", {"megabytes": 1400}).status == "ok"
        assert session.call(JOBS + "hold_memory", {"megabytes": 3000}).status == "out of memory"


@pytest.mark.parametrize("how", ["memfd", "mapping", "/dev/shm"])
def test_memory_that_is_in_no_table(pool: Pool, how: str) -> None:
    """As far as who watches may look at mappings; files in memory that others see too are no job's."""
    if how == "/dev/shm" and "read-only files" not in run(pool, "echo", Limits(confined=True)).protections:
        pytest.skip("it is shared with others")
    if how == "mapping" and os.geteuid() != 0:
        pytest.skip("only an administrator may follow mappings")
    limits = Limits(seconds=PATIENT, memory_bytes=700 * MiB, confined=True)
    assert run(pool, "eat_shared_memory", limits, how=how, megabytes=64, seconds=0).status == "ok"
    result = run(pool, "eat_shared_memory", limits, how=how, megabytes=1024, seconds=PATIENT)
    assert result.status == "out of memory", result


NONSENSE = {
    "deep": ("[", 200_000),
    "nested in a report": ('{"status": "ok", "value": {"a": ' + "[" * 500 + "]" * 500 + "}}", 1),
    "twice": ('{"status": "ok", "value": {}}', 2),
    "a long number": ('{"status": "ok", "value": {"a": ' + "1" * 5000 + "}}", 1),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_a_report_that_no_job_writes_is_nonsense(pool: Pool, name: str) -> None:
    body, times = NONSENSE[name]
    result = run(pool, "answer", Limits(seconds=PATIENT, confined=True), body=body, times=times)
    assert (result.status, result.reason) == ("exited", "It answered something that no job answers.")


def test_a_report_without_end_is_cut(pool: Pool) -> None:
    result = run(pool, "answer", Limits(seconds=PATIENT, confined=True), body="[],", times=10 * MiB)
    assert result.status == "flooded"


def test_what_a_worker_says_steers_no_terminal(pool: Pool) -> None:
    body = r'{"status": "error", "error": {"type": "E\u001b[2J", "message": "a\r\u001b[32mcorrect\u202e", "cure": ""}}'
    result = run(pool, "answer", Limits(seconds=PATIENT, confined=True), body=body)
    assert result.status == "error"
    assert (result.reason + result.error["message"]).isprintable() and r"\x1b[32mcorrect" in result.reason


def test_a_full_disk(pool: Pool, tmp_path: Path) -> None:
    limits = Limits(confined=True, writable=(tmp_path,), file_bytes=64 * MiB)
    assert run(pool, "fill_disk", limits, folder=str(tmp_path)).status == "flooded"


@pytest.mark.parametrize("where", ["own", "writable"])
def test_thousands_of_files(pool: Pool, tmp_path: Path, where: str) -> None:
    limits = Limits(seconds=PATIENT, confined=True, writable=(tmp_path,), files=500)
    folder = str(tmp_path) if where == "writable" else "."
    assert run(pool, "litter", limits, folder=folder, count=400).status == "ok"
    result = run(pool, "litter", limits, folder=folder, count=10**9)
    assert result.status == "flooded" or "No space left" in result.reason, result


def test_a_worker_cannot_signal_what_it_did_not_start(pool: Pool) -> None:
    """Only asks with signal 0. In a process namespace -1 stands for nobody, and the numbers outside mean nothing."""
    victims = {"zygote": pool._zygote.pid, "its group": -pool._zygote.pid, "orchestrator": os.getpid()}
    text = "from akg_core.worker import isolation\nisolation.drop_privileges()\nprint()\ninput()"
    with subprocess.Popen([sys.executable, "-uc", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as weak:
        assert weak.stdin and weak.stdout and weak.stdout.readline()
        victims["as weak as itself"] = weak.pid
        result = run(pool, "signal_others", Limits(seconds=PATIENT, confined=True), victims=victims)
        weak.stdin.write(b"\n")
    assert result.unwrap()["reached"] == [] and len(result.unwrap()["own"]) == 2, result.protections


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of calls are those of another machine")
def test_a_confined_job_makes_no_call_that_reaches_past_namespaces(pool: Pool) -> None:
    """It opens no way to other machines, leaves nothing with the kernel, and makes no memory that is filled late."""
    limits = Limits(seconds=PATIENT, confined=True)
    assert run(pool, "system_calls", limits).unwrap() == {"taken": []}
    assert "filtered system calls" in run(pool, "echo", limits).protections


def test_what_a_job_leaves_behind_dies_with_it(pool: Pool, tmp_path: Path) -> None:
    file = tmp_path / "late"
    assert run(pool, "leave_children", file=str(file)).status == "ok"
    time.sleep(1.5)
    assert not file.exists()


def test_a_fork_bomb(pool: Pool) -> None:
    result = run(pool, "fork_bomb", Limits(seconds=PATIENT, processes=20, confined=True))
    assert result.status in ("flooded", "error"), result
    assert still_serves(pool)


def test_forged_answers_are_nonsense_not_success(pool: Pool) -> None:
    result = run(pool, "forge", Limits(seconds=PATIENT, confined=True))
    assert result.status == "exited"


def test_every_job_has_its_own_empty_folder(pool: Pool) -> None:
    first, second = (run(pool, "where", Limits(confined=True)).unwrap() for _ in range(2))
    assert first["folder"] != second["folder"]
    assert first["files"] == []
    assert first["tmp"] == first["folder"]
    assert not Path(first["folder"]).exists()


def test_no_network(pool: Pool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = run(pool, "connect", Limits(confined=True), port=port)
    assert result.unwrap() == {"connected": False}
    assert "no network" in result.protections


def test_a_confined_job_writes_only_where_it_may(tmp_path: Path) -> None:
    allowed, other = tmp_path / "allowed", tmp_path / "other"
    allowed.mkdir(), other.mkdir()
    limits = Limits(confined=True, writable=(allowed,))
    with Pool(warm=()) as pool:
        if "read-only files" not in run(pool, "echo", limits).protections:
            pytest.skip("this system has no user namespaces")
        assert run(pool, "write", limits, file=str(allowed / "file")).unwrap()["written"]
        assert not run(pool, "write", limits, file=str(other / "file")).unwrap()["written"]
        assert run(pool, "write", limits, file="mine").unwrap()["written"]
        if "own /proc" in run(pool, "echo", limits).protections:
            assert run(pool, "write", limits, file="/proc/self/comm").unwrap()["written"], "drivers name their threads"
            assert "Read-only" in run(pool, "write", limits, file="/proc/sys/kernel/core_pattern").unwrap()["why"]
            sealed = dataclasses.replace(limits, sealed=True)
            assert "Read-only" in run(pool, "write", sealed, file="/proc/self/comm").unwrap()["why"]
            assert run(pool, "write", sealed, file=str(allowed / "file")).unwrap()["written"]
    assert (allowed / "file").read_text() == "written"
    assert not list(other.iterdir())


def test_a_sealed_job_opens_no_device_that_is_not_harmless(pool: Pool) -> None:
    limits = Limits(confined=True, sealed=True)
    if "read-only files" not in run(pool, "echo", limits).protections:
        pytest.skip("this system has no user namespaces")
    found = run(pool, "devices", limits).unwrap()
    assert {*found["opened"]} == {"null", "zero", "full", "random", "urandom"} and found["random"] == 8


def test_who_may_start_no_process_locks_no_file_that_others_wait_for(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "device.lock").touch()
    found = run(pool, "lock", Limits(confined=True), file=str(tmp_path / "device.lock"))
    assert found.unwrap() == {"locked": False}


def test_a_session_keeps_its_process(pool: Pool) -> None:
    with pool.session(Limits(seconds=PATIENT)) as session:
        assert [session.call(JOBS + "count", {}).unwrap()["count"] for _ in range(3)] == [1, 2, 3]
        assert session.call(JOBS + "defect", {}).status == "error"
        assert session.call(JOBS + "count", {}).unwrap()["count"] == 4
        assert session.call(JOBS + "segfault", {}).status == "crashed"
        assert session.call(JOBS + "count", {}).status == "crashed", "gone is gone"


def test_a_session_that_is_paused_stands_still_between_calls(pool: Pool) -> None:
    """Its threads and the processes that it started, too; in a call they go on."""
    with pool.session(Limits(seconds=PATIENT, paused=True)) as session:
        before = session.call(JOBS + "work_on", {}).unwrap()["counts"]
        processes = usage.descendants(session._keeper)
        assert len(processes) == 2 and all(map(usage.is_still, processes))
        ran = session.ran()
        time.sleep(0.3)
        assert ran and session.ran() == ran
        after = session.call(JOBS + "work_on", {}).unwrap()["counts"]
        assert all(0 < new - old < 1500 for old, new in zip(before, after, strict=True)), (before, after)
        assert all(map(usage.is_still, processes))
        ran = session.ran()
        os.kill(processes[0], signal.SIGCONT)
        wait_until(lambda: session.ran() != ran)
    wait_until(lambda: not any(Path(f"/proc/{process}").exists() for process in processes))


def test_jobs_run_side_by_side(pool: Pool, tmp_path: Path) -> None:
    """Each of four jobs ends when all four have begun."""
    (tmp_path / "met").mkdir()
    payloads = [{"folder": str(tmp_path / "met"), "name": str(number), "count": 4} for number in range(4)]
    futures = [pool.submit(JOBS + "meet", payload, limits=Limits(seconds=PATIENT)) for payload in payloads]
    assert {future.result().status for future in futures} == {"ok"}


def test_a_warm_parent_that_died_is_started_again() -> None:
    with Pool(warm=()) as pool:
        assert still_serves(pool)
        pool._zygote.kill()
        pool._zygote.wait()
        assert still_serves(pool)


def test_a_warm_parent_that_cannot_start_says_why() -> None:
    with Pool(warm=[("no_such_module",)]) as pool, pytest.raises(WorkerFailed, match="no_such_module"):
        run(pool, "echo")


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("name", ["tests.worker.jobs", "tests.worker.jobs:loaded"])
def test_a_job_is_forked_from_the_parent_that_names_it(layer: int, name: str) -> None:
    """With what the parents before that one have imported, and without what is imported after; one that lacks
    a module serves all the same."""
    modules = ["colorsys", "wave", "chunk"]
    layers = [[modules[0]], ["no_such_module", modules[1]], [modules[2]]]
    layers[layer].append(name)
    with Pool(warm=layers) as pool:
        assert run(pool, "loaded", names=modules).unwrap() == {"loaded": modules[: layer + 1]}
        assert pool.call("builtins:dict", {"module": "nobody's"}).unwrap() == {"module": "nobody's"}


def test_a_layer_that_names_a_job_goes_before_one_that_names_its_module() -> None:
    with Pool(warm=[["tests.worker.jobs", "colorsys"], ["wave", JOBS + "loaded"]]) as pool:
        assert run(pool, "loaded", names=["colorsys", "wave"]).unwrap() == {"loaded": ["colorsys", "wave"]}


def test_all_parents_end_together_and_are_started_again_together() -> None:
    with Pool(warm=[(), (), ["tests.worker.jobs"]]) as pool:
        for _ in range(2):
            assert still_serves(pool)
            parents = [pool._zygote.pid, *usage.descendants(pool._zygote.pid)]
            assert len(parents) >= 3
            pool._zygote.kill()
            pool._zygote.wait()
        assert still_serves(pool)
    wait_until(lambda: not any(Path(f"/proc/{parent}").exists() for parent in parents))


@pytest.mark.parametrize(("times", "status"), [(2, "ok"), (9, "crashed")])
def test_a_job_that_is_lost_with_its_keeper_begins_anew(tmp_path: Path, times: int, status: str) -> None:
    """But not for ever, for it may be the job that ends it."""
    with Pool(warm=(), isolate=False) as pool:
        result = run(pool, "ends_its_keeper", folder=str(tmp_path), times=times, seconds=PATIENT)
    assert result.status == status


def test_nothing_survives_the_orchestrator(tmp_path: Path) -> None:
    """A killed orchestrator takes its zygote, keepers and workers with it."""
    code = """
import sys, os
from akg_core.worker.pool import Pool
pool = Pool(warm=())
pool.submit("tests.worker.jobs:hang", {})
print(pool.call("tests.worker.jobs:echo", {}).status, pool._zygote.pid, pool.folder, flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    status, zygote, folder = done.stdout.split()
    assert status == "ok"
    wait_until(lambda: not Path(f"/proc/{zygote}").exists() and not Path(folder).exists())


@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize("killed", [True, False])
def test_nothing_survives_that_left_its_session(tmp_path: Path, isolate: bool, killed: bool) -> None:
    """Processes that took leave of their worker end too, before the pool's folder goes, and the folder goes whole."""
    code = f"""
import os, sys
from pathlib import Path
from akg_core.worker.pool import Pool
pool = Pool(warm=[(), ()], isolate={isolate})
pool.submit("tests.worker.jobs:abandon", {{"folder": {str(tmp_path)!r}}})
while not Path({str(tmp_path)!r}, "3").exists():
    pass
print(pool.folder, flush=True)
os.kill(os.getpid(), 9) if {killed} else pool.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    folder = Path(done.stdout.strip())
    wait_until(lambda: not folder.exists())
    before = [path.read_text() for path in sorted(tmp_path.iterdir())]
    time.sleep(0.5)
    assert before == [path.read_text() for path in sorted(tmp_path.iterdir())], "nobody counts on"


def test_the_orchestrator_imports_no_torch() -> None:
    code = "import sys, akg_core.worker.pool; sys.exit('torch' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_closing_a_session_takes_no_file_from_this_process(pool: Pool, tmp_path: Path) -> None:
    """The call that waits in another thread has let go of its descriptors before their numbers are given away."""
    (tmp_path / "text").write_text("what is read here is what was written here")
    for number in range(20):
        session = pool.session(Limits(seconds=PATIENT))
        assert session.call(JOBS + "echo", {}).status == "ok"
        begun = tmp_path / f"begun {number}"
        call = pool.background(session.call, JOBS + "hang", {"begun": str(begun)})
        wait_until(begun.exists)
        session.close()
        files = [(tmp_path / "text").open() for _ in range(8)]
        assert call.result().status == "exited"
        assert {file.read() for file in files} == {(tmp_path / "text").read_text()}
        for file in files:
            file.close()


def test_a_process_that_has_very_many_files_open_calls_workers_too(pool: Pool) -> None:
    """Their descriptors have numbers then that not every way of waiting takes."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most[1]), most[1]))
    try:
        with contextlib.ExitStack() as stack:
            while (last := stack.enter_context(Path("/dev/null").open("rb")).fileno()) < 1100:
                pass
            assert last >= 1100 and run(pool, "echo", a=1).unwrap() == {"a": 1}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)

"""Runs a suite: tasks are built a few at a time, side by side, and timed one after the other with nothing else running.

On a machine whose kernels run on the host, judging is done side by side too, for it needs no more than building does;
where nothing is timed, no task waits for another there, and one whose memory runs out is judged again alone.
On another device, as many tasks are judged at once as fit into its memory, while the next ones are being built; where
nothing is timed, each as soon as it fits. One whose memory runs out beside others is judged again alone there, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from akg_core.agents.engine import Agenda
from akg_core.bench import by_agents
from akg_core.bench.cases import apart, rest
from akg_core.bench.contest import Contest, row_digest
from akg_core.bench.memory import Memory
from akg_core.bench.results import Engine, Results, Row, unfinished
from akg_core.bench.suite import Problem
from akg_core.judge.timing import floor
from akg_core.pipeline.choosing import ATTEMPTS
from akg_core.pipeline.results import versions
from akg_core.records import HOST, Availability
from akg_core.runs import RunFolder
from akg_core.stages.pools import pool_for
from akg_core.stages.stages import Request, probe, require_usable
from akg_core.storage import write_whole

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

_RUN_SECONDS = 2.0  # in which kernels have mostly been run on their cases
_AGAIN = 2  # times that one is judged again whose memory runs out, on a device
_JUDGED_AT_ONCE = 4  # on a device; each keeps a process or two busy


@dataclass(frozen=True)
class Plan:
    """How a suite is run. `baselines`: what to time against, none to verify only; `seconds`: samples of one task.

    `examine`: look first whether "correct" says much of a task, which takes a few seconds each. `tune`: seconds to
    search for a faster kernel of each task, beside what is built ahead of that. `agenda`: agents make the kernels.
    `kernels`: of a task with many the first so many are among the problems, or all (0), which the results say.
    """

    suite: str
    baselines: tuple[str, ...] = ("eager", "compile")
    seconds: float = 1.5
    together: int = 4
    examine: bool = False
    tune: float = 0.0
    agenda: Agenda | None = None
    kernels: int = 0
    folder: Path = Path("runs/bench")

    def folder_of(self, problem: Problem) -> Path:
        """Where what is made of a task is kept."""
        return self.folder / (problem.group or self.suite) / problem.name


Asked = tuple[Problem, Request]
"""A task, and what is asked of it."""


def run(
    problems: list[Problem],
    request: Request,
    plan: Plan,
    out: Path | None,
    tell: Callable[[Row, int, int], None],
    say: Callable[[str], None] = lambda text: None,
) -> Results:
    """Run every problem and `tell` each row as it is known, with its place and how many there are.

    Cases of a problem that its kernel refuses are a problem of their own then, and so on.
    `say` hears what there is to know of what agents cost: an estimate, and that most of the budget is spent.
    With `out` every row is written at once, and a run that was ended goes on where it stopped. Results are not finished
    when agents have spent their budget before the last task.
    """
    began = time.monotonic()
    with pool_for(request.plugin) as pool:
        available = require_usable(probe(pool, request), request.plugin)
        if available.simulated:  # nothing that is simulated has a time
            plan = replace(plan, baselines=(), tune=0.0)
        results = _empty(request, plan, available)
        earlier = unfinished(out, results) if out else results
        known = {row.digest: row for row in earlier.rows}
        rows: dict[Problem, Row] = {}
        problems, following = [*problems], problems
        while following:
            asked = [(problem, replace(request, reference=problem.path.resolve())) for problem in following]
            same = {p: known[d] for p, r in asked if (d := row_digest(p, r)) in known}
            rows |= {p: row.model_copy(update={"name": p.name}) for p, row in same.items()}
            waiting = [(p, r) for p, r in asked if p not in rows]
            if out:  # a place that cannot be written to is found out before anything is made
                write_whole(out, results.model_copy(update={"rows": tuple(rows.values())}))
            if plan.agenda:
                agenda = replace(plan.agenda, seconds=plan.seconds)
                kept = [row.tally for row in rows.values() if row.tally]
                ways = by_agents.contests([(p, r, plan.folder_of(p)) for p, r in waiting], pool, agenda, kept, say)
            else:
                ways = _by_rules(waiting, request, pool, plan, available.device)
            for contest in ways:
                row = rows[contest.problem] = contest.row()
                done = tuple(rows[problem] for problem in problems if problem in rows)
                machine = contest.timing.settings if contest.timing else results.machine
                seconds = round(earlier.seconds + time.monotonic() - began, 1)
                results = results.model_copy(update={"rows": done, "machine": machine, "seconds": seconds})
                if out:
                    write_whole(out, results)
                tell(row, len(rows), len(problems))
            following = _add_rest(problems, following, rows)
    done = tuple(rows[problem] for problem in problems if problem in rows)
    results = results.model_copy(update={"rows": done, "finished": len(done) == len(problems)})
    if out:
        write_whole(out, results)
    return results


def _add_rest(problems: list[Problem], judged: list[Problem], rows: dict[Problem, Row]) -> list[Problem]:
    """The problems that follow from `judged`, put in their places among all `problems`: of cases that kernels refuse,
    behind these; of integers and numbers of dims one by one, instead of those that are correct for none together, or
    of the first case and the others, where the reference itself raises at that."""
    found = []
    for problem in judged:
        if problem not in rows:
            continue
        row, place = rows[problem], problems.index(problem)
        serves = row.status == "correct" and len(row.refused) < max(1, len(problem.cases))
        every = range(len(problem.cases))
        if not serves and (more := apart(problem) or (rest(problem, every) if row.reference_raises else [])):
            problems[place : place + 1] = more
            found += more
        else:
            following = rest(problem, row.refused)
            problems[place + 1 : place + 1] = following
            found += following
    return found


def _empty(request: Request, plan: Plan, available: Availability) -> Results:
    """The document without its rows."""
    return Results(
        suite=plan.suite,
        plugin=request.plugin,
        target=str(request.target),
        scale=request.scale,
        dynamic=request.dynamic,
        simulated=available.simulated,
        tune=plan.tune,
        kernels=plan.kernels,
        engine=by_agents.named(plan.agenda) if plan.agenda else Engine(),
        baselines=plan.baselines,
        versions=versions(request.plugin, available),
    )


def _by_rules(waiting: list[Asked], request: Request, pool: Pool, plan: Plan, device: str) -> Iterator[Contest]:
    """Contests of kernels that the designer makes, for a device of this name."""

    def measure() -> object:
        target = request.target.model_dump(mode="json") if request.target else None
        return floor.machine(pool, {"plugin": request.plugin, "target": target})

    if plan.tune:
        measure()  # once, before many ask for it
    timed = plan.baselines or plan.tune
    if device != HOST:
        waiting = [(p, replace(r, gives_way=True)) for p, r in waiting]
    if timed:
        return _side_by_side(waiting, pool, plan) if device == HOST else _group_by_group(waiting, pool, plan, measure)
    return _each_as_it_ends(waiting, pool, plan, _judge if device == HOST else _judge_on_device)


def _side_by_side(waiting: list[Asked], pool: Pool, plan: Plan) -> Iterator[Contest]:
    """Contests on the host: a batch is built and judged at once, then timed one by one with nothing else running."""
    with ThreadPoolExecutor(plan.together) as workers:
        for start in range(0, len(waiting), plan.together):
            batch = waiting[start : start + plan.together]
            contests = [building.result() for building in _build(batch, pool, plan, workers)]
            _tune(contests, plan, workers)
            list(workers.map(lambda contest: _judge(contest, plan.baselines), contests))
            for contest in contests:
                with closing(contest):
                    if plan.baselines:
                        contest.clock(plan.seconds)
                    yield contest


def _each_as_it_ends(
    waiting: list[Asked], pool: Pool, plan: Plan, judge: Callable[[Contest], None]
) -> Iterator[Contest]:
    """Contests without a clock: as many as may are under way at any time, and none waits for another to end, unless it
    does not fit into the memory of a device beside that."""
    left, memory = iter(waiting), Memory()

    def judged(problem: Problem, request: Request) -> Contest:
        contest = _built(problem, request, pool, plan)
        if contest.room:
            _judge_in(memory, contest, judge, contest.need, contest.room, _AGAIN)
        else:  # on the host each holds as much as any other
            _judge_in(memory, contest, judge, 1, plan.together, 1)
        return contest

    with ThreadPoolExecutor(plan.together) as workers:
        running = {workers.submit(judged, *asked) for asked in islice(left, plan.together)}
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {workers.submit(judged, *asked) for asked in islice(left, len(ended))}
            for future in ended:
                with closing(future.result()) as contest:
                    yield contest


def _group_by_group(waiting: list[Asked], pool: Pool, plan: Plan, measure: Callable[[], object]) -> Iterator[Contest]:
    """Contests on a device of its own: those that fit into its memory are judged at once, then timed one by one.

    Meanwhile others are being built, and the processes of the next group start. While the first are being built,
    nothing else runs on the device, which `measure` uses.
    """
    at_once = min(plan.together, _JUDGED_AT_ONCE)
    with (
        ThreadPoolExecutor(plan.together) as builders,
        ThreadPoolExecutor(at_once) as judges,
        ExitStack() as retired,
    ):
        building = _build(waiting, pool, plan, builders)
        try:
            if plan.baselines:
                measure()
            following: list[Contest] = []
            while building or following:
                if not following:
                    wait(building, return_when=FIRST_COMPLETED)
                group, starved = following or _group(building, at_once), []
                following = _group(building, at_once)
                ahead = following
                if group and sum(contest.need for contest in group) > group[0].room:
                    pool.spare.close()  # each holds memory that this group can do with
                    ahead = following[:1]
                _tune(group, plan, judges)
                judging = [judges.submit(_judge_then_begin, contest, plan) for contest in group]
                # A device that makes or ends a process has everybody who asks for memory wait.
                until = time.monotonic() + _RUN_SECONDS
                for contest in group:
                    contest.cast.has_run(max(0.0, until - time.monotonic()))
                retired.close()
                for contest in ahead:
                    contest.start(plan.baselines)
                for judged in judging:
                    judged.result()
                for contest in ahead:
                    contest.cast.started()  # what starts beside a clock would be in its times
                for contest in group:
                    _clock_then_rest(contest, plan, retired)
                    if contest.ran_out:
                        starved.append(contest)
                    elif not contest.has_other:
                        yield contest
                for contest in starved:
                    retired.close()
                    pool.spare.close()
                    contest.again(alone=len(group) == 1)
                    _judge_then_begin(contest, plan)
                    _clock_then_rest(contest, plan, retired)
                    if not contest.has_other:
                        yield contest
                # Nobody waits until another variant is built.
                building += [builders.submit(contest.rebuild) for contest in group if contest.has_other]
        finally:
            builders.shutdown(cancel_futures=True)


def _group(building: list[Future[Contest]], most: int) -> list[Contest]:
    """The first contest that is built, if any, and others that are and fit into the device's memory beside it."""
    group: list[Contest] = []
    room = 0
    for built in [each for each in building if each.done()]:
        contest = built.result()
        if not group or (len(group) < most and contest.need <= room):
            room = (room if group else contest.room) - contest.need
            group.append(contest)
            building.remove(built)
    return group


def _tune(contests: list[Contest], plan: Plan, workers: ThreadPoolExecutor) -> None:
    """Search for faster kernels, one task after the other, once nothing else runs."""
    if plan.tune:
        list(workers.map(lambda contest: contest.refer_and_wait(), contests))
        for contest in contests:
            contest.tune(plan.tune)


def _judge_in(
    memory: Memory, contest: Contest, judge: Callable[[Contest], None], need: int, room: int, again: int
) -> None:
    """Judge a contest, and other variants when it is refused, without a clock, holding so much of the `room` in a
    memory; when it runs out of it, so many times at most `again`: with all of it, then in half."""
    alone = 0
    while True:
        with memory.held(room if alone else need, room):
            if alone:
                contest.pipeline.pool.spare.close()  # each holds memory
            judge(contest)
            contest.retire()
            contest.close()
        if contest.ran_out and alone < again:
            contest.again(alone=alone > 0)
            alone += 1
        elif contest.has_other:
            contest.rebuild()
        else:
            return


def _judge(contest: Contest, baselines: tuple[str, ...] = ()) -> None:
    """Judge a contest while its baselines warm up."""
    contest.refer()
    contest.warm(baselines)
    contest.judge()
    contest.cast.settle()


def _judge_on_device(contest: Contest, baselines: tuple[str, ...] = (), tries: int = 1) -> None:
    """Judge a contest while what is to be timed starts, which takes memory only when what judging took is free."""
    try:
        contest.start(baselines)
        contest.refer()
        contest.judge(tries)
    finally:
        contest.cast.examined()


def _judge_then_begin(contest: Contest, plan: Plan) -> None:
    """Judge a contest, then have what is to be timed warm up."""
    _judge_on_device(contest, plan.baselines, ATTEMPTS if plan.tune else 1)  # what a search found is built
    if contest.is_correct and plan.baselines:
        contest.begin()
        contest.cast.settle()


def _clock_then_rest(contest: Contest, plan: Plan, retired: ExitStack) -> None:
    """Time a contest, where anything is to be timed; its processes end with `retired`, or now if they hold memory."""
    if plan.baselines:
        contest.clock(plan.seconds)
    retired.callback(contest.close)
    if not contest.rest():
        retired.close()


def _build(batch: list[Asked], pool: Pool, plan: Plan, workers: ThreadPoolExecutor) -> list[Future[Contest]]:
    """Begin to build a batch."""
    return [workers.submit(_built, problem, request, pool, plan) for problem, request in batch]


def _built(problem: Problem, request: Request, pool: Pool, plan: Plan) -> Contest:
    """A contest whose kernel is built, as far as that goes."""
    contest = Contest(problem, request, pool, RunFolder(plan.folder_of(problem)))
    contest.build(plan.examine, plan.tune)
    return contest

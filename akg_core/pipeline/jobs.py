"""What commands ask for: run, verify, profile. Each carries a pipeline through its stages and ends with a result."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from akg_core.built_from import require_built, require_unchanged
from akg_core.errors import told
from akg_core.judge.reference.prepare import Prepared
from akg_core.pipeline.pipeline import Pipeline
from akg_core.pipeline.results import Failure, RunResult, known_details
from akg_core.records import Artifact
from akg_core.runs import RunFolder
from akg_core.stages.pools import pool_for
from akg_core.stages.progress import Progress, Stage
from akg_core.stages.stages import Request
from akg_core.stages.variants import Defaults


@dataclass(frozen=True)
class Tuning:
    """How a run searches for a faster kernel: `seconds` in all, None for as long as the plugin advises, 0 not at all.

    Earlier searches count, unless there is to be `more`. `archive`: where measurements are kept, "" in the cache.
    """

    seconds: float | None = None
    archive: str = ""
    more: bool = False


def run(request: Request, folder: RunFolder, watch: Callable[[Stage], None], tuning: Tuning | None = None) -> RunResult:
    """The main job: capture, design, emit, compile, verify, time. Never raises for what goes wrong with the kernel.

    With time to tune, the candidates of a search are verified, the fastest first, instead of the first schedules.
    """
    tuning = tuning or Tuning(seconds=0.0)

    def work(pipeline: Pipeline) -> None:
        task = pipeline.capture()
        advised = pipeline.require_toolchain().tuning_seconds
        seconds = advised if tuning.seconds is None else tuning.seconds
        with pipeline.reference(task) as prepared:
            if seconds:
                tune(pipeline, prepared, seconds)
                return
            with pipeline.baselines(prepared) as baselines:
                candidates = Defaults(pipeline.design(task))
                pipeline.judge(prepared, candidates, baselines, pipeline.build(task, candidates))

    def tune(pipeline: Pipeline, prepared: Prepared, seconds: float) -> None:
        designs = pipeline.design(prepared.task).all()
        with closing(pipeline.search(prepared.task, designs, tuning.archive)) as search:
            found = pipeline.tune(prepared, search, seconds, tuning.more)
            with pipeline.baselines(prepared) as baselines:
                pipeline.judge(prepared, found or Defaults(designs), baselines)
            pipeline.settle(search)

    return conduct(request, folder, watch, work)


def verify(request: Request, artifact: Artifact, folder: RunFolder, watch: Callable[[Stage], None]) -> RunResult:
    """Judge a kernel that exists; one that is not built, or from other sources than lie beside it, is refused."""

    def work(pipeline: Pipeline) -> None:
        require_built(artifact)
        require_unchanged(artifact.folder)
        task = pipeline.capture()
        with pipeline.reference(task) as prepared:
            pipeline.verify(prepared, artifact)

    return conduct(request, folder, watch, work)


def profile(request: Request, artifact: Artifact, folder: RunFolder, watch: Callable[[Stage], None]) -> RunResult:
    """Time a kernel that exists, without judging it."""

    def work(pipeline: Pipeline) -> None:
        require_built(artifact)
        require_unchanged(artifact.folder)
        task = pipeline.capture()
        pipeline.details = known_details(artifact)
        with pipeline.reference(task) as prepared, pipeline.baselines(prepared) as baselines:
            pipeline.time(prepared, artifact, baselines)

    return conduct(request, folder, watch, work)


def conduct(
    request: Request, folder: RunFolder, watch: Callable[[Stage], None], work: Callable[[Pipeline], None]
) -> RunResult:
    """Do `work` on a fresh pool; whatever ends it early becomes the result's error. Writes result.json in any case."""
    with pool_for(request.plugin) as pool:
        pipeline = Pipeline(request, pool, folder, Progress(watch))
        failure: Failure | None = Failure(type="Interrupted", message="The run was interrupted.", exit_code=130)
        try:
            work(pipeline)
            failure = None
        except Exception as error:
            said = told(error)
            kind, code = type(error).__name__, said.exit_code
            failure = Failure(type=kind, message=said.message, cure=said.cure, exit_code=code)
            if said is not error:
                raise
        finally:
            result = pipeline.result(failure)
            folder.write("result.json", result)
    return result

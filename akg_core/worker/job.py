"""Functions of records as jobs: what goes into one and what comes out travels between processes as JSON."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, get_type_hints

from pydantic import TypeAdapter

from akg_core.registry import forward_trace

if TYPE_CHECKING:
    from akg_core.worker.limits import Limits
    from akg_core.worker.pool import Pool

P = ParamSpec("P")
R = TypeVar("R")


class Job(Generic[P, R]):
    """A function of records, and of whatever else pydantic makes JSON of, as its annotations say.

        @Job
        def emit_job(plugin: str, sketch: Sketch) -> KernelSource: ...

    A worker calls it on JSON; `emit_job.on(pool)(plugin="toy", sketch=sketch)` has one do so, from any process. The
    trace of hook calls that it leaves is reported as if they were made there.
    """

    def __init__(self, run: Callable[P, R]) -> None:
        functools.update_wrapper(self, run)
        self.run = run

    def __call__(self, payload: dict[str, Any]) -> dict[str, Any]:
        given = {name: self._kinds[name].validate_python(value) for name, value in payload.items()}
        run: Callable[..., R] = self.run
        return {"answer": self._kinds["return"].dump_python(run(**given), mode="json")}

    def on(self, pool: Pool, limits: Limits | None = None) -> Callable[P, R]:
        """The function, called in a worker. It raises what `JobResult.unwrap` raises."""

        def ask(*given: P.args, **named: P.kwargs) -> R:
            arguments = inspect.signature(self.run).bind(*given, **named).arguments
            payload = {name: self._kinds[name].dump_python(value, mode="json") for name, value in arguments.items()}
            result = pool.call(f"{self.run.__module__}:{self.run.__name__}", payload, limits=limits)
            forward_trace(result.log)
            answer: R = self._kinds["return"].validate_python(result.unwrap()["answer"])
            return answer

        return ask

    @functools.cached_property
    def _kinds(self) -> dict[str, TypeAdapter[Any]]:
        """How each argument becomes JSON and back, and the "return"."""
        return {name: TypeAdapter(kind) for name, kind in get_type_hints(self.run).items()}

"""The plugin under test, with everything that the tests share: each stage is done once a task and kept."""

from __future__ import annotations

import contextlib
import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from akg_core.judge.records import Timing, Verdict
from akg_core.judge.reference.prepare import Prepared, prepare
from akg_core.judge.timing.measure import measure
from akg_core.judge.verify import verify
from akg_core.records import HOST, Advice, Artifact, Availability, CompileResult, KernelSource, Target, Task
from akg_core.registry import hooks
from akg_core.runs import RunFolder
from akg_core.stages import stages
from akg_core.stages.stages import Design, Request
from akg_core.stages.variants import Variants
from akg_core.worker.pool import Pool

FOLDER = Path(__file__).parent
CHEATED = "scaled_softmax"  # the task whose answer the cheats pretend to compute
DYNAMIC = "scaled_softmax of any size"
TASKS = ("add", CHEATED, DYNAMIC, "linear_relu")
VERIFY_SECONDS = 120.0
MEASURE_SECONDS = 0.1

T = TypeVar("T")
P = ParamSpec("P")
_captured: WeakKeyDictionary[Pool, dict[str, Task]] = WeakKeyDictionary()
"""Tasks by pool and path: they are no plugin's."""


def once(stage: Callable[Concatenate[Subject, str, P], T]) -> Callable[Concatenate[Subject, str, P], T]:
    """A stage that is done once for each task."""

    @functools.wraps(stage)
    def kept(subject: Subject, task: str, *given: P.args, **named: P.kwargs) -> T:
        known = subject.known.setdefault(stage.__name__, {})
        if task not in known:
            known[task] = stage(subject, task, *given, **named)
        return known[task]

    return kept


class Subject:
    """A plugin on one chip. Close it, or use it as a context. Raises PluginError when the plugin cannot be used.

    Tasks go by their names in TASKS, or by the path of a reference file.
    """

    def __init__(self, plugin: str, target: str, pool: Pool) -> None:
        self.plugin, self.pool, self.hooks = plugin, pool, hooks(plugin)
        self.info = self.hooks.akg_plugin_info()
        self.target = Target.parse(target or self.info.backends[0])
        self._held = contextlib.ExitStack()
        self.known: dict[str, dict[str, Any]] = {}  # by stage and task

    def __enter__(self) -> Subject:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @functools.cached_property
    def available(self) -> Availability:
        """What the plugin finds on this machine."""
        return stages.probe(self.pool, self.request(TASKS[0]))

    def fresh(self) -> Path:
        """A new, empty folder, which goes with the pool."""
        return Path(tempfile.mkdtemp(prefix="conformance-", dir=self.pool.folder))

    def request(self, task: str) -> Request:
        """What a user would ask for."""
        name = CHEATED if task == DYNAMIC else task
        path = FOLDER / "tasks" / f"{name}.py" if name in TASKS else Path(name)
        return Request(reference=path, plugin=self.plugin, target=self.target, dynamic=task == DYNAMIC)

    @once
    def reference(self, text: str) -> str:
        """The path of a file with a reference's text, by which the task goes."""
        path = self.fresh() / "reference.py"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def task(self, task: str) -> Task:
        """The captured reference."""
        captured = _captured.setdefault(self.pool, {})
        if task not in captured:
            captured[task] = stages.capture(self.pool, self.request(task))
        return captured[task]

    @once
    def designs(self, task: str) -> tuple[Design, ...]:
        """The designer's sketches as the plugin refines them."""
        request, captured, traits = self.request(task), self.task(task), self.available.traits
        return Variants(lambda number: stages.design(self.pool, request, captured, traits, number)).all()

    def emit(self, task: str) -> KernelSource:
        """What the plugin emits for the first sketch, anew."""
        first = self.designs(task)[0]
        return stages.emit(self.pool, self.request(task), first, first.default)[0]

    @once
    def source(self, task: str) -> KernelSource:
        """What the plugin emits for the first sketch."""
        return self.emit(task)

    def build(self, task: str, source: KernelSource) -> tuple[CompileResult, tuple[Advice, ...]]:
        """Compile a source in a folder of its own, with the task's reference beside it."""
        folder = RunFolder(self.fresh())
        folder.write_source(source, self.task(task).source)
        return stages.build(self.pool, self.request(task), source, folder.kernel)

    @once
    def compiled(self, task: str, source: KernelSource | None = None) -> CompileResult:
        """The build of a task's source: the one that is given, which must always be the same, or what is emitted."""
        return self.build(task, source or self.source(task))[0]

    @once
    def prepared(self, task: str) -> Prepared:
        """The process that knows the task's answers."""
        lends = self.available.device != HOST
        made = prepare(self.pool, self.task(task), self.fresh(), plugin=self.plugin, target=self.target, lends=lends)
        return self._held.enter_context(made)

    def verify(self, task: str, artifact: Artifact) -> Verdict:
        """The judge's verdict on a kernel."""
        return verify(
            self.pool,
            self.prepared(task),
            self.plugin,
            artifact,
            self.target,
            seconds=VERIFY_SECONDS,
            simulated=self.available.simulated,
        )

    def measure(self, task: str, artifact: Artifact) -> Timing:
        """How fast a kernel is, without baselines."""
        return measure(self.pool, self.prepared(task), self.plugin, artifact, self.target, seconds=MEASURE_SECONDS)

    def cheat(self, honest: Artifact, text: str) -> Artifact:
        """A kernel whose entry is `text`, beside the honest kernel, which it can import as the module `honest`."""
        folder = self.fresh() / "kernel"
        shutil.copytree(honest.folder, folder)
        (folder / honest.entry).rename(folder / "honest.py")
        (folder / honest.entry).write_text(text, encoding="utf-8")
        return Artifact(folder=folder, entry=honest.entry)

"""What the commands that make, judge or time a kernel share: their options, their folder, and how they end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import typer

from akg_core.cli.options import (
    Dynamic,
    Evaluation,
    Json,
    NoBaseline,
    Out,
    PluginName,
    Reference,
    Repeatable,
    Scale,
    Seed,
    SketchPath,
    TargetText,
    select_plugin,
    select_target,
)
from akg_core.errors import Interrupted

if TYPE_CHECKING:
    from akg_core.pipeline.results import RunResult
    from akg_core.runs import RunFolder
    from akg_core.stages.progress import Stage
    from akg_core.stages.stages import Request

    Work = Callable[[Request, RunFolder, Callable[[Stage], None]], RunResult]


@dataclass(frozen=True, kw_only=True)
class Job:
    """The shared options, each field one."""

    reference: Reference
    plugin: PluginName = ""
    target: TargetText = ""
    sketch: SketchPath = None
    dynamic: Dynamic = False
    repeatable: Repeatable = False
    evaluation: Evaluation = False
    scale: Scale = 1.0
    seed: Seed = None
    no_baseline: NoBaseline = False
    out: Out = None
    as_json: Json = False

    def request(self) -> Request:
        """What is asked for, with plugin and chip selected."""
        from akg_core.stages.stages import Request

        plugin = select_plugin(self.plugin)
        return Request(
            reference=self.reference,
            plugin=plugin.name,
            target=select_target(self.target, plugin),
            sketch=self.sketch,
            dynamic=self.dynamic,
            repeatable=self.repeatable,
            evaluation=self.evaluation,
            scale=self.scale,
            seed=self.seed,
            baseline=not self.no_baseline,
        )

    def carry_out(self, work: Work, kind: str = "", after_interrupt: str = "") -> NoReturn:
        """Do `work`, show it as it goes and what came out, and end with its exit code.

        Everything is kept in --out, or in a new folder called after the reference and `kind`. An interrupt is reported
        with that folder and, as its cure, `after_interrupt`, in which "{folder}" stands for it.
        """
        from akg_core.report.live import LiveStages
        from akg_core.report.run import console_for, show_run, spell_path
        from akg_core.runs import RunFolder
        from akg_core.storage import sole_use

        request = self.request()
        name = "-".join(filter(None, [self.reference.stem, kind]))
        path = self.out or RunFolder.fresh(name).path
        with sole_use(path):
            folder = RunFolder(path)
            try:
                with LiveStages(console_for(self.as_json)) as live:
                    result = work(request, folder, live)
            except KeyboardInterrupt:
                kept, cure = spell_path(folder.path), after_interrupt.replace("{folder}", spell_path(folder.path))
                raise Interrupted(f"Interrupted; what was done until then is in {kept}.", cure) from None
        show_run(result, self.as_json)
        raise typer.Exit(result.exit_code)

"""`akg-core sketch`: show the sketch that the builtin designer makes, or check and run one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from akg_core.cli import files
from akg_core.cli.options import (
    Dynamic,
    Evaluation,
    Json,
    PluginName,
    Scale,
    Seed,
    SketchPath,
    TargetText,
    Variant,
    select_plugin,
    select_target,
)
from akg_core.errors import UsageError

if TYPE_CHECKING:
    from akg_core.records import Schedule, Task
    from akg_core.stages.stage_jobs import Design
    from akg_core.stages.stages import Request
    from akg_core.worker.pool import Pool


def sketch(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A reference file, or a sketch.", show_default=False)],
    plugin: PluginName = "",
    target: TargetText = "",
    given: SketchPath = None,
    check: Annotated[bool, typer.Option("--check", help="Report what the checker finds instead of the text.")] = False,
    ir: Annotated[
        bool, typer.Option("--ir", help="Show the tile IR that it is lowered to instead of the text.")
    ] = False,
    interpret: Annotated[bool, typer.Option("--interpret", help="Run it and compare with the reference.")] = False,
    variant: Variant = 0,
    dynamic: Dynamic = False,
    evaluation: Evaluation = False,
    scale: Scale = 1.0,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Show, check or interpret the sketch of a reference file.

    The builtin designer makes it; --sketch gives another. Where FILE is a sketch itself, it is shown or checked.
    """
    text = files.read(
        file, "reference file or sketch", lambda other: files.is_sketch(other) or files.is_reference(other)
    )
    form = _Form(check, ir, as_json)
    if files.is_sketch(text):
        if interpret:
            cure = f"Give the reference too: akg-core sketch REF --sketch {file} --interpret."
            raise UsageError("A sketch alone has no inputs to run on.", cure)
        form.show(text, str(file))
        return
    if given and check and not interpret:
        form.show(given.read_text(encoding="utf-8-sig"), str(given))
        return

    from akg_core.stages.pools import pool_for
    from akg_core.stages.stages import Request, trial
    from akg_core.worker.pool import Pool

    asked = select_plugin(plugin) if plugin or target else None
    request = Request(
        reference=file,
        plugin=asked.name if asked else "",
        target=select_target(target, asked) if asked else None,
        sketch=given,
        dynamic=dynamic,
        evaluation=evaluation,
        scale=scale,
    )
    with pool_for(asked.name) if asked else Pool() as pool:
        task, design, known = _design(pool, request, variant)
        if interpret:
            from akg_core.report.sketch import show_trial

            raise typer.Exit(0 if show_trial(task, trial(pool, task, design, seed), as_json) else 1)
        form.show(design.sketch.text, design.sketch.origin, design.default, known)


@dataclass(frozen=True, slots=True)
class _Form:
    """What of a sketch is shown: what the checker finds, its tile IR, or its text."""

    check: bool
    ir: bool
    as_json: bool

    def show(self, text: str, origin: str, schedule: Schedule | None = None, known: int = 0) -> None:
        """Show a sketch; `known`: how many variants are designed where there may be more, else 0."""
        from akg_core.records import Schedule
        from akg_core.report.sketch import show_findings, show_ir, show_sketch

        if self.ir:
            show_ir(text, origin, schedule or Schedule(), self.as_json)
        elif self.check:
            show_findings(text, origin, self.as_json)
        else:
            show_sketch(text, self.as_json, known)


def _design(pool: Pool, request: Request, variant: int) -> tuple[Task, Design, int]:
    """The task, a variant of its sketch, and how many variants are designed where there may be more, else 0."""
    from akg_core.records import Traits
    from akg_core.stages.stages import capture, design, probe
    from akg_core.stages.variants import Variants

    task = capture(pool, request)
    traits = probe(pool, request).traits if request.plugin else Traits()
    variants = Variants(lambda number: design(pool, request, task, traits, number))
    designs = list(islice(variants, variant + 1))
    if variant >= len(designs):
        raise UsageError(f"There is no variant {variant}.", f"The designer made {len(designs)}, counted from 0.")
    return task, designs[variant], 0 if variants.exhausted else variant + 1

"""`akg-core migrate`: a kernel in one language becomes one in another."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from akg_core.cli import agents
from akg_core.cli.files import reference_file
from akg_core.cli.job import Job
from akg_core.cli.options import Evaluation, Json, NoBaseline, Out, Scale, Seed, TargetText
from akg_core.errors import UsageError


def migrate(
    kernel: Annotated[
        Path, typer.Argument(metavar="KERNEL", help="A kernel's folder, or one file of it.", show_default=False)
    ],
    origin: Annotated[str, typer.Option("--from", metavar="NAME", help="The plugin it was written for.")],
    plugin: Annotated[str, typer.Option("--to", metavar="NAME", help="The plugin to write it for.")],
    reference: Annotated[
        Path, typer.Option("--reference", metavar="REF", help="What it computes.", callback=reference_file)
    ],
    target: TargetText = "",
    model: agents.Model = "",
    base_url: agents.BaseUrl = "",
    attempts: agents.Attempts = 1,
    budget_usd: agents.BudgetUsd = None,
    budget_tokens: agents.BudgetTokens = None,
    budget_minutes: agents.BudgetMinutes = None,
    replay: agents.Replay = None,
    evaluation: Evaluation = False,
    scale: Scale = 1.0,
    seed: Seed = 0,
    no_baseline: NoBaseline = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Have a model carry a kernel over from one plugin's language to another's, judged and timed like any other."""
    import dataclasses

    from akg_core.agents.engine import run
    from akg_core.agents.prompts import Origin
    from akg_core.registry import installed

    source = installed().select(origin)
    agenda = agents.agenda(
        hybrid=False,
        model=model,
        base_url=base_url,
        attempts=attempts,
        dollars=budget_usd,
        tokens=budget_tokens,
        minutes=budget_minutes,
        without=["sketch"],
        replay=replay,
        memory=True,
    )
    dsl = source.info.dsl if source.info else origin
    agenda = dataclasses.replace(agenda, origin=Origin(dsl=dsl, files=_texts(kernel)))
    job = Job(
        reference=reference,
        plugin=plugin,
        target=target,
        evaluation=evaluation,
        scale=scale,
        seed=seed,
        no_baseline=no_baseline,
        out=out,
        as_json=as_json,
    )
    job.carry_out(partial(run, agenda=agenda), kind=f"to-{plugin}")


def _texts(kernel: Path) -> dict[str, str]:
    """The files of a kernel that are text, without the reference, by name. Raises UsageError when there are none."""
    paths = sorted(path for path in kernel.rglob("*") if path.is_file()) if kernel.is_dir() else [kernel]
    found = {}
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
        if path.suffix != ".json" and (path.name != "reference.py" or path == kernel):
            found[str(path.relative_to(kernel)) if path != kernel else path.name] = text
    if not found:
        raise UsageError(f"{kernel} holds no source.", "Give a kernel's folder, such as runs/<id>/kernel.")
    return found

"""`akg-core migrate`: a kernel in one language becomes one in another."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from akg_core.cli.agents import GOES_ON, Models
from akg_core.cli.files import reference_file
from akg_core.cli.job import Job
from akg_core.cli.options import Evaluation, Json, NoBaseline, Out, Scale, Seed, TargetText
from akg_core.cli.spread import spread
from akg_core.errors import UsageError


@spread(Models, left_out=("engine", "without"))
def migrate(
    models: Models,
    kernel: Annotated[
        Path, typer.Argument(metavar="KERNEL", help="A kernel's folder, or one file of it.", show_default=False)
    ],
    origin: Annotated[str, typer.Option("--from", metavar="NAME", help="The plugin it was written for.")],
    plugin: Annotated[str, typer.Option("--to", metavar="NAME", help="The plugin to write it for.")],
    reference: Annotated[
        Path, typer.Option("--reference", metavar="REF", help="What it computes.", callback=reference_file)
    ],
    target: TargetText = "",
    evaluation: Evaluation = False,
    scale: Scale = 1.0,
    seed: Seed = None,
    no_baseline: NoBaseline = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Have a model carry a kernel over from one plugin's language to another's, judged and timed like any other."""
    from akg_core.agents.engine import run
    from akg_core.agents.knowledge import Origin
    from akg_core.registry import installed

    source = installed().select(origin)
    dsl = source.info.dsl if source.info else origin
    carried = Origin(dsl=dsl, files=_texts(kernel))
    agenda = replace(models.agenda(), without=frozenset({"sketch"}), origin=carried)
    job = Job(
        reference=reference,
        plugin=plugin,
        target=target,
        evaluation=evaluation,
        scale=scale,
        seed=seed,
        no_baseline=no_baseline,
        out=models.folder(out),
        as_json=as_json,
    )
    job.carry_out(partial(run, agenda=agenda), kind=f"to-{plugin}", after_interrupt=GOES_ON)


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

"""`akg-core trace`: who said what to whom in a run of agents, why, and what it cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from akg_core.cli.options import Json


def trace(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.", show_default=False)],
    html: Annotated[bool, typer.Option("--html", help="Write RUN/trace.html, with every prompt and answer.")] = False,
    as_json: Json = False,
) -> None:
    """Show what the agents of a run did, why the conductor decided so, and what it cost."""
    import json

    from akg_core.agents.engine import ANSWERS
    from akg_core.agents.replay_cache import ReplayCache
    from akg_core.agents.trace import read_trace
    from akg_core.errors import UsageError
    from akg_core.report.trace import as_page, show_trace
    from akg_core.storage import write_whole

    events = list(read_trace(run))
    if not events:
        raise UsageError(f"{run} was ended before anything happened.")
    if as_json:
        print(json.dumps([event.model_dump(mode="json", exclude_defaults=True) for event in events], indent=2))
    elif html:
        write_whole(run / "trace.html", as_page(events, run.resolve().name, ReplayCache(run / ANSWERS)))
        print(f"written to {run / 'trace.html'}")
    else:
        show_trace(events)

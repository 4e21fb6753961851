"""The options that concern models, and the agenda that they make."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from akg_core.cli.options import INFINITE, refusing
from akg_core.errors import UsageError

if TYPE_CHECKING:
    from akg_core.agents.engine import Agenda, Part

ENGINES = ("builtin", "llm", "hybrid")
GOES_ON = "The same command with --resume {folder} goes on."  # after an interrupt


def _folder_of_answers(value: Path | None) -> Path | None:
    if value is not None and not (value / "answers").is_dir():
        raise UsageError(f"{value} holds no answers.", "Give the folder of a run with --engine llm or hybrid.")
    return value


_engine = refusing(lambda name: name in ENGINES, "There is no engine {!r}.", f"There are {', '.join(ENGINES)}.")
_limit = refusing(
    lambda x: 0 <= x < INFINITE, "A budget of {:g} is none.", "Give 0 or more, or leave it out for no limit."
)


@dataclass(frozen=True, kw_only=True)
class Models:
    """The options, each field one."""

    engine: Annotated[
        str, typer.Option(metavar="NAME", help=f"Who designs: {', '.join(ENGINES)}.", callback=_engine)
    ] = "builtin"
    model: Annotated[str, typer.Option(metavar="NAME", help="The model (default: the settings').")] = ""
    base_url: Annotated[str, typer.Option(metavar="URL", help="The model's endpoint.")] = ""
    attempts: Annotated[int, typer.Option(metavar="N", help="Attempts side by side.", min=1, max=100)] = 1
    budget_usd: Annotated[float | None, typer.Option(metavar="X", help="Dollars to spend.", callback=_limit)] = None
    budget_tokens: Annotated[int | None, typer.Option(metavar="N", help="Tokens to spend.", min=0)] = None
    budget_minutes: Annotated[float | None, typer.Option(metavar="X", help="Minutes to spend.", callback=_limit)] = None
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="PART", help="Leave out a part: sketch, docs, examples, conductor."),
    ] = None
    replay: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Repeat a run by its answers.", callback=_folder_of_answers),
    ] = None
    resume: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Go on with a run that ended.", callback=_folder_of_answers),
    ] = None
    no_memory: Annotated[
        bool, typer.Option("--no-memory", help="Neither use nor keep verified kernels of other runs.")
    ] = False

    def require_none(self) -> None:
        """Raise UsageError when something is asked of a model that is not asked for."""
        given = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        if named := next((name for name in given if name != "engine"), ""):
            option = f"--{named.replace('_', '-')}"
            raise UsageError(f"{option} is for models.", "Give --engine llm or --engine hybrid with it.")

    def folder(self, out: Path | None) -> Path | None:
        """Where to work: in the run that goes on, else in `out`. Raises UsageError for what does not go together."""
        if self.resume and self.replay:
            raise UsageError(
                "--resume and --replay exclude each other.", "One asks for what is missing, one never does."
            )
        if self.resume and out and out.resolve() != self.resume.resolve():
            raise UsageError("--resume and --out name two folders.", "A run that goes on stays in its own.")
        return self.resume or out

    def agenda(self) -> Agenda:
        """What the options ask for. Raises UsageError for a part that does not exist, or without a model."""
        from akg_core.agents.budget import Limits
        from akg_core.agents.engine import PARTS, Agenda
        from akg_core.agents.settings import read_settings

        unknown = set(self.without or ()).difference(PARTS)
        if unknown:
            raise UsageError(f"There is no part {min(unknown)!r}.", f"There are {', '.join(PARTS)}.")
        settings = read_settings(model=self.model, base_url=self.base_url)
        settings.model_for("code")
        left_out: frozenset[Part] = frozenset(part for part in PARTS if part in (self.without or ()))
        return Agenda(
            settings=settings,
            attempts=self.attempts,
            limits=Limits(self.budget_usd, self.budget_tokens, self.budget_minutes),
            hybrid=self.engine == "hybrid",
            without=left_out,
            replay=self.replay,
            memory=not self.no_memory,
        )

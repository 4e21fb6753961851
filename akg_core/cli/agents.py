"""The options that concern models, and the agenda that they make."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from akg_core.errors import UsageError

if TYPE_CHECKING:
    from akg_core.agents.engine import Agenda, Part

ENGINES = ("builtin", "llm", "hybrid")
GOES_ON = "The same command with --resume {folder} goes on."  # after an interrupt


def _engine(value: str) -> str:
    if value not in ENGINES:
        raise UsageError(f"There is no engine {value!r}.", f"There are {', '.join(ENGINES)}.")
    return value


def _folder_of_answers(value: Path | None) -> Path | None:
    if value is not None and not (value / "answers").is_dir():
        raise UsageError(f"{value} holds no answers.", "Give the folder of a run with --engine llm or hybrid.")
    return value


def _amount(value: float | None) -> float | None:
    if value is not None and not 0 <= value < float("inf"):
        raise UsageError(f"A budget of {value:g} is none.", "Give 0 or more, or leave it out for no limit.")
    return value


Engine = Annotated[
    str, typer.Option("--engine", metavar="NAME", help=f"Who designs: {', '.join(ENGINES)}.", callback=_engine)
]
Model = Annotated[str, typer.Option("--model", metavar="NAME", help="The model (default: the settings').")]
BaseUrl = Annotated[str, typer.Option("--base-url", metavar="URL", help="The model's endpoint.")]
Attempts = Annotated[int, typer.Option("--attempts", metavar="N", help="Attempts side by side.", min=1, max=100)]
BudgetUsd = Annotated[
    float | None, typer.Option("--budget-usd", metavar="X", help="Dollars to spend.", callback=_amount)
]
BudgetTokens = Annotated[int | None, typer.Option("--budget-tokens", metavar="N", help="Tokens to spend.", min=0)]
BudgetMinutes = Annotated[
    float | None, typer.Option("--budget-minutes", metavar="X", help="Minutes to spend.", callback=_amount)
]
Without = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="PART", help="Leave out a part: sketch, docs, examples, conductor."),
]
Replay = Annotated[
    Path | None,
    typer.Option("--replay", metavar="RUN", help="Repeat a run by its answers.", callback=_folder_of_answers),
]
Resume = Annotated[
    Path | None,
    typer.Option("--resume", metavar="RUN", help="Go on with a run that ended.", callback=_folder_of_answers),
]
NoMemory = Annotated[bool, typer.Option("--no-memory", help="Neither use nor keep verified kernels of other runs.")]


@dataclass(frozen=True, kw_only=True)
class Models:
    """The options, each field one."""

    engine: Engine = "builtin"
    model: Model = ""
    base_url: BaseUrl = ""
    attempts: Attempts = 1
    budget_usd: BudgetUsd = None
    budget_tokens: BudgetTokens = None
    budget_minutes: BudgetMinutes = None
    without: Without = None
    replay: Replay = None
    resume: Resume = None
    no_memory: NoMemory = False

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

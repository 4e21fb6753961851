"""A run of agents as a person reads it: on the terminal, and as one page of HTML with every prompt and answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from rich.console import Console
from rich.markup import escape

from akg_core.agents.replay_cache import ReplayCache
from akg_core.agents.stopwatch import Spent
from akg_core.agents.trace import Event
from akg_core.report.table import plain_table
from akg_core.spell import count_of, spell_seconds

_STYLES = {"correct": "green", "accepted": "green"}


def show_trace(events: Sequence[Event]) -> None:
    """One table an attempt: who acted, what was decided and why, what came of it, what it cost."""
    console = Console(highlight=False)
    for number in sorted({event.attempt for event in events}):
        mine = [event for event in events if event.attempt == number]
        console.print(f"\n[bold]attempt {number + 1}[/]")
        table = plain_table("after", "who", "what", "tokens", "cost", right=("after", "tokens", "cost"))
        for event in mine:
            after = spell_seconds(event.at - events[0].at) if event.at > events[0].at else "0 s"
            table.add_row(after, *_row(event))
        console.print(table)
    console.print(f"\n{_total(events)}", soft_wrap=True)


def as_page(events: Sequence[Event], name: str, tape: ReplayCache) -> str:
    """The page of HTML."""
    exchanges = {event.asked.question: tape.exchange(event.asked.question) for event in events if event.asked}
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)
    template = environment.get_template("trace.html")
    began = time.strftime("%F %T", time.gmtime(events[0].at))
    return template.render(
        name=name, events=events, exchanges=exchanges, total=_total(events), began=began, spell_spent=_spell_spent
    )


def _row(event: Event) -> tuple[str, str, str, str]:
    if event.decided:
        by = "" if event.decided.by == "rules" else " (a model's choice)"
        return "conductor", f"[bold]{event.decided.action}[/]{by}: {escape(event.decided.reason)}", "", ""
    if event.asked:
        cost = f"${event.asked.dollars:.4f}" if event.asked.dollars else ""
        tokens = "replayed" if event.asked.replayed else f"{event.asked.read + event.asked.written:,}"
        said = f"answers in {spell_seconds(event.asked.seconds)}" if event.asked.seconds else "answers"
        what = f"{escape(event.asked.model)} {said}, told {len(event.asked.chosen[1:])} sections"
        return event.asked.actor, what, tokens, cost
    if event.done:
        style = _STYLES.get(event.done.outcome, "red")
        first = escape(event.done.feedback.partition("\n")[0])
        spent = f"\n[dim]{_spell_spent(event.spent)}[/]" if event.spent else ""
        return "verifier", f"[{style}]{event.done.outcome}[/] {first}".rstrip() + spent, "", ""
    return "conductor", f"[bold]ends[/]: {escape(event.ended)}", "", ""


def _total(events: Sequence[Event]) -> str:
    asked = [event.asked for event in events if event.asked]
    tokens = sum(each.read + each.written for each in asked)
    dollars = sum(each.dollars or 0.0 for each in asked)
    cost = f", ${dollars:.4f}" if dollars else ""
    spent = sum((event.spent for event in events if event.spent), Spent())
    return f"{count_of(len(asked), 'answer')}, {tokens:,} tokens{cost}; {_spell_spent(spent)}"


def _spell_spent(spent: Spent) -> str:
    """Where time went: what took any, and in any case what is left."""
    parts = {"model": spent.model, "compiler": spent.compile, "judge": spent.judge, "rest": spent.rest}
    return ", ".join(
        f"{name} {spell_seconds(seconds) if seconds else '0 s'}"
        for name, seconds in parts.items()
        if seconds or name == "rest"
    )

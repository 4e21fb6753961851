"""Every measurement of every search, in one SQLite file (or another database, by URL), written as soon as it is made.

A row is keyed by what decides a time: the task, the sketch, the schedule, the machine and the versions of the software.
A search that was killed finds its rows again; so does the next search on the same task.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Engine, Float, String, UniqueConstraint, create_engine, event, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.schema import CreateIndex, CreateTable

from akg_core.errors import UsageError
from akg_core.storage import cache_folder


class Table(DeclarativeBase):
    """The tables of the archive."""


class Measurement(Table):
    """One candidate, once: `status` is "timed", or why not ("refused", "build failed", "incorrect", "crashed", …)."""

    __tablename__ = "measurement"
    __table_args__ = (UniqueConstraint("task", "sketch", "schedule", "machine", "versions"),)

    number: Mapped[int] = mapped_column(primary_key=True)
    task: Mapped[str] = mapped_column(String(64), index=True)
    sketch: Mapped[str] = mapped_column(String(64))
    schedule: Mapped[str] = mapped_column(String(4096))
    machine: Mapped[str] = mapped_column(String(256))
    versions: Mapped[str] = mapped_column(String(512))
    status: Mapped[str] = mapped_column(String(32))
    reason: Mapped[str] = mapped_column(String, default="")
    seconds: Mapped[float | None] = mapped_column(Float, default=None)
    samples: Mapped[list[float]] = mapped_column(JSON, default=list)
    made: Mapped[float] = mapped_column(Float, default=time.time)


class Effort(Table):
    """How long has been searched among some designs, in all searches together."""

    __tablename__ = "effort"
    __table_args__ = (UniqueConstraint("task", "designs", "machine", "versions"),)

    number: Mapped[int] = mapped_column(primary_key=True)
    task: Mapped[str] = mapped_column(String(64), index=True)
    designs: Mapped[str] = mapped_column(String(64))
    machine: Mapped[str] = mapped_column(String(256))
    versions: Mapped[str] = mapped_column(String(512))
    seconds: Mapped[float] = mapped_column(Float, default=0.0)


def default_url() -> str:
    """AKG_ARCHIVE, or a file in the user's cache."""
    return os.environ.get("AKG_ARCHIVE") or f"sqlite:///{cache_folder() / 'archive.sqlite'}"


class Archive:
    """The measurements of one task on one machine with one set of versions; `url` is a path or a database URL.

    Every method raises UsageError when the database cannot be used.
    """

    def __init__(self, url: str, task: str, machine: str, versions: str) -> None:
        self._url = url
        self._scope = {"task": task, "machine": machine, "versions": versions}
        with _reported(url):
            self._engine = _open(url)
            _create_tables(self._engine)
        self.rows()  # a table of that name with other columns is noticed now

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    def record(self, sketch: str, schedule: dict[str, Any], status: str, **fields: Any) -> None:
        """Store one measurement at once; a later one of the same candidate replaces it."""
        key = {**self._scope, "sketch": sketch, "schedule": spell(schedule)}
        with _reported(self._url), Session(self._engine) as session, session.begin():
            row = session.scalars(select(Measurement).filter_by(**key)).one_or_none() or Measurement(**key)
            row.status, row.made, row.seconds, row.samples, row.reason = status, time.time(), None, [], ""
            for name, value in fields.items():
                setattr(row, name, value)
            session.add(row)

    def rows(self) -> list[Measurement]:
        """Everything measured in this scope, the fastest first, those without a time last."""
        with _reported(self._url), Session(self._engine, expire_on_commit=False) as session:
            found = list(session.scalars(select(Measurement).filter_by(**self._scope)))
        return sorted(found, key=lambda row: (row.status != "timed", row.seconds or 0.0))

    def spent(self, designs: str, seconds: float = 0.0) -> float:
        """How long has been searched among `designs`, with `seconds` more that are added now."""
        key = {**self._scope, "designs": designs}
        with _reported(self._url), Session(self._engine) as session, session.begin():
            row = session.scalars(select(Effort).filter_by(**key)).one_or_none() or Effort(**key, seconds=0.0)
            row.seconds += seconds
            session.add(row)
            return row.seconds


def shown(url: str) -> str:
    """A path or a URL as it may be shown, without a password."""
    try:
        return _location(url).render_as_string(hide_password=True) if "://" in url else url
    except ArgumentError:
        return url


@contextmanager
def _reported(url: str) -> Iterator[None]:
    """Whatever is wrong with the database becomes a UsageError."""
    try:
        yield
    except (SQLAlchemyError, ImportError, OSError) as error:
        said = str(getattr(error, "orig", None) or error).splitlines()[0].rstrip(".")
        raise UsageError(
            f"The archive {shown(url)!r} cannot be used: {said}.",
            "Give --archive the path of an SQLite file, or the URL of a database whose driver is installed.",
        ) from None


def spell(schedule: dict[str, Any]) -> str:
    """A schedule as the text that the archive keys it by."""
    return json.dumps(schedule, sort_keys=True)


def _location(url: str) -> URL:
    try:
        return make_url(url if "://" in url else f"sqlite:///{url}")
    except ValueError:
        raise ArgumentError("it is not the URL of a database") from None


def _create_tables(engine: Engine) -> None:
    """Create what is missing; others may be at it at the same time."""
    with engine.begin() as connection:
        for table in Table.metadata.sorted_tables:
            connection.execute(CreateTable(table, if_not_exists=True))
            for index in sorted(table.indexes, key=lambda index: str(index.name)):
                connection.execute(CreateIndex(index, if_not_exists=True))


def _open(url: str) -> Engine:
    location = _location(url)
    if location.get_backend_name() != "sqlite":
        return create_engine(location)
    if location.database:
        Path(location.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(location)

    @event.listens_for(engine, "connect")
    def _durable(connection: Any, _: Any) -> None:
        # A killed process leaves a readable file, and several searches may write to one.
        connection.execute("PRAGMA busy_timeout=30000")
        with suppress(sqlite3.OperationalError):  # it is locked, at once, while another connection does the same
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")

    return engine

"""The suite that a plugin's author inherits; its tests are those of all levels."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import ClassVar, TypeVar

import pytest

from akg_core.testing.contract import Contract
from akg_core.testing.device import OnDevice
from akg_core.testing.emitted import Emission
from akg_core.testing.levels import Level
from akg_core.testing.subject import Subject
from akg_core.testing.toolchain import Toolchain

RUNNER = "akg-conformance"
"""The name of the pytest plugin that `akg_core.testing.runner` hands a pool over with."""
SUITES: dict[Level, type] = {"contract": Contract, "toolchain": Toolchain, "emission": Emission, "device": OnDevice}


T = TypeVar("T", bound=Callable[..., None])


def overrides(reason: str) -> Callable[[T], T]:
    """Decorate a test that takes the place of one of the suite's; `reason`: why that one cannot hold for the plugin."""

    def mark(test: T) -> T:
        test.__dict__["overrides"] = reason
        return test

    return mark


class Conformance(Contract, Toolchain, Emission, OnDevice):
    """Derive from it and set `plugin`; `target` is "backend" or "backend:arch", by default the plugin's first.

    A test that cannot hold for a plugin may be overridden, with the reason why: `@overrides("the chip has no clock")`.
    Nothing else of the suite may be.
    """

    plugin: ClassVar[str]
    target: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, value in vars(cls).items():
            if name.startswith("__") or name in ("plugin", "target") or not hasattr(Conformance, name):
                continue
            if not name.startswith("test_"):
                raise TypeError(f"{cls.__name__} replaces {name}, which is the suite's own.")
            if not getattr(value, "overrides", "").strip():
                raise TypeError(f"{cls.__name__} overrides {name} and does not say why: decorate it with @overrides.")

    @pytest.fixture(scope="class")
    def subject(self, request: pytest.FixtureRequest) -> Iterator[Subject]:
        """The plugin under test, with what the tests share."""
        from akg_core.stages.pools import pool_for

        runner = request.config.pluginmanager.get_plugin(RUNNER)
        with contextlib.ExitStack() as stack:
            pool = runner.pool if runner else stack.enter_context(pool_for(request.cls.plugin))
            yield stack.enter_context(Subject(request.cls.plugin, request.cls.target, pool))


def level_of(test: str) -> Level | None:
    """The level of a test by the name of its function; None for one that is not the suite's."""
    return next((level for level, suite in SUITES.items() if test in vars(suite)), None)

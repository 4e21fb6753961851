"""Runs the suite on an installed plugin, without a line written by its author."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from akg_core.errors import AkgError
from akg_core.registry import Plugin, installed
from akg_core.stages.pools import pool_for
from akg_core.testing.emitted import REFUSED
from akg_core.testing.levels import LEVELS, Conformity, Level, Outcome, grade
from akg_core.testing.suite import RUNNER, level_of
from akg_core.worker.pool import Pool

_SUITE = """
from akg_core.testing import Conformance


class TestConformance(Conformance):
    plugin = {plugin!r}
    target = {target!r}
"""
# The suite alone, as it is: no settings and no plugins of the folder or the environment at hand.
_OPTIONS = ("-s", "-p", "no:terminal", "-p", "no:cacheprovider", "--import-mode=importlib")
_ENVIRONMENT = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}


def conform(
    name: str,
    level: Level = "device",
    watch: Callable[[Outcome], None] = lambda outcome: None,
    *,
    target: str = "",
    pool: Pool | None = None,
    only: str = "",
) -> Conformity:
    """Run the tests of all levels up to `level` on a plugin. Raises PluginError for one that cannot be used.

    `only`: an expression of pytest's -k that chooses tests, for somebody who mends one; no level is reached then.
    """
    plugin = installed().select(name)
    with contextlib.ExitStack() as stack:
        recorder = _Recorder(pool or stack.enter_context(pool_for(name)), level, watch)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="akg-conformance-")))
        module = f"test_{folder.name.replace('-', '_')}"
        (folder / f"{module}.py").write_text(_SUITE.format(plugin=name, target=target), encoding="utf-8")
        stack.callback(sys.modules.pop, module, None)
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        environment = stack.enter_context(pytest.MonkeyPatch.context())
        for variable, value in _ENVIRONMENT.items():
            environment.setenv(variable, value)
        arguments = [*_OPTIONS, "-c", str(folder / "pytest.ini"), str(folder)]
        code = pytest.main(arguments + ["-k", only] * bool(only), plugins=[recorder])
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"pytest ended with {code!r}")
    found = _conformity(plugin, recorder.outcomes, level)
    if only:
        some = "only some of its tests were run"
        levels = tuple(r.model_copy(update={"reached": False, "reason": r.reason or some}) for r in found.levels)
        return found.model_copy(update={"levels": levels})
    return found


def unusable(plugin: Plugin, level: Level) -> Conformity:
    """What is said of a plugin that is installed and not loaded: it fails before its first test."""
    said = f"{plugin.state}: {plugin.reason}"
    return _conformity(plugin, [Outcome(level=LEVELS[0], test="it is loaded", status="failed", said=said)], level)


def _conformity(plugin: Plugin, outcomes: list[Outcome], level: Level) -> Conformity:
    return Conformity(
        plugin=plugin.name,
        distribution=plugin.distribution,
        version=plugin.version,
        levels=grade(outcomes, level),
        outcomes=tuple(outcomes),
    )


class _Recorder:
    """The pytest plugin that lends the pool, leaves out higher levels and notes how each test ends."""

    def __init__(self, pool: Pool, level: Level, watch: Callable[[Outcome], None]) -> None:
        self.__name__ = RUNNER  # by which the suite finds it
        self.pool, self.outcomes = pool, list[Outcome]()
        self._levels, self._watch = LEVELS[: LEVELS.index(level) + 1], watch

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if _level(i) in self._levels), key=lambda i: self._levels.index(_level(i)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "call" or not report.passed:
            said = _sentence(call.excinfo.value) if call.excinfo else ""
            outcome = Outcome(
                level=_level(item),
                test=_words(item),
                status=report.outcome,
                seconds=report.duration,
                said=said,
                refused=tuple(str(value) for name, value in item.user_properties if name == REFUSED),
            )
            self.outcomes.append(outcome)
            self._watch(outcome)
        return report


def _level(item: pytest.Item) -> Level:
    """The level of a test; one that is not the suite's own was added by nobody."""
    level = level_of(getattr(item, "originalname", item.name))
    if level is None:
        raise ValueError(f"{item.name} is not a test of the suite")
    return level


def _words(item: pytest.Item) -> str:
    """A test's name as words: "a cheat is caught (zeros)"."""
    name = getattr(item, "originalname", item.name).removeprefix("test_").replace("_", " ")
    callspec = getattr(item, "callspec", None)
    return f"{name} ({callspec.id})" if callspec else name


def _sentence(error: BaseException) -> str:
    """What a test failed with or was skipped for, in one line."""
    said = " ".join((getattr(error, "msg", None) or str(error)).split())
    ours = isinstance(error, AkgError | pytest.fail.Exception | pytest.skip.Exception)
    return said if ours else f"{type(error).__name__}: {said}"

"""The self-check: every plugin through every stage on a vector add, PASS or the reason."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from akg_core.errors import AkgError
from akg_core.records import Record, Target
from akg_core.registry import HOOKS, OPTIONAL, Hooks, Plugin, installed
from akg_core.runs import RunFolder
from akg_core.stages.pools import probe
from akg_core.stages.progress import Progress, Stage
from akg_core.stages.stages import Request

VECTOR_ADD = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


def get_inputs():
    return [torch.randn(1 << 20), torch.randn(1 << 20)]


def get_init_inputs():
    return []
"""


class Check(Record):
    """One stage of one plugin: PASS, or the reason why not."""

    plugin: str
    stage: str
    passed: bool
    seconds: float = 0.0
    said: str = ""


def examine(report: Callable[[Check], None], only: str = "") -> bool:
    """Report every stage of every plugin, or of `only`; whether all passed. Raises PluginError for an unknown one."""
    registry = installed()
    if only:
        registry.select(only)
    checks: list[Check] = []

    def say(check: Check) -> None:
        checks.append(check)
        report(check)

    for plugin in registry.plugins():
        if only in ("", plugin.name):
            _examine_plugin(plugin, say)
    return bool(checks) and all(check.passed for check in checks)


def _examine_plugin(plugin: Plugin, say: Callable[[Check], None]) -> None:
    loaded = plugin.state == "loaded"
    said = f"{plugin.distribution} {plugin.version}" if loaded else f"{plugin.state}: {plugin.reason} {plugin.cure}"
    say(Check(plugin=plugin.name, stage="load", passed=loaded, said=said))
    if not loaded or plugin.info is None:
        return
    hooks = installed().hooks(plugin.name)
    missing = [hook for hook in HOOKS if hook not in OPTIONAL and not hooks.has(hook)]
    said = f"no {', '.join(missing)}" if missing else "all that are needed"
    say(Check(plugin=plugin.name, stage="hooks", passed=not missing, said=said))
    for backend in plugin.info.backends:
        target = Target(backend=backend)
        if all([_documents(plugin, hooks, say), _probe(plugin, target, say)]):
            _vector_add(plugin, target, say)


def _documents(plugin: Plugin, hooks: Hooks, say: Callable[[Check], None]) -> bool:
    if not hooks.has("akg_docs"):
        return True
    progress = Progress(_watch(plugin, say))
    try:
        with progress.stage("docs") as note:
            pages = hooks.akg_docs()
            note.text = ", ".join(dict.fromkeys(page.kind for page in pages)) or "no pages"
    except AkgError:
        return False
    return True


def _probe(plugin: Plugin, target: Target, say: Callable[[Check], None]) -> bool:
    progress = Progress(_watch(plugin, say))
    try:
        with progress.stage("probe") as note:
            found = probe(plugin.name, target)
            note.text = ", ".join(f"{key} {value}" for key, value in found.details.items())
            if not (found.can_compile and found.can_run):
                raise AkgError(f"{found.reason} {found.cure}".strip())
    except AkgError:
        return False
    return True


def _vector_add(plugin: Plugin, target: Target, say: Callable[[Check], None]) -> None:
    from akg_core.pipeline.jobs import run

    with tempfile.TemporaryDirectory(prefix="akg-doctor-") as folder:
        reference = Path(folder) / "vector_add.py"
        reference.write_text(VECTOR_ADD)
        request = Request(reference=reference, plugin=plugin.name, target=target, baseline=False)
        watch = _watch(plugin, say)
        result = run(request, RunFolder(Path(folder) / "run"), watch)
        if result.error is None and result.exit_code:
            said = result.verdict.reason if result.verdict and not result.verdict.correct else "the timing failed"
            say(Check(plugin=plugin.name, stage="judge", passed=False, said=said))


def _watch(plugin: Plugin, say: Callable[[Check], None]) -> Callable[[Stage], None]:
    """A watcher of stages that turns each one that ends into a Check."""

    def watch(stage: Stage) -> None:
        if stage.status in ("done", "failed"):
            passed = stage.status == "done"
            say(Check(plugin=plugin.name, stage=stage.name, passed=passed, seconds=stage.seconds, said=stage.note))

    return watch

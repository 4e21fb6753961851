"""The candidate's process: calls the plugin's hooks. JSON in, JSON out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from akg_core.errors import PluginError
from akg_core.judge.candidate.importers import set_kernel
from akg_core.records import Artifact, Case, Target, TimingPlan
from akg_core.registry import hooks, installed, modules_of


@contextmanager
def _calling(plugin: str, folder: str) -> Iterator[None]:
    """Inside, hooks of a plugin are called on a kernel. If that exits, it is no defect of the plugin."""
    set_kernel(modules_of(plugin), Path(folder))
    try:
        yield
    except PluginError as error:
        if isinstance(error.__cause__, SystemExit):
            raise error.__cause__ from None
        raise


def run_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{plugin, artifact, target, cases} → RunReport."""
    cases = tuple(Case(**case) for case in payload["cases"])
    with _calling(payload["plugin"], payload["artifact"]["folder"]):
        report = hooks(payload["plugin"]).akg_run(
            artifact=Artifact(**payload["artifact"]), target=Target(**payload["target"]), cases=cases
        )
    return report.model_dump(mode="json")


def profile_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{plugin, artifact, target, case, plan} → ProfileReport."""
    with _calling(payload["plugin"], payload["artifact"]["folder"]):
        report = hooks(payload["plugin"]).akg_profile(
            artifact=Artifact(**payload["artifact"]),
            target=Target(**payload["target"]),
            case=Case(**payload["case"]),
            plan=TimingPlan(**payload["plan"]),
        )
    return report.model_dump(mode="json")


installed()  # as the module is imported, which a warm parent does once for all

"""The doctor's findings, a line each as they come; or all of them as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from akg_core.report.findings import Findings

if TYPE_CHECKING:
    from akg_core.doctor import Check


class DoctorReport(Findings["Check"]):
    """Call it with each Check; a context that ends the report."""

    def __call__(self, check: Check) -> None:
        """Take in one finding."""
        if check.plugin not in {seen.plugin for seen in self.found}:
            self.head(check.plugin)
        self.found.append(check)
        self.line("passed" if check.passed else "failed", f"{check.stage:<11}", check.seconds, (check.said,))

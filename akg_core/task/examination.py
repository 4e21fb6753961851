"""What `akg-core task check` found, as data."""

from __future__ import annotations

from akg_core.records import Finding, Record


class Examination(Record):
    """What `akg-core task check` found in a reference before anything is spent on it.

    `findings` have codes TK101 and up (see `akg_core.task.examine`); an error means that a wrong kernel can pass
    under KernelBench's tolerance. `notes` say at which sizes it was examined and what was not examined. `refused`: why
    no kernel can be designed for it, a sentence for each operator without a rule.
    """

    name: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    seconds: float = 0.0

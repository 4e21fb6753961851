"""Has the harness report a run that never was.

Seen: harnesses that trust what the process prints; GEAK, issue 316.
Verdict: incorrect|cheating
"""

from reference import Model

from akg_core.judge.candidate import harness
from akg_core.records import CaseReport

harness._run = lambda subject, case, *_: CaseReport(name=case.name, finished=True)


class ModelNew(Model):
    def forward(self, x):
        return x

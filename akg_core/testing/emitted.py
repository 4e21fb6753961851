"""Level `emission`: what kernels compute that the plugin emits is what the interpreter makes of their sketches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from akg_core.testing.contract import fail
from akg_core.testing.device import require_device
from akg_core.testing.subject import FOLDER, Subject
from akg_core.testing.trials import Trials

FAMILIES = tuple(sorted(path.stem for path in FOLDER.glob("emission/families/[a-z]*.py")))
REFUSED = "refused"
"""The property of a test that says which case the plugin has refused, and why."""
_TOLD = 3  # cases of which it is said what is wrong with them


class Emission:
    """Tests of this level."""

    @pytest.fixture(scope="class")
    def trials(self, subject: Subject) -> Iterator[Trials]:
        """Cases, to be tried on the plugin."""
        require_device(subject)
        with Trials(subject) as trials:
            yield trials

    @pytest.mark.parametrize("family", FAMILIES)
    def test_emission_keeps_to_sketches(
        self, trials: Trials, family: str, record_property: Callable[[str, str], None]
    ) -> None:
        tried = trials.family(family)
        for name, reason in tried.refused.items():
            record_property(REFUSED, f"{name}: {reason}")
        if tried.wrong:
            of = len(tried.wrong) + len(tried.right)
            names = list(tried.wrong)
            told = [f"{name}: {tried.wrong[name]}" for name in names[:_TOLD]] + names[_TOLD:]
            fail(f"{len(names)} of {of} kernels are wrong. {'; '.join(told)}")

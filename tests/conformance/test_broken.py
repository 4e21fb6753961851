"""Each broken copy of a plugin fails the suite, by the test that is there for it."""

from __future__ import annotations

import pytest

from akg_core.testing.runner import conform
from tests.conformance.broken import COPIES, Broken


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: copy.name)
def test_it_is_found(copy: Broken, pool) -> None:
    found = conform(copy.name, pool=pool, only=copy.only)
    failed = {outcome.test: outcome.said for outcome in found.outcomes if outcome.status == "failed"}
    assert copy.test in failed, found.outcomes
    assert copy.said in failed[copy.test]

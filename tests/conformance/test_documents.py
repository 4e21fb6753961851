"""The examples in the plugins' documents are allowed, compile, and are judged correct, so that none can rot."""

from __future__ import annotations

import pytest

from akg_core.testing.runner import conform
from akg_core.worker.pool import Pool


@pytest.mark.parametrize("plugin", ["cpp_cpu", "triton_cuda"])
def test_the_examples_hold(plugin: str, pool: Pool) -> None:
    found = conform(plugin, pool=pool, only="examples")
    assert [outcome for outcome in found.outcomes if outcome.status != "passed"] == []
    assert [outcome.level for outcome in found.outcomes] == ["contract", "toolchain", "device"]

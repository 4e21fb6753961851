from __future__ import annotations

import importlib.metadata
import sys

import pytest


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on sys.path that alone holds plugins: the really installed ones are hidden."""
    monkeypatch.syspath_prepend(tmp_path)
    found = importlib.metadata.entry_points

    def only_here(**query):
        return [entry for entry in found(**query) if str(entry.dist.locate_file("")) == str(tmp_path)]

    monkeypatch.setattr(importlib.metadata, "entry_points", only_here)
    known = set(sys.modules)
    yield tmp_path
    for module in set(sys.modules) - known:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[module]

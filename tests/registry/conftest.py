from __future__ import annotations

import importlib.metadata
import sys

import pytest

from akg_core.registry import installed


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on sys.path that alone holds plugins: those really installed, or imported by other tests, are hidden."""
    monkeypatch.syspath_prepend(tmp_path)
    found = importlib.metadata.entry_points

    def only_here(**query):
        return [entry for entry in found(**query) if str(entry.dist.locate_file("")) == str(tmp_path)]

    monkeypatch.setattr(importlib.metadata, "entry_points", only_here)
    for module in [name for name in sys.modules if name.startswith("akg_plugin_")]:
        monkeypatch.delitem(sys.modules, module)
    known = set(sys.modules)
    installed.cache_clear()
    yield tmp_path
    installed.cache_clear()
    for module in set(sys.modules) - known:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[module]

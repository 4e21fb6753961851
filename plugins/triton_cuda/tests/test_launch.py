"""What model_new.py launches kernels by: Triton looks at the arguments once, and what it finds is launched again."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from akg_plugin_triton_cuda.emit import dialect
from akg_triton.launch import prelude

from akg_core.plugin import Target

STREAM = 7


class Function:
    """Stands in for a jitted function: notes what Triton looks at, and what is launched past it."""

    def __init__(self) -> None:
        self.looked: list[tuple[Any, ...]] = []
        self.launched: list[tuple[Any, ...]] = []

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            self.looked.append((grid, arguments, options))
            return SimpleNamespace(function="function", packed_metadata="metadata", run=self.run)

        return call

    def run(self, *said: Any) -> None:
        self.launched.append(said)


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "kernel.py").write_text("")
    header = "import importlib.util\nfrom pathlib import Path\nimport torch\n"
    (tmp_path / "model_new.py").write_text(header + prelude([], dialect(Target(backend="cuda"))))
    spec = importlib.util.spec_from_file_location("launched_model", tmp_path / "model_new.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: -1)  # as a tensor of the host says
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda device: STREAM, raising=False)
    return module._Launcher(Function(), num_warps=4)


def test_what_was_compiled_is_launched_again(launcher: Any) -> None:
    x, y = torch.zeros(64), torch.zeros(64)
    for programs in (3, 4):
        launcher(programs, (x, y), (64,))
    (looked,), (launched,) = launcher.function.looked, launcher.function.launched
    assert looked == ((3,), (x, y, 64), {"num_warps": 4})
    assert launched == (4, 1, 1, STREAM, "function", "metadata", None, None, None, x, y, 64)


def test_other_numbers_and_addresses_and_devices_are_looked_at(launcher: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.zeros(64)
    launcher(1, (x,), (64,))
    launcher(1, (x,), (65,))
    assert len(launcher.function.looked) == 2 and not launcher.function.launched
    for _ in range(2):  # what lies at no multiple of 16 bytes is another kernel each time
        launcher(1, (x[1:],), (64,))
    assert len(launcher.function.looked) == 4 and not launcher.function.launched
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    launcher(1, (x,), (64,))
    assert len(launcher.function.looked) == 5 and not launcher.function.launched

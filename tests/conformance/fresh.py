"""Distributions built from this tree, and fresh environments that share the packages that are installed here."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARED = {path.parent.name: path.parent for path in sorted(ROOT.glob("plugins/shared/*/pyproject.toml"))}
PLUGINS = {f"akg_plugin_{path.parent.name}": path.parent for path in sorted(ROOT.glob("plugins/*/pyproject.toml"))}
PROJECTS = {"akg_core": ROOT, **SHARED, **PLUGINS}


def build(project: Path, out: Path) -> tuple[Path, Path]:
    """The sdist and the wheel of a project, built into the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    before = set(out.iterdir())
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    made = set(out.iterdir()) - before
    (sdist,) = (path for path in made if path.name.endswith(".tar.gz"))
    (wheel,) = (path for path in made if path.suffix == ".whl")
    return sdist, wheel


@dataclass(frozen=True)
class Environment:
    """A virtual environment in `folder`, which needs no network: what others wrote is linked from here."""

    folder: Path

    @property
    def site(self) -> Path:
        """Its site-packages."""
        return Path(sysconfig.get_path("purelib", "venv", {"base": str(self.folder)}))

    @property
    def links(self) -> Path:
        """The folder of what it shares with this Python."""
        return self.folder / "shared"

    @classmethod
    def make(cls, folder: Path) -> Environment:
        """A new one, with every package but the project's own."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        made = cls(folder)
        made.links.mkdir()
        for scheme in {"purelib", "platlib"}:
            for path in Path(sysconfig.get_path(scheme)).iterdir():
                ours = path.name.startswith(("akg_", "_editable_", "__editable__")) or path.suffix == ".pth"
                if not ours and not (made.links / path.name).exists():
                    (made.links / path.name).symlink_to(path)
        (made.site / "shared.pth").write_text(f"{made.links}\n")
        return made

    def install(self, *wheels: Path) -> None:
        """Install wheels; what they require must be here already."""
        command = [sys.executable, "-m", "pip", "--python", str(self.folder / "bin" / "python"), "install", "--quiet"]
        subprocess.run([*command, "--no-index", *map(str, wheels)], check=True, capture_output=True, text=True)

    def akg(self, *words: object, code: int = 0, **variables: str) -> str:
        """What `akg-core` prints there, with environment `variables`; AssertionError at another exit code."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "AKG_"))}
        command = [str(self.folder / "bin" / "akg-core"), *map(str, words)]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=kept | variables)
        assert ended.returncode == code, f"{ended.stdout}\n{ended.stderr}"
        return ended.stdout

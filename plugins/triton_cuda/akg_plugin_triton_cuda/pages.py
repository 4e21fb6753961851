"""The plugin's documents: what a code generator reads before it writes Triton for NVIDIA GPUs."""

from __future__ import annotations

from pathlib import Path

from akg_core.records import DocPage

KINDS = ("language", "api", "hardware", "examples", "pitfalls")
_HERE = Path(__file__).parent


def pages() -> tuple[DocPage, ...]:
    """One page of each kind, in the order in which they are best read."""
    folder = next(folder for folder in (_HERE / "docs", _HERE.parent / "docs") if folder.is_dir())
    texts = {kind: (folder / f"{kind}.md").read_text(encoding="utf-8") for kind in KINDS}
    return tuple(
        DocPage.model_validate({"kind": kind, "title": text.splitlines()[0].lstrip("# "), "text": text})
        for kind, text in texts.items()
    )

"""What plugins share around a toolchain: versions, sources on disk, kernels as modules, logs by the sketch, advice."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from akg_core.records import Advice, KernelSource

_PLACE = re.compile(r"(?P<place>[\w./-]+:\d+)(:\d+)?")
_KERNEL = re.compile(r"kernel\.py:(?P<line>\d+)(?::\d+)?(?: \(sketch line (?P<sketch>\d+)\))?")


def write_source(source: KernelSource, folder: Path) -> None:
    """Write the files of `source` into `folder`, which is made where it is missing."""
    for name, text in source.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def kernels_of(folder: Path) -> Any:
    """The kernel.py of a folder as a module of its own. Raises what importing it raises."""
    spec = importlib.util.spec_from_file_location("kernel", folder / "kernel.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["kernel"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def version_of(distribution: str) -> str:
    """The version of a distribution that is installed, "" without it."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def with_sketch_lines(log: str, line_map: Mapping[str, int]) -> str:
    """The log with the sketch's line beside each place that has one: `kernel.x:12:5 (sketch line 3)`.

    Paths in the log must already be relative to the kernel's folder, as those of `line_map` are.
    """

    def beside(match: re.Match[str]) -> str:
        line = line_map.get(match["place"])
        return match[0] if line is None else f"{match[0]} (sketch line {line})"

    return _PLACE.sub(beside, log)


def advice_on(log: str, rules: Mapping[str, str]) -> list[tuple[str, str]]:
    """For each rule that applies the line of `log` where its match begins, and its advice, in the order of the rules.

    A rule is a regular expression and a sentence, in which `{name}` stands for the expression's group of that name.
    """
    found = []
    for pattern, advice in rules.items():
        if match := re.search(pattern, log):
            begin = log.rfind("\n", 0, match.start()) + 1
            line = log[begin:].partition("\n")[0].strip()
            found.append((line, advice.format(**match.groupdict())))
    return found


def explained(log: str, language: str, compiler: Mapping[str, str], runtime: Mapping[str, str]) -> tuple[Advice, ...]:
    """Advice for each message of the compiler in `log`, else for what the runtime said; by rules as of `advice_on`.

    It is for the last place of kernel.py that the log names. Where no rule applies, its last line is to be read.
    """
    found = advice_on(log, compiler) or advice_on(log, runtime)[:1]
    places = list(_KERNEL.finditer(log))
    line, sketch = (int(places[-1]["line"]), int(places[-1]["sketch"] or 0)) if places else (0, 0)
    if not found and log.strip():
        last = log.strip().splitlines()[-1].strip()
        found = [(last, f"Read the message at the line that it names; the language page says what {language} allows.")]
    return tuple(Advice(problem=p, advice=advice, source_line=line, sketch_line=sketch) for p, advice in found)

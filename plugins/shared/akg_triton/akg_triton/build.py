"""What compiling Triton ahead of its launch takes on any chip: the kernels, and what came of them in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from akg_core.plugin import Artifact, CompileResult, KernelSource, Scalar, Shortage, with_sketch_lines
from akg_triton.check_source import kernels

_MESSAGES = {
    r"numel \((?P<needs>\d+)\) exceeds triton maximum tensor numel \((?P<has>\d+)\)": "elements of a tile",
    r"took more than (?P<has>\d+) s": "seconds of compiling",
}


@dataclass(frozen=True, slots=True)
class Compiled:
    """What came of a launch: lines for the log, on what was made and on what is wrong (`error`).

    `details`: what the compiler tells. `lacks`: what the kernel needs more of than there is. `spilled`: bytes that a
    program spills, where that is told.
    """

    launch: Mapping[str, Any]
    log: str = ""
    error: str = ""
    details: Mapping[str, Scalar] = field(default_factory=dict)
    lacks: Shortage | None = None
    spilled: int | None = None


def kernel_of(launch: Mapping[str, Any]) -> str:
    """Which kernel of the sketch is launched; a model's is one by itself."""
    return launch.get("of_sketch", launch["kernel"])


def spelled(error: BaseException) -> str:
    """What an error says, with what it came from: of one inside of Triton's own library only the place is told."""
    cause = error
    while cause.__cause__:
        cause = cause.__cause__
    said, reason = f"{type(error).__name__}: {error}", str(cause).strip().rpartition("\n")[2]
    return said if reason in said else f"{said}\n{reason}"


def shortage(
    launch: Mapping[str, Any], error: str, messages: Mapping[str, str] = MappingProxyType({})
) -> Shortage | None:
    """What is too little for the kernel of a launch that was refused with `error`; None for another fault.

    `messages`: of what the groups `needs` and `has` of patterns of a compiler's own are.
    """
    for pattern, of in {**_MESSAGES, **messages}.items():
        if match := re.search(pattern, error):
            numbers = {name: int(text, 0) for name, text in match.groupdict().items()}
            return Shortage(kernel=kernel_of(launch), of=of, **numbers)
    return None


def result(source: KernelSource, folder: Path, found: Sequence[Compiled], took: float, later: str) -> CompileResult:
    """What came of the launches of a source, in so many seconds; writes build.log.

    `later`: what there is to say of kernels whose launches nobody has described.
    """
    details = {f"{each.launch['kernel']}.{key}": value for each in found for key, value in each.details.items()}
    logs = [each.log for each in found]
    if not found:
        names = kernels(source)
        details = {f"{name}.compiled": later for name in names}
        logs = [f"{name} is compiled {later}\n" for name in names]
    errors = [each.error for each in found if each.error]
    log = located("".join(logs + errors), folder, source)  # what is wrong comes last, where people and `explain` look
    (folder / "build.log").write_text(log, encoding="utf-8")
    if errors:
        faulty = any(each.error and each.lacks is None for each in found)
        shortages = () if faulty else tuple(each.lacks for each in found if each.lacks)  # smaller tiles mend no fault
        return CompileResult(ok=False, seconds=took, log=log, shortages=shortages)
    spilled: dict[str, int] = {}
    for each in found:
        if each.spilled is not None:
            kernel = kernel_of(each.launch)
            spilled[kernel] = max(spilled.get(kernel, 0), each.spilled)
    artifact = Artifact(folder=folder, entry=source.entry)
    return CompileResult(ok=True, seconds=took, artifact=artifact, log=log, details=details, spilled=spilled)


def located(log: str, folder: Path, source: KernelSource) -> str:
    """The log with places as kernel.py:LINE, and beside each the line of the sketch that it came from.

    Triton counts from the function's own first line: "at 6:22:", and then the text from `def NAME(`.
    """
    lines = source.files.get("kernel.py", "").splitlines()
    starts = {text.removeprefix("def ").split("(")[0]: n for n, text in enumerate(lines, 1) if text.startswith("def ")}
    log = log.replace(f"{folder}/", "")
    log = re.sub(r'File "(kernel\.py)", line (\d+)', r"\1:\2", log)

    def counted(match: re.Match[str]) -> str:
        line = starts.get(match["name"], 1) + int(match["line"]) - 1
        return f"at kernel.py:{line}:{match['column']}:\ndef {match['name']}("

    log = re.sub(r"at (?P<line>\d+):(?P<column>\d+):\s*\ndef (?P<name>\w+)\(", counted, log)
    return with_sketch_lines(log, source.line_map)

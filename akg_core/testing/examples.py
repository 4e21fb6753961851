"""The examples in a plugin's documents: kernels in the text, which are read, built and judged like any other.

An example is a section (`## …`) of the page "examples" whose code blocks have names of files behind the language:
`reference.py`, what is to be computed in KernelBench's format, and the files of the kernel, with `model_new.py`:

    ## The sum of two tensors

    ```python reference.py
    …
    ```
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from akg_core.records import DocPage

REFERENCE, ENTRY = "reference.py", "model_new.py"
_SECTION = re.compile(r"^## +(.*)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w*)[ \t]*([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A section's kernel: the text of its reference, and its own files by name."""

    title: str
    reference: str
    files: dict[str, str]


def read_examples(pages: Iterable[DocPage]) -> tuple[list[Example], list[str]]:
    """The examples of the pages of kind "examples", and a sentence for each section that makes none."""
    found: list[Example] = []
    faults: list[str] = []
    for page in pages:
        if page.kind != "examples":
            continue
        _, *pieces = _SECTION.split(page.text)
        for title, text in zip(pieces[::2], pieces[1::2], strict=True):
            blocks = _BLOCK.findall(text)
            files = {name.strip(): body for _, name, body in blocks if name.strip()}
            unnamed = next((language for language, name, _ in blocks if not name.strip()), None)
            if unnamed is not None:
                faults.append(f"{title!r} has a block of {unnamed or 'code'} without a file's name, which nobody runs")
            elif missing := [name for name in (REFERENCE, ENTRY) if files and name not in files]:
                faults.append(f"{title!r} has no {' and no '.join(missing)}")
            elif files:
                reference = files.pop(REFERENCE)
                found.append(Example(title, reference, files))
    return found, faults

"""A case as a plugin is given it: a whole sketch with its interface, and the reference that its module is built on."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from akg_core.dtypes import DTYPES
from akg_core.records import Sketch
from akg_core.sketch import ast
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of
from akg_core.testing.emission.cases import family
from akg_core.testing.emission.running import Case, retimed
from akg_core.testing.emission.sized import with_sizes
from akg_core.testing.emission.sketches import sketch_of

_DTYPES = re.compile(rf"\b({'|'.join(DTYPES)})\b")
_HEAD = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
"""
_END = """

def get_inputs():
    return []


def get_init_inputs():
    return []
"""


def chosen(name: str, most: int) -> Iterator[Case]:
    """The first cases of a family, so many at most: in turns with their sizes known and left to the launch.

    No whole program has sizes of 0: checking refuses those that are known, a module those that are left to the launch.
    """
    whole = (case for case in family(name) if all(sizes_of(case).values()))
    for number, case in enumerate(itertools.islice(whole, most)):
        yield retimed(case) if number % 2 and sizes_of(case) else case


def sizes_of(case: Case) -> dict[str, int]:
    """The dimensions of the case's program that have names, by its inputs and parameters."""
    program = program_of(parse(case.text, case.name))
    given = iter(case.inputs)
    sizes: dict[str, int] = {}
    for tensor in program.tensors:
        shape = (next(given) if tensor.role == "In" else case.parameters[tensor.source]).shape
        sizes |= {dim.id: size for dim, size in zip(tensor.dims, shape, strict=True) if isinstance(dim, ast.Name)}
    return sizes


def sketch_given(case: Case) -> Sketch:
    """The case's sketch, with numbers for the sizes that are known."""
    text = with_sizes(case.text, case.name, sizes_of(case)) if case.static else case.text
    return sketch_of(text, case.name, case.parameters)


def dtypes_of(case: Case) -> frozenset[str]:
    """The dtypes that the case's sketch names."""
    return frozenset(_DTYPES.findall(case.text))


def reference_of(case: Case) -> str:
    """The text of a reference whose module has the case's parameters, and nothing to compute."""
    lines: list[str] = []
    for name, tensor in case.parameters.items():
        *owners, last = name.split(".")
        for depth in range(1, len(owners) + 1):
            line = f"        self.{'.'.join(owners[:depth])} = nn.Module()"
            lines += [line] * (line not in lines)
        made = f"torch.empty({tuple(tensor.shape)}, dtype={tensor.dtype})"
        lines.append(f"        self.{''.join(f'{owner}.' for owner in owners)}register_buffer({last!r}, {made})")
    return _HEAD + "".join(f"{line}\n" for line in lines) + _END

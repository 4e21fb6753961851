"""Launches with once=True: whether what they keep for later calls is the same at every call.

They run before all others, and not again while the Params that they read are unchanged. So what one reads and what it
writes must be steady: a Param that no launch writes, or a tensor of the program's own that only such launches write.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from akg_core.records import Finding
from akg_core.sketch import ast
from akg_core.sketch.codes import finding
from akg_core.sketch.program import statements

_CURE = (
    "Drop once=True: only what depends on Params alone, and on nothing else that writes there, is the same each time."
)


@dataclass(frozen=True, slots=True)
class _Use:
    """A launch and the roots of what its kernel reads and writes."""

    launch: ast.Launch
    reads: frozenset[str]
    writes: frozenset[str]


def check_kept(tree: ast.SketchFile, program: ast.Program, roots: Mapping[str, str]) -> list[Finding]:
    """A finding for every launch that is kept though what it reads or writes may change; `roots`: whose memory a
    tensor of the program is."""
    uses = [use for node in statements(program) if isinstance(node, ast.Launch) for use in _uses(tree, node, roots)]
    writers: dict[str, list[ast.Launch]] = {}
    for use in uses:
        for root in use.writes:
            writers.setdefault(root, []).append(use.launch)
    given = {tensor.name: tensor.role for tensor in program.tensors}
    made = (node for node in program.body if isinstance(node, ast.Allocate))
    given |= {node.target: "In" for node in made if isinstance(node.fill, ast.Expr)}  # of float arguments
    found = []
    for use in uses:
        for root in sorted(use.reads | use.writes) if use.launch.once else ():
            verb = "reads" if root in use.reads else "writes"
            why = _changes(given.get(root, ""), writers.get(root, []))
            if why:
                message = f"The launch is once=True and {verb} `{root}`, which {why}."
                found.append(finding("SK810", use.launch.place, message, _CURE))
    return found


def _uses(tree: ast.SketchFile, launch: ast.Launch, roots: Mapping[str, str]) -> list[_Use]:
    """What a launch uses; nothing for one that fits no kernel, of which other findings speak."""
    kernels = [kernel for kernel in tree.kernels if kernel.name == launch.kernel]
    if not kernels or len(kernels[0].tensors) != len(launch.tensors):
        return []
    held = [(p.role, roots[name]) for p, name in zip(kernels[0].tensors, launch.tensors, strict=True) if name in roots]
    reads = frozenset(root for role, root in held if role in ("In", "InOut"))
    return [_Use(launch, reads, frozenset(root for role, root in held if role != "In"))]


def _changes(role: str, writers: list[ast.Launch]) -> str:
    """Why what stands in a tensor of this role may differ from call to call; "" where it cannot."""
    if role == "In":
        return "changes with every call"
    at = next((w for w in writers if role == "Param" or not w.once), None)
    if at is None:
        return ""
    where = f"the launch of `{at.kernel}` in line {at.place.line}"
    return f"is a Param that {where} writes" if role else f"{where} writes at every call"

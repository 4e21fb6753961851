"""Checks a sketch: types filled in, and every finding with its code, place and cure.

types, expression   scopes, axes and dtypes, loop-carried variables
program, shapes     what a program allocates, hands over and returns, and whether shapes agree
outputs, sites      whether every element of an output is written once, and every index can be inside its tensor
coverage            which elements stores reach, and whether programs fill what they update
numbers             whole numbers that no kernel can hold
hints               what is unknown or strange about a hint
kept                launches whose results are kept between calls
interface           a sketch written by hand, against the task

docs/sketch.md lists the codes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from akg_core.errors import SketchError
from akg_core.records import Finding
from akg_core.sketch import ast
from akg_core.sketch.check.hints import check_hints, check_products
from akg_core.sketch.check.numbers import check_numbers
from akg_core.sketch.check.outputs import check_outputs
from akg_core.sketch.check.program import ProgramCheck
from akg_core.sketch.check.types import check_kernel
from akg_core.sketch.program import program_of, statements


@dataclass(frozen=True, slots=True)
class Checked:
    """A sketch whose expressions know their types (None where a finding says why not), and what was found."""

    tree: ast.SketchFile
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(found for found in self.findings if found.severity == "error")


def check(tree: ast.SketchFile) -> Checked:
    """Check `tree`, free choices at their defaults.

    Findings come in the order of the text, errors and warnings together. A later group of checks is left out where
    an earlier one found errors, because it would only repeat them.
    """
    floats = _float_constants(tree)
    findings: list[Finding] = []
    kernels = []
    for kernel in tree.kernels:
        typed, found = check_kernel(kernel, frozenset(name for launched, name in floats if launched == kernel.name))
        kernels.append(typed)
        findings += [*found, *check_hints(kernel), *check_products(typed)]
    tree = replace(tree, kernels=tuple(kernels))
    findings += check_numbers(tree)
    try:
        program = ProgramCheck(tree, program_of(tree))
    except SketchError as error:
        return _checked(tree, [*findings, *error.findings])
    program.run()
    findings += program.findings
    if not any(found.severity == "error" for found in findings):
        findings += check_outputs(program)
    return _checked(tree, findings)


def require(tree: ast.SketchFile, filename: str = "<sketch>") -> ast.SketchFile:
    """The tree with types filled in. Raises SketchError when the check finds errors."""
    return sound(tree, filename).tree


def sound(tree: ast.SketchFile, filename: str = "<sketch>") -> Checked:
    """What checking a tree gives. Raises SketchError when it finds errors."""
    checked = check(tree)
    if not checked.errors:
        return checked
    first, *others = checked.errors
    more = f" ({len(others)} more)" if others else ""
    message = f"{filename}:{first.line}:{first.column}: {first.code} {first.message}{more}"
    raise SketchError(message, first.suggestion, checked.findings)


def _checked(tree: ast.SketchFile, findings: list[Finding]) -> Checked:
    unique = sorted(dict.fromkeys(findings), key=lambda found: (found.line, found.column, found.code))
    return Checked(tree, tuple(unique))


def _float_constants(tree: ast.SketchFile) -> set[tuple[str, str]]:
    """(kernel, Const) wherever a launch of the program hands over a float."""
    body = statements(tree.program) if tree.program else ()
    return {
        (launch.kernel, name)
        for launch in body
        if isinstance(launch, ast.Launch)
        for name, value in launch.constants
        if any(_is_float(node) for node in ast.walk(value))
    }


def _is_float(node: object) -> bool:
    if isinstance(node, ast.Number):
        return isinstance(node.value, float)
    return isinstance(node, ast.Binary) and node.op == "/"

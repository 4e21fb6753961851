"""Every finding of the parser and the checker: a stable code and what it stands for.

SK1xx syntax, SK2xx names, SK3xx axes, SK4xx dtypes, SK5xx loops, SK6xx outputs, SK7xx ranges,
SK8xx programs, SK9xx hints (warnings).
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Literal

from akg_core.records import Finding
from akg_core.sketch.ast import Place

CODES: dict[str, str] = {
    "SK101": "not Python syntax",
    "SK102": "something other than a kernel or a program at the top",
    "SK103": "a malformed declaration of a parameter",
    "SK104": "a statement that the language does not have",
    "SK105": "an expression that the language does not have",
    "SK106": "a malformed loop",
    "SK107": "a malformed Tune",
    "SK108": "a malformed tensor element",
    "SK109": "a malformed statement of a program",
    "SK110": "wrong arguments of an operation",
    "SK201": "an unknown name",
    "SK202": "an unknown operation",
    "SK203": "a name declared twice, or one that is taken",
    "SK204": "a Tune default that is not a choice",
    "SK205": "a name that may be unassigned here",
    "SK301": "an unknown axis, or one out of its loop",
    "SK302": "a tile that lacks the axis of an operation",
    "SK303": "an axis name used again inside its own loop",
    "SK304": "a stored value with axes that its places lack",
    "SK305": "a wrong number of indices",
    "SK306": "a scalar is needed here",
    "SK307": "an all-reduction or a barrier along an axis that does not allow it",
    "SK401": "an unknown dtype",
    "SK402": "an operation on a dtype that it does not have",
    "SK403": "indices that are not integers",
    "SK404": "a condition that is not a truth value",
    "SK501": "a loop-carried variable that changes its axes",
    "SK502": "a loop-carried variable that changes its dtype",
    "SK503": "a parallel loop that carries a variable",
    "SK504": "a branch that changes a variable's axes or dtype",
    "SK505": "an extent that is not known at launch",
    "SK506": "a step that is not a positive number known at launch",
    "SK601": "an output that is never written",
    "SK602": "an output that is not written everywhere",
    "SK603": "an output element written by several programs",
    "SK604": "a tensor written that may only be read",
    "SK605": "a tensor read that may only be written",
    "SK606": "elements written and read by different programs of one kernel",
    "SK701": "an index that is always outside the tensor",
    "SK703": "a loop over nothing",
    "SK704": "a division of a whole number by 0",
    "SK705": "a whole number beyond 64 bits",
    "SK706": "elements that do not lie as a sort is told",
    "SK801": "several kernels without a program",
    "SK802": "a launch that does not fit the kernel",
    "SK803": "a program that returns nothing, or the wrong thing",
    "SK804": "a tensor read or added to before anything wrote it",
    "SK805": "a program that writes an input",
    "SK806": "a dimension that nothing binds",
    "SK807": "shapes that do not agree",
    "SK808": "a view that cannot be handed to a kernel",
    "SK809": "a kernel that is never launched",
    "SK810": "a launch kept between calls though what it reads or writes changes",
    "SK901": "an unknown hint",
    "SK902": "a hint with a strange value",
    "SK903": "a variable that is never used",
    "SK904": "a product of 16-bit numbers that were cast to f32",
}


def finding(
    code: str,
    place: Place,
    message: str,
    suggestion: str = "",
    severity: Literal["error", "warning"] = "error",
) -> Finding:
    """A Finding of the sketch language at `place`; KeyError when the code is not in the table."""
    assert code in CODES, code
    return Finding(
        code=code, message=message, severity=severity, line=place.line, column=place.column, suggestion=suggestion
    )


def near(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A suggestion with the names nearest to `name`; `otherwise` when nothing is near."""
    names = get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(repr(n) for n in names)}?" if names else otherwise

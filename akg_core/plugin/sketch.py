"""The sketch language, for plugins: its tree, its dtypes and operations, its index arithmetic, and ways through it.

A plugin reads a sketch by `require(parse(text, name), name)`, which raises SketchError for one that is wrong and fills
in the type of every expression, and fixes its free parameters by `bind(tree, schedule)`. `ast` has every node; those
that emitters take apart most are here by name. `polynomial` and `Bounds` say what an index may be; docs/sketch.md is
the language.
"""

from akg_core.dtypes import DTYPES, as_sum, combine, is_float, is_integer, promote
from akg_core.notation import COMPARISONS
from akg_core.sketch import ast, numerics
from akg_core.sketch.affine import INDEX, NARROW, Bounds, Polynomial, digits, number, polynomial
from akg_core.sketch.ast import (
    Assign,
    AxisList,
    Binary,
    Call,
    Element,
    Expr,
    Group,
    Name,
    Number,
    TensorParameter,
    Text,
    Tune,
    Type,
    Unary,
    rewrite,
    walk,
)
from akg_core.sketch.check import require
from akg_core.sketch.ops import OPERATIONS
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind, default, smaller, space
from akg_core.sketch.show import show, show_expression

__all__ = [
    "COMPARISONS",
    "DTYPES",
    "INDEX",
    "NARROW",
    "OPERATIONS",
    "Assign",
    "AxisList",
    "Binary",
    "Bounds",
    "Call",
    "Element",
    "Expr",
    "Group",
    "Name",
    "Number",
    "Polynomial",
    "TensorParameter",
    "Text",
    "Tune",
    "Type",
    "Unary",
    "as_sum",
    "ast",
    "bind",
    "combine",
    "default",
    "digits",
    "is_float",
    "is_integer",
    "number",
    "numerics",
    "parse",
    "polynomial",
    "promote",
    "require",
    "rewrite",
    "show",
    "show_expression",
    "smaller",
    "space",
    "walk",
]

"""What functions mean that a reference calls and that are not here, in plain PyTorch: read as text, imported by nobody.

Each module is one family. A function has the name and the arguments of what it stands for, as far as they are stated:
those that nobody gives are refused in a sentence. Its docstring says where the meaning is written down: most are on
pages of `docs/zh/custom_APIs/torch_npu` in op-plugin, the repository behind `torch_npu`, and in tests beside them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from akg_core.python_text import module_of


def stated(names: Iterable[str]) -> list[ast.stmt]:
    """The functions of these names, and those that they call, in the order in which they are written."""
    known = _known()
    wanted, left = set[str](), list(names)
    while left:
        if (name := left.pop()) in known and name not in wanted:
            wanted.add(name)
            left += [each.id for each in ast.walk(known[name]) if isinstance(each, ast.Name)]
    return [function for name, function in known.items() if name in wanted]


def is_stated(name: str) -> bool:
    """Whether a function of this name is among them."""
    return name in _known()


@cache
def _known() -> dict[str, ast.stmt]:
    modules = [module_of(path.read_text(encoding="utf-8")) for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))]
    return {each.name: each for module in modules for each in module.body if isinstance(each, ast.FunctionDef)}

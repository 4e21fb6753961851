"""A file that is loaded with other numbers is rewritten only where these stand, and every line keeps its number."""

from __future__ import annotations

import ast
import re

from akg_core.task.source.branches import chosen
from akg_core.task.source.loops import at_once
from akg_core.task.source.rewritten import rewritten

FILE = '''
from __future__ import annotations
import torch; SIZE = 8; TEXT = """two
lines"""; OTHER = 3

# each of these is rewritten
@torch.no_grad(
)
def sign(x):
    if x > 0:
        return 1
    return -1

class Model(torch.nn.Module):
    def forward(self, x, places):
        for i in range(places.shape[0]):
            x[places[i].item()] = i
        return x
'''


def spelled(tree: ast.AST) -> str:
    """A tree with all places, but for how the names that are made in it are numbered."""
    return re.sub(r"__akg_\d+", "__akg", ast.dump(tree, include_attributes=True))


def test_a_file_is_rewritten_as_a_whole_with_every_line_where_it_was() -> None:
    whole = ast.parse(FILE)
    at_once(whole)
    chosen(whole)
    assert spelled(rewritten(FILE)) == spelled(whole) != spelled(ast.parse(FILE))


def test_only_what_has_changed_is_rewritten_again() -> None:
    names = ["from __future__", "import", "SIZE", "TEXT", "OTHER", "sign", "Model"]
    before, after = (rewritten(text).body for text in (FILE, FILE.replace("SIZE = 8", "SIZE = 16")))
    kept = [name for name, one, other in zip(names, before, after, strict=True) if one is other]
    assert kept == ["from __future__", "sign", "Model"]
    moved = rewritten("\n" + FILE).body
    assert not any(one is other for one, other in zip(before, moved, strict=True))

"""The shelves that a model is told from: sections of documents, and verified kernels."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from akg_core.agents.library import KernelEntry, Library
from akg_core.agents.sections import sections
from akg_core.agents.similarity import described, structure
from akg_core.errors import UsageError
from akg_core.records import Argument, DocPage, Graph, Interface, Node, Target, Task
from akg_core.registry import hooks, installed

PAGE = DocPage(
    kind="language",
    title="Toy",
    text="""# Toy
What it is.

## Memory
Loads take a mask.

```python
# no heading: a comment
load(p, mask)
```

### Strides
A strided tile is gathered.

## Empty

## Sums
Add up in f32.
""",
)


@pytest.fixture
def library(tmp_path):
    return Library(tmp_path / "library.sqlite")


def task(*operators: str, shape=(128, 128), dtype="f32") -> Task:
    nodes = tuple(
        Node(name=f"n{i}", op=op, args=(f"%n{i - 1}",) if i else ("%x",), dtypes=(dtype,), shapes=(shape,))
        for i, op in enumerate(operators)
    )
    argument = Argument(name="x", kind="tensor", dtype=dtype, shape=shape)
    graph = Graph(values={}, nodes=nodes, outputs=())
    return Task(name="t", source="", interface=Interface(arguments=(argument,)), graph=graph)


def kernel(name: str, *operators: str, shape=(128, 128), dtype="f32", target="cpu:a") -> KernelEntry:
    return KernelEntry(
        name=name,
        plugin="toy",
        target=target,
        what=described(task(*operators, shape=shape, dtype=dtype)),
        files={"model_new.py": name},
    )


def test_a_page_is_cut_at_its_headings():
    found = {section.path: section.text for section in sections(PAGE)}
    assert [*found] == [("Toy",), ("Toy", "Memory"), ("Toy", "Memory", "Strides"), ("Toy", "Sums")]
    assert "# no heading: a comment" in found["Toy", "Memory"]
    assert found["Toy", "Sums"] == "## Sums\nAdd up in f32."


def test_no_text_of_an_installed_page_is_lost():
    found = [hooks(plugin.name) for plugin in installed().plugins()]
    documented = [plugin for plugin in found if plugin.has("akg_docs")]  # others that tests have installed have none
    assert documented
    for plugin in documented:
        for page in plugin.akg_docs():
            kept = "\n".join(section.text for section in sections(page))
            missing = [line for line in page.text.splitlines() if line.strip() and line.rstrip() not in kept]
            assert not [line for line in missing if not line.startswith("#")], (plugin.plugin, page.kind)


def test_the_section_that_says_most_comes_first(library):
    library.file_pages("toy", [PAGE])
    found = library.search("toy", "masked load of a strided tile")
    assert found[0].section.path[-1] == "Strides"
    assert found[0].score > found[1].score
    assert [one.section.path[-1] for one in library.search("toy", "masks")] == ["Memory"]


@pytest.mark.parametrize("words", ["", "   ", '"', "NEAR(", "* OR", "zebra-stripes"])
def test_any_words_may_be_asked(library, words):
    library.file_pages("toy", [PAGE])
    assert library.search("toy", words) == []


def test_a_search_keeps_to_a_plugin(library):
    other = PAGE.model_copy(update={"kind": "pitfalls"})
    library.file_pages("toy", [PAGE, other])
    library.file_pages("else", [PAGE])
    assert len(library.search("toy", "sums")) == 2


def test_pages_that_changed_replace_the_old_ones(library):
    library.file_pages("toy", [PAGE])
    library.file_pages("toy", [PAGE.model_copy(update={"text": "# Toy\nAbout barriers."})])
    assert library.search("toy", "strided") == []
    assert len(library.search("toy", "barriers")) == 1


def test_the_structure_of_a_sketch_is_what_it_does_inside_of_which_loops():
    text = "def f(x, y):\n    for m in grid(M, 4):\n        for n in tiles(N, 64):\n            store(y[m], load(x[m]))"
    assert structure(text) == (": grid", "grid: tiles", "grid/tiles: store", "grid/tiles: load")
    assert structure("for m in") == ()


def test_a_kernel_is_found_by_what_it_computes_then_by_its_sizes(library):
    for entry in (
        kernel("softmax, small", "softmax", shape=(8, 8)),
        kernel("softmax, near", "softmax", shape=(130, 130)),
        kernel("softmax, half", "softmax", dtype="f16"),
        kernel("scaled softmax", "mul", "softmax"),
        kernel("sum", "sum"),
    ):
        library.file_kernel(entry)
    found = library.kernels_like(task("softmax"), "toy", Target.parse("cpu:a"), most=5)
    names = ["softmax, near", "softmax, small", "softmax, half", "scaled softmax"]
    assert [entry.name for entry in found] == names


def test_the_flow_of_data_tells_graphs_of_the_same_operators_apart(library):
    library.file_kernel(kernel("sum of squares", "sum", "square"))
    library.file_kernel(kernel("square of sums", "square", "sum"))
    found = library.kernels_like(task("square", "sum"), "toy", Target.parse("cpu:a"))
    assert [entry.name for entry in found] == ["square of sums", "sum of squares"]


def test_what_belongs_to_another_family_comes_last(library):
    library.file_kernel(kernel("product with a sum", "mm", "aten.sum"))
    library.file_kernel(kernel("sum, then much else", "aten.sum", "exp", "log", "sin", "cos"))
    found = library.kernels_like(task("aten.sum"), "toy", Target.parse("cpu:a"))
    assert [entry.name for entry in found] == ["sum, then much else", "product with a sum"]


def test_a_file_of_an_earlier_version_is_begun_anew(library):
    library.file_kernel(kernel("sum", "sum"))
    with closing(sqlite3.connect(library.path)) as connection:
        connection.executescript("DROP TABLE kernels; CREATE TABLE kernels (old TEXT); PRAGMA user_version = 1;")
    again = Library(library.path)
    assert again.kernels_like(task("sum"), "toy", Target.parse("cpu:a")) == []


def test_a_kernel_for_the_same_chip_goes_before_another(library):
    library.file_kernel(kernel("there", "sum", target="cpu:b"))
    library.file_kernel(kernel("here", "sum", shape=(4, 4)))
    assert library.kernels_like(task("sum"), "toy", Target.parse("cpu:a"))[0].name == "here"


def test_the_same_source_is_kept_once(library):
    library.file_kernel(kernel("sum", "sum"))
    library.file_kernel(kernel("sum", "sum").model_copy(update={"speedup": 2.0}))
    found = library.kernels_like(task("sum"), "toy", Target.parse("cpu:a"))
    assert [entry.speedup for entry in found] == [2.0]


def test_a_file_that_is_no_library(tmp_path):
    (tmp_path / "library.sqlite").write_text("x" * 4096)
    with pytest.raises(UsageError, match=r"cannot be used.*Remove the file"):
        Library(tmp_path / "library.sqlite")

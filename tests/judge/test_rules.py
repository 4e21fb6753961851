"""What the Python text of a kernel may name, and what not."""

from __future__ import annotations

import marshal
import os
import py_compile
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from akg_core.judge.candidate import importers
from akg_core.judge.candidate.harness import load_entry
from akg_core.judge.source.rules import broken_rule
from akg_core.records import Artifact


@pytest.mark.parametrize(
    "line",
    [
        "y = np.matmul(a, b)",
        "from numpy import dot",
        "from numpy.linalg import norm",
        "y = a.numpy() @ b.numpy()",
        "y = a.__array__()",
        "import scipy.special",
        "import networkx",
        "from mpmath.libmp import f",
        "__import__('scipy')",
        "held = torch._C._DisableTorchDispatch()",
        "getattr(torch._C._autograd, '_disable_profiler')()",
        "getattr(torch._C._autograd, '_dis' + 'able_' + 'profiler')()",
        "y = getattr(a, 'num' + 'py')() * 2",
        "exec('held = torch._C._DisableTorchDispatch()')",
    ],
)
def test_a_library_or_a_switch_is_named_with_its_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "model_new.py").write_text(f"import numpy as np\nimport torch\n{line}\n")
    assert "model_new.py, line 3" in broken_rule(tmp_path, "")


@pytest.mark.parametrize(
    "line",
    [
        "pointer = x.numpy().ctypes.data_as(ctypes.c_void_p)",
        "kind = np.ctypeslib.ndpointer(np.float32)",
        "from numpy import float32, int64",
        "import threading, mmap, model_new",
        "y = torch.empty(3)",
        "text = 'as numpy does'",
        "text = " + " + ".join(["'deep'"] * 1100),
        "def broken(:",
    ],
)
def test_addresses_and_types_are_no_work(line: str, tmp_path: Path) -> None:
    (tmp_path / "model_new.py").write_text(f"import numpy as np\nimport ctypes, torch\n{line}\n")
    assert broken_rule(tmp_path, "") == ""


@pytest.mark.parametrize(
    "written",
    [
        b"\xef\xbb\xbfimport scipy\n",
        b"# coding: latin-1\nimport scipy  # \xe9\n",
        b"# coding: utf-7\n+AGkAbQBwAG8AcgB0ACAAcwBjAGkAcAB5-\n",
        b"# coding: utf-7\n# +AAo-import scipy\n",
    ],
    ids=["byte order mark", "latin-1", "utf-7", "utf-7 in a comment"],
)
def test_a_file_is_read_in_the_encoding_that_python_reads_it_in(written: bytes, tmp_path: Path) -> None:
    (tmp_path / "model_new.py").write_bytes(written)
    assert "another library: scipy" in broken_rule(tmp_path, "")


def test_a_kernel_imports_its_language_and_what_the_task_imports(tmp_path: Path) -> None:
    (tmp_path / "model_new.py").write_text("import mpmath\nimport networkx.algorithms as T\nfrom . import parts\n")
    assert "another library: networkx in model_new.py, line 2" in broken_rule(tmp_path, "import mpmath")
    assert "another library: mpmath" in broken_rule(tmp_path, "", modules=("networkx",))
    assert broken_rule(tmp_path, "import mpmath", modules=("networkx",)) == ""


def test_a_copy_of_the_reference_is_not_the_kernel(tmp_path: Path) -> None:
    text = "import scipy\n"
    (tmp_path / "reference.py").write_text(text)
    (tmp_path / "model_new.py").write_text("from reference import Model\n")
    assert broken_rule(tmp_path, text) == "" != broken_rule(tmp_path, "")


LOADS = {
    "import": "import other",
    "from": "from other import f",
    "inside a package": "import parts.other",
    "from a package": "from parts import other",
    "a package's own import": "import parts.relative",
    "import inside a function": "def f():\n    import other",
    "importlib": "import importlib\nimportlib.import_module('other')",
    "importlib, assembled": "import importlib\nimportlib.import_module('ot' + 'her')",
    "importlib, made up": "import importlib\nimportlib.import_module(chr(111) + name)",
    "a getattr of it": "getattr(__builtins__, '__import__')('other')",
    "exec of a file": "exec(open('other.py').read())",
    "exec of a path": "from pathlib import Path\nexec((Path(__file__).parent / 'other.py').read_text())",
    "exec of what a name stands for": "exec(open(NAME).read())",
    "runpy": "import runpy\nrunpy.run_path('other.py')",
    "exec of a text file": "exec(open('other.txt').read())",
    "through another": "import between",
}


@pytest.mark.parametrize("how", LOADS)
def test_what_a_kernel_loads_belongs_to_it(how: str, tmp_path: Path) -> None:
    texts = {
        "model_new.py": LOADS[how],
        "between.py": "import other",
        "parts/__init__.py": "",
        "parts/relative.py": "from . import other",
    }
    for name in ("other.py", "other.txt", "parts/other.py"):
        texts[name] = "import scipy.special"
    (tmp_path / "parts").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert "another library: scipy in other." in broken_rule(tmp_path, "")


@pytest.mark.parametrize(
    "text",
    [
        "import torch, ctypes",
        "import re\npattern = re.compile(TEXT)",
        "model.eval()",
        "library = ctypes.CDLL(str(Path(__file__).parent / 'kernel.so'))",
        "import importlib\nimportlib.import_module('helper')",
        "source = open('kernel.cu').read()",
    ],
)
def test_scripts_that_only_lie_beside_a_kernel_are_not_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "model_new.py").write_text(text)
    (tmp_path / "helper.py").write_text("import torch")
    for name in ("plot.py", "tools/measure.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("import scipy\nimport pandas")
    assert broken_rule(tmp_path, "") == ""


@pytest.mark.parametrize(
    ("beside", "is_own"),
    [("mpmath.py", True), ("mpmath/__init__.py", True), ("mpmath.txt", False), ("mpmath/data.py", False)],
)
def test_only_what_python_finds_first_is_a_kernel_s_own(beside: str, is_own: bool, tmp_path: Path) -> None:
    (tmp_path / "model_new.py").write_text("import mpmath\n")
    (tmp_path / beside).parent.mkdir(exist_ok=True)
    (tmp_path / beside).write_text("")
    assert bool(broken_rule(tmp_path, "")) != is_own


def test_a_module_of_the_same_name_beside_a_kernel_hides_none_that_is_opened(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(importers, "_language", [()])
    rule = importers.Importers(None)
    (tmp_path / "mpmath.py").write_text("")
    asking = compile("def ask(**how): return rule.refused('mpmath', **how)", str(tmp_path / "model_new.py"), "exec")
    names = {"rule": rule}
    exec(asking, names)
    assert not names["ask"]() and names["ask"](is_installed=True)


def test_a_kernel_s_own_files_are_no_library_s_wherever_they_lie(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    for known in ("_language", "_own"):
        monkeypatch.setattr(importers, known, [])
    importers.set_kernel((), tmp_path / "runs")
    rule = importers.Importers(None)
    for place, is_library in (("runs", False), ("beside", True)):
        asking = compile("def ask(): return rule.refused('mpmath')", str(tmp_path / place / "model_new.py"), "exec")
        names = {"rule": rule}
        exec(asking, names)
        assert names["ask"]() != is_library


def test_code_of_a_kernel_does_not_go_by_the_name_of_a_library_s_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    for known in ("_language", "_own"):
        monkeypatch.setattr(importers, known, [])
    importers.set_kernel((), tmp_path / "runs")
    rule, library = importers.Importers(None), tmp_path / "library.py"
    library.write_text("number = 1\n")
    asking = compile("def ask(*made): return rule.disguised(*made)", str(tmp_path / "runs" / "model_new.py"), "exec")
    ask = {"rule": rule}
    exec(asking, ask)
    asked = ask["ask"]
    assert asked("compile", (b"number = 2\n", str(library))) == f"{importers.DISGUISED}: {library}"
    assert asked("code.__new__", (b"", str(library))) == f"{importers.DISGUISED}: {library}"
    for name in (str(library), "model_new.py"):
        made = marshal.dumps([compile("number = 2", name, "exec")])
        assert asked("marshal.loads", (made,)) == "runs code that is no text: marshal.loads"
    assert not asked("compile", (b"number = 1\n", str(library))), "what is in the file"
    assert not asked("compile", (b"(\nnumber\n)", str(library))), "a piece of it, as it is shown after an error"
    assert not asked("compile", ("number = 1", "<string>")) and not asked("compile", (None, None))
    assert not asked("marshal.loads", (marshal.dumps({"number": 1}),))
    assert asked("marshal.load", ())


def test_text_is_read_as_long_as_anybody_would_and_no_further(tmp_path: Path) -> None:
    (tmp_path / "model_new.py").write_text("import large\nimport waiting\n")
    (tmp_path / "waiting.py").symlink_to("/proc/self/status")  # of which nobody knows how long it is
    with (tmp_path / "large.py").open("wb") as file:
        file.truncate(1 << 40)
    assert broken_rule(tmp_path, "").startswith("has more Python text than is read: large.py")


def test_what_is_run_is_the_text_and_not_what_lies_compiled_beside_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    entry = tmp_path / "model_new.py"
    entry.write_text("raise SystemError")
    forged = Path(cache_from_source(str(entry)))
    forged.parent.mkdir()
    py_compile.compile(str(entry), cfile=str(forged))
    entry.write_text("ModelNew = 1     ")  # as long
    os.utime(entry, (1, int.from_bytes(forged.read_bytes()[8:12], "little")))
    assert load_entry(Artifact(folder=tmp_path)).ModelNew == 1

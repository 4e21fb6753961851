"""A kernel for others: a package with a name of its own, or one file of Python, for judges that take no folder."""

from __future__ import annotations

import keyword
import shutil
from collections.abc import Sequence
from pathlib import Path

from akg_core import built_from
from akg_core.dtypes import is_float
from akg_core.errors import UsageError
from akg_core.lower.host.checks import TORCH_NAMES
from akg_core.records import Argument, Artifact
from akg_core.storage import write_whole

_LEFT = ("build", "build.log", built_from.NAME, "__pycache__", "*.pyc")  # which nothing that runs needs
_LOADER = '''

def _load(folder, entry):
    """The module `entry` of a folder under a name of this module's own, as are those that it imports from beside it."""
    import contextlib
    import importlib.util
    import sys

    beside = {path.stem for path in folder.glob("*.py")} - {__name__}
    others = {name: sys.modules.pop(name) for name in beside if name in sys.modules}

    def leave():
        sys.path.remove(str(folder))
        for name in beside & sys.modules.keys():
            sys.modules[f"{__name__}.{name}"] = sys.modules.pop(name)
        sys.modules.update(others)

    spec = importlib.util.spec_from_file_location(f"{__name__}.{entry[:-3]}", folder / entry)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    with contextlib.ExitStack() as stack:
        sys.path.insert(0, str(folder))
        stack.callback(leave)
        spec.loader.exec_module(module)
    return module
'''
_WRITER = '''

def _written():
    """The folder that the files above are written to, for as long as this process lives."""
    import atexit
    import shutil
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp(prefix="kernel-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, text in _FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder
'''
_PACKAGE = '''"""A kernel made by akg-core: `ModelNew` is that of {entry}. It needs nothing of akg-core."""

from pathlib import Path
{loader}

_module = _load(Path(__file__).parent, {entry!r})
ModelNew = _module.ModelNew
'''
_RESTORED = '''

class ModelNew({base}):
    """Turns back what KernelBench's evaluator hands over as floating, as it does every tensor: dtypes by place."""

    def forward(self, *arguments):
        import torch

        dtypes = {dtypes}
        restored = (a.to(getattr(torch, dtypes[n])) if n in dtypes else a for n, a in enumerate(arguments))
        return super().forward(*restored)
'''


def single_file(artifact: Artifact, arguments: Sequence[Argument] = ()) -> str:
    """A file with `ModelNew` that holds every file of a kernel's folder as text; it writes them out when imported.

    `arguments` are those of the task: KernelBench's evaluator hands over tensors of whole numbers and truth values as
    floating ones. Raises UsageError for a kernel that needs what a compiler built: a file of Python cannot carry that.
    """
    built = sorted(path.name for path in artifact.folder.iterdir() if path.suffix in built_from.BUILT)
    if built:
        raise UsageError(
            f"{artifact.folder} cannot become one file: it needs {built[0]}, which a compiler built.",
            "Only kernels that are Python altogether can.",
        )
    files = {path.relative_to(artifact.folder): path for path in sorted(artifact.folder.rglob("*.py"))}
    texts = "".join(f"    {name.as_posix()!r}: {_literal(path)},\n" for name, path in files.items())
    title = f'"""A kernel made by akg-core. `ModelNew` is that of {artifact.entry}, one of the files below."""'
    base = f"_load(_written(), {artifact.entry!r}).ModelNew"
    whole = {n: TORCH_NAMES[a.dtype] for n, a in enumerate(arguments) if a.kind == "tensor" and not is_float(a.dtype)}
    model = _RESTORED.format(base=base, dtypes=whole) if whole else f"\n\nModelNew = {base}\n"
    return f"{title}\n\n_FILES = {{\n{texts}}}\n{_LOADER}{_WRITER}{model}"


def package(artifact: Artifact, folder: Path) -> None:
    """Copy a kernel to `folder`, a package that is imported by the folder's name, whatever others hold.

    Raises UsageError where that is no name of a package, or there is something already.
    """
    if not folder.name.isidentifier() or keyword.iskeyword(folder.name):
        raise UsageError(f"{folder.name} cannot be imported.", "Name the folder like a module: softmax_new.")
    if folder.exists():
        raise UsageError(f"{folder} exists.", "Name another folder with --out.")
    shutil.copytree(artifact.folder, folder, ignore=shutil.ignore_patterns(*_LEFT))
    text = _PACKAGE.format(entry=artifact.entry, loader=_LOADER.rstrip("\n"))
    write_whole(folder / "__init__.py", text)


def _literal(path: Path) -> str:
    """A file's text as a literal that reads like the file, where that is possible."""
    text = path.read_text(encoding="utf-8")
    readable = text.endswith("\n") and "'''" not in text and "\r" not in text
    return f"r'''{text}'''" if readable else repr(text)

"""A kernel as one file of Python, for judges that take no folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from akg_core.errors import UsageError
from akg_core.records import Argument, Artifact
from akg_core.sketch.dtypes import is_float
from akg_core.sketch.host import TORCH_NAMES

_BUILT = (".so", ".o", ".a", ".cubin", ".ptx")
_LOADER = '''

def _load(entry):
    """The module `entry` of the files above, which it finds beside itself, as on the machine that made them."""
    import atexit
    import importlib.util
    import shutil
    import sys
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp(prefix="kernel-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, text in _FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(folder.name.replace("-", "_"), folder / entry)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
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
    built = sorted(path.name for path in artifact.folder.iterdir() if path.suffix in _BUILT)
    if built:
        raise UsageError(
            f"{artifact.folder} cannot become one file: it needs {built[0]}, which a compiler built.",
            "Only kernels that are Python altogether can.",
        )
    files = {path.relative_to(artifact.folder): path for path in sorted(artifact.folder.rglob("*.py"))}
    texts = "".join(f"    {name.as_posix()!r}: {_literal(path)},\n" for name, path in files.items())
    title = f'"""A kernel made by akg-core. `ModelNew` is that of {artifact.entry}, one of the files below."""'
    base = f"_load({artifact.entry!r}).ModelNew"
    whole = {n: TORCH_NAMES[a.dtype] for n, a in enumerate(arguments) if a.kind == "tensor" and not is_float(a.dtype)}
    model = _RESTORED.format(base=base, dtypes=whole) if whole else f"\n\nModelNew = {base}\n"
    return f"{title}\n\n_FILES = {{\n{texts}}}\n{_LOADER}{model}"


def _literal(path: Path) -> str:
    """A file's text as a literal that reads like the file, where that is possible."""
    text = path.read_text(encoding="utf-8")
    readable = text.endswith("\n") and "'''" not in text and "\r" not in text
    return f"r'''{text}'''" if readable else repr(text)

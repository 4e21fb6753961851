"""`akg-core export`: a run's kernel in the form that others take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from akg_core.cli.options import Json

FORMATS = ("kernelbench", "package")


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a kernel's.", show_default=False)],
    form: Annotated[str, typer.Option("--format", metavar="NAME", help=f"One of {', '.join(FORMATS)}.")] = FORMATS[0],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="PATH", help="Where to write (default: in RUN).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a kernel as a package to import, or as one file that KernelBench's own evaluator takes.

    Of a run only a kernel that was judged correct is written; a kernel's own folder is written as it is.
    """
    import json
    import re

    from akg_core.built_from import require_built, require_unchanged
    from akg_core.cli import files
    from akg_core.errors import UsageError
    from akg_core.export import package, single_file
    from akg_core.runs import arguments_of, require_correct

    if form not in FORMATS:
        raise UsageError(f"There is no format {form!r}.", f"There is {', '.join(FORMATS)}.")
    files.run_folder(run)
    of_run = (run / "kernel").is_dir() or (run / "result.json").exists()
    if of_run:
        require_correct(run)
    kernel = files.kernel(run / "kernel" if of_run else run)
    require_unchanged(kernel.folder)
    require_built(kernel)
    if form == "package":
        path = out or run / re.sub(r"\W", "_", run.resolve().name)
        package(kernel, path)
    else:
        path = out or run / f"{form}.py"
        path.write_text(single_file(kernel, arguments_of(run)), encoding="utf-8")
    print(json.dumps({"format": form, "path": str(path)}) if as_json else f"written to {path}")

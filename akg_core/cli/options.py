"""Arguments and options that several commands take, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from akg_core.errors import PluginError, UsageError

if TYPE_CHECKING:
    from akg_core.records import Artifact, Target
    from akg_core.registry import Plugin
    from akg_core.stages import Request

Reference = Annotated[
    Path, typer.Argument(metavar="REF", help="A file with Model, get_inputs and get_init_inputs.", show_default=False)
]
PluginName = Annotated[
    str, typer.Option("--plugin", "-p", metavar="NAME", help="The plugin; may be left out when one is installed.")
]
TargetText = Annotated[
    str, typer.Option("--target", "-t", metavar="BACKEND[:ARCH]", help="The chip; else the plugin's first.")
]
SketchPath = Annotated[
    Path | None, typer.Option("--sketch", metavar="FILE", help="A sketch to use in place of the designer's.")
]
Dynamic = Annotated[bool, typer.Option("--dynamic", help="Capture with symbolic sizes, so that one kernel serves all.")]
Evaluation = Annotated[bool, typer.Option("--eval", help="Put the module in eval mode (else as the file leaves it).")]
Scale = Annotated[
    float, typer.Option("--scale", metavar="X", help="Multiply the file's integer constants by X (0 < X <= 1).")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the inputs and of the hidden draws.")]
NoBaseline = Annotated[bool, typer.Option("--no-baseline", help="Do not time torch.compile.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="Where to write (default runs/<id>).")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Kernel = Annotated[
    Path,
    typer.Argument(metavar="KERNEL", help="A kernel's folder, or one .py file with ModelNew.", show_default=False),
]


def select_plugin(name: str) -> Plugin:
    """The plugin called `name`, or the only loaded one when no name is given."""
    from akg_core.registry import installed

    registry = installed()
    if name:
        return registry.select(name)
    loaded = [plugin for plugin in registry.plugins() if plugin.state == "loaded"]
    if len(loaded) == 1:
        return loaded[0]
    names = ", ".join(plugin.name for plugin in loaded)
    raise PluginError(
        f"--plugin is missing; loaded are {names}." if loaded else "No plugin is loaded.",
        "" if loaded else "`akg-core plugins` says what is installed and why it is not loaded.",
    )


def select_target(text: str, plugin: Plugin) -> Target:
    """Read --target; without it the plugin's first backend."""
    from akg_core.records import Target

    backends = plugin.info.backends if plugin.info else ()
    target = Target.parse(text or backends[0])
    if target.backend not in backends:
        raise UsageError(f"The plugin {plugin} does not serve {target.backend!r}.", f"It serves {', '.join(backends)}.")
    return target


def existing(path: Path, what: str) -> Path:
    """`path` made absolute; raises UsageError when there is no such file or folder."""
    if not path.exists():
        raise UsageError(f"There is no {what} {str(path)!r}.", _neighbours(path))
    return path.resolve()


def existing_kernel(path: Path) -> Artifact:
    """The kernel in a folder (its model_new.py, or its only file with ModelNew) or in one .py file."""
    from akg_core.records import Artifact

    path = existing(path, "kernel")
    if path.is_file():
        return Artifact(folder=path.parent, entry=path.name)
    named = path / "model_new.py"
    files = [named] if named.exists() else [f for f in sorted(path.glob("*.py")) if "ModelNew" in f.read_text("utf-8")]
    if len(files) != 1:
        found = (
            f"It has several: {', '.join(f.name for f in files)}." if files else "No .py file in it defines ModelNew."
        )
        raise UsageError(f"{str(path)!r} is not the folder of a kernel.", f"{found} Give the file itself.")
    return Artifact(folder=path, entry=files[0].name)


def make_request(
    reference: Path,
    plugin: str,
    target: str,
    *,
    sketch: Path | None = None,
    dynamic: bool = False,
    evaluation: bool = False,
    scale: float = 1.0,
    seed: int = 0,
    no_baseline: bool = False,
) -> Request:
    """What the options of a command ask for, with plugin and chip selected and paths absolute."""
    from akg_core.stages import Request

    if not 0 < scale <= 1:
        raise UsageError(f"--scale {scale:g} is not between 0 and 1.", "It shrinks sizes: try --scale 0.25.")
    chosen = select_plugin(plugin)
    return Request(
        reference=existing(reference, "reference file"),
        plugin=chosen.name,
        target=select_target(target, chosen),
        sketch=existing(sketch, "sketch") if sketch else None,
        dynamic=dynamic,
        evaluation=evaluation,
        scale=scale,
        seed=seed,
        baseline=not no_baseline,
    )


def _neighbours(path: Path) -> str:
    from difflib import get_close_matches

    names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    near = get_close_matches(path.name, names, n=2)
    return f"Did you mean {' or '.join(str(path.parent / name) for name in near)}?" if near else ""

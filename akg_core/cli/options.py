"""Arguments and options that several commands take, and what they mean. A value that cannot be is refused here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from akg_core.cli.files import reference_file, sketch_file
from akg_core.errors import PluginError, UsageError

if TYPE_CHECKING:
    from akg_core.records import Target
    from akg_core.registry import Plugin


def refusing(fits: Callable[[Any], bool], said: str, cure: str) -> Callable[[Any], Any]:
    """What an option's value goes through: raises UsageError for one that does not fit, which `said` has as "{}"."""

    def check(value: Any) -> Any:
        if value is not None and not fits(value):
            raise UsageError(said.format(value), cure)
        return value

    return check


INFINITE = float("inf")
_scale = refusing(lambda x: 0 < x <= 1, "--scale {:g} is not between 0 and 1.", "It shrinks sizes: try --scale 0.25.")
_seed = refusing(
    lambda x: 0 <= x < 1 << 32,
    "--seed {} is not between 0 and 2**32 - 1.",
    "Give the seed that a verdict names, or leave it out for new draws.",
)
_seconds = refusing(
    lambda x: 0 < x < INFINITE, "--seconds {:g} is not a time above 0.", "Give a number of seconds: --seconds 60."
)
_time_limit = refusing(
    lambda x: 0 <= x < INFINITE, "--time-limit {:g} is no number of seconds.", "Give 0 or more: --time-limit 60."
)
_tune = refusing(
    lambda x: 0 <= x < INFINITE,
    "--tune {:g} is not a time.",
    "Give a number of seconds, or 0 not to search: --tune 30.",
)
_together = refusing(lambda x: x >= 1, "--together {} is not a number of tasks.", "Give at least 1: --together 4.")
_variant = refusing(lambda x: x >= 0, "There is no variant {}.", "Variants are counted from 0.")

Reference = Annotated[
    Path,
    typer.Argument(
        metavar="REF",
        help="A file with Model, get_inputs and get_init_inputs.",
        show_default=False,
        callback=reference_file,
    ),
]
PluginName = Annotated[
    str, typer.Option("--plugin", "-p", metavar="NAME", help="The plugin; may be left out when one is installed.")
]
TargetText = Annotated[
    str, typer.Option("--target", "-t", metavar="BACKEND[:ARCH]", help="The chip; else the plugin's first.")
]
SketchPath = Annotated[
    Path | None,
    typer.Option("--sketch", metavar="FILE", help="A sketch to use in place of the designer's.", callback=sketch_file),
]
Dynamic = Annotated[bool, typer.Option("--dynamic", help="Capture with symbolic sizes, so that one kernel serves all.")]
Repeatable = Annotated[
    bool,
    typer.Option("--repeatable", help="Add floats in the same order in every call, which atomics would do faster."),
]
Evaluation = Annotated[bool, typer.Option("--eval", help="Put the module in eval mode (else as the file leaves it).")]
Scale = Annotated[
    float,
    typer.Option(
        "--scale", metavar="X", help="Multiply the sizes that the file spells out by X (0 < X <= 1).", callback=_scale
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="Repeats the draws of a verdict that names this seed; else new ones.", callback=_seed),
]
NoBaseline = Annotated[bool, typer.Option("--no-baseline", help="Do not time torch.compile.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="Where to write (default runs/<id>).")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Kernel = Annotated[
    Path,
    typer.Argument(metavar="KERNEL", help="A kernel's folder, or one .py file with ModelNew.", show_default=False),
]
Seconds = Annotated[float, typer.Option("--seconds", metavar="S", help="How long to search.", callback=_seconds)]
TuneSeconds = Annotated[
    float | None,
    typer.Option("--tune", metavar="S", help="How long to search, 0: not at all.", callback=_tune),
]
SampleSeconds = Annotated[
    float, typer.Option("--seconds", metavar="S", help="Time for the samples of a task.", callback=_seconds)
]
TimeLimit = Annotated[
    float,
    typer.Option(
        "--time-limit", metavar="S", help="Seconds for judging a kernel (0: by the reference's).", callback=_time_limit
    ),
]
Together = Annotated[
    int, typer.Option("--together", metavar="N", help="Tasks to build side by side.", callback=_together)
]
ArchiveUrl = Annotated[str, typer.Option("--archive", metavar="URL", help="Database or file (default: the cache).")]
Variant = Annotated[int, typer.Option("--variant", metavar="N", help="The designer's N-th choice.", callback=_variant)]


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
    """Read --target; without it the plugin's first backend. The plugin is asked about a member that is named."""
    from akg_core.records import Target
    from akg_core.stages.pools import probe

    backends = plugin.info.backends if plugin.info else ()
    target = Target.parse(text or backends[0])
    if target.backend not in backends:
        raise UsageError(f"The plugin {plugin} does not serve {target.backend!r}.", f"It serves {', '.join(backends)}.")
    if target.arch:
        found = probe(plugin.name, target)
        if not (found.can_compile or found.can_run):
            raise UsageError(f"The plugin {plugin} does not serve {str(target)!r}: {found.reason}", found.cure)
    return target

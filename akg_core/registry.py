"""Which plugins are installed, in what state, and how to call the hooks of one.

Listing never raises: a plugin that cannot be used is listed with its state, the reason and the cure.
Selecting raises `PluginError` with the same words. Hooks go to the one selected plugin, never to all.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import sys
import time
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal

import pluggy
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from pydantic import TypeAdapter, ValidationError

import akg_core
from akg_core import hookspecs, records
from akg_core.device import Device
from akg_core.errors import AkgError, PluginError, Unsupported
from akg_core.toolchain import version_of

State = Literal["loaded", "blocked", "skewed", "import-failed", "invalid"]
_TRACE = "akg: "
HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("akg_"))
OPTIONAL = ("akg_refine_sketch", "akg_compile_all", "akg_device")  # core does without them and is no worse


@dataclass(frozen=True)
class Plugin:
    """One entry point of the group: who installed it, its state, and why not when it is not `loaded`."""

    name: str
    distribution: str
    version: str
    state: State = "loaded"
    reason: str = ""
    cure: str = ""
    info: records.PluginInfo | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.distribution} {self.version})"


class Registry:
    """The plugins that this Python finds. `blocked` names those that must not be imported."""

    def __init__(self, blocked: Iterable[str] = ()) -> None:
        self._blocked = frozenset(blocked)
        self._manager = pluggy.PluginManager(hookspecs.GROUP)
        self._manager.add_hookspecs(hookspecs)
        self._entries: dict[str, importlib.metadata.EntryPoint] = {}
        self._states: dict[str, Plugin] = {}
        self._refused: list[Plugin] = []
        for entry in sorted(
            importlib.metadata.entry_points(group=hookspecs.GROUP), key=lambda each: (each.name, _owner(each))
        ):
            if first := self._entries.get(entry.name):
                reason = f"{_owner(first)} and {_owner(entry)} both have a plugin {entry.name!r}; the first is used."
                cure = f"Uninstall one of them: pip uninstall {_owner(entry)}."
                self._refused.append(replace(_unseen(entry), state="invalid", reason=reason, cure=cure))
            else:
                self._entries[entry.name] = entry

    def plugins(self) -> tuple[Plugin, ...]:
        """Every plugin by name, loading what can be loaded; a second one of the same name follows the first."""
        found = [self._examine(name) for name in self._entries]
        return tuple(sorted([*found, *self._refused], key=lambda plugin: plugin.name))

    def select(self, name: str) -> Plugin:
        """The loaded plugin `name`; raises PluginError with the reason, the cure and near names."""
        if name not in self._entries:
            raise PluginError(f"There is no plugin {name!r}.", _what_there_is(name, list(self._entries)))
        plugin = self._examine(name)
        if plugin.state != "loaded":
            raise PluginError(f"The plugin {plugin} is {plugin.state}: {plugin.reason}", plugin.cure)
        return plugin

    def hooks(self, name: str) -> Hooks:
        """A caller for the hooks of plugin `name` alone; raises as `select` does."""
        return Hooks(self.select(name), self._manager)

    def modules(self, name: str) -> tuple[str, ...]:
        """What kernels of plugin `name` may import of it and for it; raises as `select` does."""
        info, package = self.select(name).info, self._entries[name].value.partition(":")[0].partition(".")[0]
        return (package, *(info.modules if info else ()))

    def _examine(self, name: str) -> Plugin:
        if name not in self._states:
            self._states[name] = self._load(self._entries[name])
        return self._states[name]

    def _load(self, entry: importlib.metadata.EntryPoint) -> Plugin:
        plugin = _unseen(entry)
        if plugin.name in self._blocked:
            return replace(plugin, state="blocked", reason="AKG_BLOCK names it.", cure="Take it out of AKG_BLOCK.")
        if skew := _skew(entry):
            cure = f"pip install --upgrade {plugin.distribution} akg-core=={akg_core.__version__}"
            return replace(plugin, state="skewed", reason=skew, cure=f"Bring both to one version: {cure}.")
        try:
            module = entry.load()
        except (Exception, SystemExit) as error:
            reason = f"importing {entry.value} raised {type(error).__name__}: {_first_line(error)}."
            cure = f"pip install --force-reinstall {plugin.distribution}"
            return replace(plugin, state="import-failed", reason=reason, cure=cure)
        try:
            self._manager.register(module, plugin.name)
            self._manager.check_pending()
            info = Hooks(plugin, self._manager).akg_plugin_info()
            if info.name != plugin.name:
                raise PluginError(f"it is installed as {plugin.name!r} but calls itself {info.name!r}.")
        except (pluggy.PluginValidationError, ValueError, AkgError) as error:
            if self._manager.has_plugin(plugin.name):
                self._manager.unregister(name=plugin.name)
            cure = f"Tell the authors of {plugin.distribution}; akg_core/hookspecs.py is the contract."
            return replace(plugin, state="invalid", reason=_contract_breach(error), cure=cure)
        return replace(plugin, info=info)


class Hooks:
    """The hooks of one plugin as methods: `hooks.akg_emit(sketch=…, schedule=…, target=…)`.

    A hook that the plugin lacks raises Unsupported; one that raises, or returns something else than
    the contract says, raises PluginError naming plugin and version. AKG_TRACE=1 reports every call on stderr.
    """

    def __init__(self, plugin: Plugin, manager: pluggy.PluginManager) -> None:
        self.plugin = plugin
        self._manager = manager

    def has(self, hook: str) -> bool:
        """Whether the plugin implements `hook`."""
        return any(caller.name == hook for caller in self._manager.get_hookcallers(self._module) or ())

    def __getattr__(self, hook: str) -> Callable[..., Any]:
        if hook not in HOOKS:
            raise AttributeError(hook)
        return functools.partial(self._call, hook)

    @property
    def _module(self) -> Any:
        return self._manager.get_plugin(self.plugin.name)

    def _call(self, hook: str, **arguments: Any) -> Any:
        if not self.has(hook):
            raise Unsupported(f"The plugin {self.plugin} has no {hook}, so it does not support this.")
        others = [other for other in self._manager.get_plugins() if other is not self._module]
        caller = self._manager.subset_hook_caller(hook, others)
        began = time.perf_counter()
        try:
            result = caller(**arguments)
        except AkgError:
            raise
        except (Exception, SystemExit) as error:
            message = f"{hook} of the plugin {self.plugin} raised {type(error).__name__}: {_first_line(error)}."
            raise PluginError(message, "This is a defect of the plugin.") from error
        finally:
            _trace(self.plugin.name, hook, arguments, time.perf_counter() - began)
        try:
            return _validator(hook).validate_python(result, strict=True)
        except ValidationError as error:
            given, due = type(result).__name__, _spell(_return_type(hook))
            message = f"{hook} of the plugin {self.plugin} returned {given} where {due} is due"
            fault = error.errors()[0]["msg"]
            raise PluginError(f"{message}: {fault}.", "This is a defect of the plugin.") from error


@functools.cache
def installed() -> Registry:
    """The registry of this process; AKG_BLOCK is a comma-separated list of plugins not to import."""
    return Registry(filter(None, os.environ.get("AKG_BLOCK", "").replace(" ", "").split(",")))


def hooks(name: str) -> Hooks:
    """The hooks of the installed plugin `name`; raises PluginError when it cannot be used."""
    return installed().hooks(name)


def environment_of(name: str) -> records.Environment | None:
    """Where the toolchain of the installed plugin `name` lives, if not beside core; raises PluginError."""
    info = installed().select(name).info
    return info.environment if info else None


def modules_of(name: str) -> tuple[str, ...]:
    """By which packages kernels of the plugin `name` import their language, its own among them; none where it cannot be
    used."""
    with contextlib.suppress(PluginError):
        return installed().modules(name)
    return ()


@functools.cache
def _validator(hook: str) -> TypeAdapter:
    return TypeAdapter(_return_type(hook))


def _return_type(hook: str) -> Any:
    known = {**vars(records), "Device": Device}
    return typing.get_type_hints(getattr(hookspecs, hook), known)["return"]


def _owner(entry: importlib.metadata.EntryPoint) -> str:
    return (entry.dist and entry.dist.name) or entry.value  # metadata may have been left behind without a name


def _unseen(entry: importlib.metadata.EntryPoint) -> Plugin:
    return Plugin(entry.name, _owner(entry), (entry.dist and entry.dist.version) or "?")


def _skew(entry: importlib.metadata.EntryPoint) -> str:
    """Why the distribution does not fit what of akg-core is here, read from metadata before anything is imported."""
    required = {requirement.name: requirement for requirement in _required(entry)}
    if "akg-core" not in required:
        return "its metadata does not say which akg-core it was made for."
    for name, requirement in required.items():
        here = akg_core.__version__ if name == "akg-core" else version_of(name)
        if not here:
            return f"it requires {name}{requirement.specifier}, which is not installed."
        if not requirement.specifier.contains(here, prereleases=True):
            return f"it requires {name}{requirement.specifier}, and this is {name} {here}."
    return ""


def _required(entry: importlib.metadata.EntryPoint) -> Iterator[Requirement]:
    """What a plugin's distribution requires of akg-core's own distributions, whatever its extras are."""
    for text in (entry.dist.requires if entry.dist else None) or ():
        with contextlib.suppress(InvalidRequirement):
            requirement = Requirement(text)
            requirement.name = canonicalize_name(requirement.name)
            wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if requirement.name.startswith("akg-") and wanted:
                yield requirement


def _contract_breach(error: Exception) -> str:
    """A sentence for what registering found; names the nearest hook for one that does not exist."""
    text = _first_line(error)
    if isinstance(error, pluggy.PluginValidationError) and text.startswith("unknown hook"):
        unknown = text.split("'")[1]
        near = get_close_matches(unknown, HOOKS, n=1)
        return f"it implements {unknown}, which is no hook" + (f" (did it mean {near[0]}?)." if near else ".")
    if isinstance(error, pluggy.PluginValidationError):
        return f"a hook does not have the arguments of the contract: {str(error).splitlines()[-1].strip()}."
    return text


def _what_there_is(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names)
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    return f"{meant}Installed: {', '.join(names) or 'none; pip install akg-plugin-… adds one'}."


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or "no message").splitlines()[0].rstrip(".")


def _spell(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("akg_core.records.", "")


def forward_trace(log: str) -> None:
    """Report the hook calls that a worker's log tells of, when AKG_TRACE asks for it."""
    if _tracing():
        for line in log.splitlines():
            if line.startswith(_TRACE):
                print(line, file=sys.stderr)


def _trace(plugin: str, hook: str, arguments: dict[str, Any], seconds: float) -> None:
    if _tracing():
        print(f"{_TRACE}{plugin}.{hook}({', '.join(arguments)}) {seconds * 1e3:.1f} ms", file=sys.stderr)


def _tracing() -> bool:
    return os.environ.get("AKG_TRACE", "") not in ("", "0")

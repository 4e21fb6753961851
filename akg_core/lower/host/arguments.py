"""The arguments of forward as Python text: how it begins, what it calls them, what callers call them."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set

from akg_core.lower.host.checks import python_tuple
from akg_core.records import Argument, Interface
from akg_core.task.graph import COMPLEX, DTYPE, spelled

_SPOKEN_FOR = frozenset({"kept", "max", "min", "operator", "range", "slice", "torch", "type", "updates"})


def called(argument: Argument) -> str:
    """How a caller writes an argument."""
    return spelled(argument.path or (argument.name,))


def collections(arguments: Sequence[Argument]) -> dict[str, list[Argument]]:
    """The parameters of forward that are collections, with what they hold."""
    found: dict[str, list[Argument]] = {}
    for argument in arguments:
        if len(argument.path) > 1:
            found.setdefault(str(argument.path[0]), []).append(argument)
    return found


def spoken_for(prelude: str) -> frozenset[str]:
    """Names by which the body of forward means something else than an argument, beside those that begin with "_".

    `prelude`: the code of the module before it.
    """
    bound: set[str] = set()
    for node in ast.parse(prelude).body:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound |= {(name.asname or name.name).partition(".")[0] for name in names}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Assign(targets=targets):
                bound |= {target.id for target in targets if isinstance(target, ast.Name)}
    return _SPOKEN_FOR | bound


def other_names(arguments: Sequence[Argument], taken: Set[str]) -> dict[str, str]:
    """By parameter of forward whose name its body has another use for, one of `taken`: what it is called there."""
    parameters = {*collections(arguments), *(argument.name for argument in arguments)}
    found: dict[str, str] = {}
    for name in sorted(parameters):
        if name in taken or name.startswith("_"):
            fresh = f"{name.lstrip('_')}_"
            while fresh in {*parameters, *found.values(), *taken} or fresh.startswith("_"):
                fresh = f"argument_{fresh}"
            found[name] = fresh
    return found


def renamed(arguments: Sequence[Argument], names: Mapping[str, str]) -> tuple[Argument, ...]:
    """Arguments with these names, which callers know by their own."""
    return tuple(
        a.model_copy(update={"name": names[a.name], "path": a.path or (a.name,)}) if a.name in names else a
        for a in arguments
    )


def heading(arguments: Sequence[Argument], names: Mapping[str, str]) -> list[str]:
    """The lines that begin forward, to the end of what it asks of arguments that are no tensors.

    Where its body calls arguments by other names, which are given by their own, it is the body of a method inside.
    """
    parameters = signature(arguments)
    lines = [f"def forward({', '.join(['self', *parameters])}):"]
    if names:
        given = [text.partition("=")[0] for text in parameters]
        taken = ["self", *(names.get(name, name) for name in given)]
        lines += [f"    return self.__forward({', '.join(given)})", "", f"def __forward({', '.join(taken)}):"]
    arguments = renamed(arguments, names)
    for name, parts in collections(arguments).items():
        targets = python_tuple(argument.name for argument in parts)
        form = template([argument.path[1:] for argument in parts])
        lines.append(f"    {targets} = _unpacked({name!r}, {names.get(name, name)}, {form})")
    return lines + [f"    {constant(argument)}" for argument in arguments if argument.kind == "constant"]


def template(paths: Sequence[tuple[int | str, ...]]) -> str:
    """A collection as Python text, with an ellipsis for each value that is reached by one of these paths."""
    if () in paths:
        return "..."
    parts: dict[int | str, list[tuple[int | str, ...]]] = {}
    for key, *rest in paths:
        parts.setdefault(key, []).append(tuple(rest))
    if all(isinstance(key, int) for key in parts):
        return f"[{', '.join(map(template, parts.values()))}]"
    return f"{{{', '.join(f'{key!r}: {template(part)}' for key, part in parts.items())}}}"


def signature(arguments: Sequence[Argument]) -> list[str]:
    """Parameters of forward; those after the last tensor get the value of the reference's call as their default."""
    texts: list[str] = []
    optional = True
    for argument in reversed(arguments):
        if len(argument.path) > 1:
            optional = False
            if argument.path[0] not in texts:
                texts.append(str(argument.path[0]))
            continue
        optional = (
            optional and argument.kind != "tensor" and (argument.kind == "constant" or argument.value is not None)
        )
        texts.append(f"{argument.name}={literal(argument.value)}" if optional else argument.name)
    return texts[::-1]


def constant(argument: Argument) -> str:
    """The line that refuses another value than the one that the kernel was made for; what is equal is seen at once."""
    name, value, wanted = argument.name, argument.value, literal(argument.value)
    refuse = f"_constant({called(argument)!r}, {name}, {wanted})"
    if value is None or isinstance(value, bool) or (isinstance(value, dict) and value.keys() == {DTYPE}):
        return f"if {name} is not {wanted}: {refuse}"
    if isinstance(value, (int, float, str)):
        return f"if type({name}) is not {type(value).__name__} or {name} != {wanted}: {refuse}"
    return refuse


def asked(interface: Interface, names: Mapping[str, str]) -> Iterator[str]:
    """The lines that refuse floats for which forward is another, where arguments are called by these names."""
    for condition in interface.asked:
        text = re.sub(r"\b[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), condition)
        yield f"if not {text}: _refuse_numbers({condition.removeprefix('(').removesuffix(')')!r})"


def contents(interface: Interface) -> Iterator[str]:
    """The lines that refuse tensors which hold something else than the kernel was made for."""
    for argument in interface.arguments:
        if argument.is_held:
            yield f"_constant({called(argument)!r}, {argument.name}.tolist(), {literal(argument.value)})"


def led(interface: Interface) -> list[str]:
    """The line that gives tensors the leading dims that they lack."""
    tensors = [a for a in interface.arguments if a.kind == "tensor"]
    rank = max((len(a.shape) for a in tensors), default=0)
    names = [a.name for a in tensors if len(a.shape) == rank]
    line = f"{', '.join(names)}, _absent = _led({python_tuple(names)}, {rank}, {interface.absent})"
    return [line] if interface.absent else []


def literal(value: object) -> str:
    """A JSON value as Python text; infinities and NaN, which have no literal, are names of torch."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{'-' if value < 0 else ''}torch.{'nan' if math.isnan(value) else 'inf'}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict) and value.keys() == {DTYPE}:
        return f"torch.{value[DTYPE]}"
    if isinstance(value, dict) and value.keys() == {COMPLEX}:
        return f"complex({', '.join(map(literal, value[COMPLEX]))})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {literal(item)}' for key, item in value.items())}}}"
    return repr(value)

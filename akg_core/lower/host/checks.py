"""What forward checks of the tensors that it is given, as Python text: all in one expression, so that it costs little.

A tensor must be plain, of its dtype, as many dimensions, dense and contiguous, on the device that kernels run on. One
that is not is looked at again, slowly, by what is fixed of every module (`runtime`), which mends it or says what
is wrong. Sizes that vary are remembered once they were found to be such as the kernel was made for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from akg_core.dtypes import DTYPES, is_float
from akg_core.records import Argument, Interface, Parameter
from akg_core.sketch import ast
from akg_core.sketch.program import memory_orders
from akg_core.task.graph import spelled

TORCH_NAMES = {name: dtype.torch for name, dtype in DTYPES.items()}
COMPLEX = {"f64": "torch.complex128", "f32": "torch.complex64", "f16": "torch.complex32"}
COMPLEX |= {"i64": "torch.uint64", "i32": "torch.uint32", "i16": "torch.uint16"}  # whose bits are handed over
_REPLACED = "replaced"
_HELD_BY = {"parameter": "_parameters", "buffer": "_buffers"}


@dataclass(frozen=True, slots=True)
class Given:
    """A tensor from outside: `name` in forward, how users call it, whether it is state of the module, and what it is.

    `kind`: that of a parameter in the interface, or "replaced": a plain attribute that forward gives other values.
    `pairs`: users have it as a complex tensor. `order`: its dims in memory, from outermost to innermost; () for rows.
    """

    name: str
    dtype: str
    rank: int
    order: tuple[int, ...]
    spoken: str
    is_state: bool
    kind: str = ""
    pairs: bool = False

    def expected(self) -> str:
        """What the slow check goes by."""
        is_state = self.is_state and not self.pairs  # of which forward has made pairs
        return f"({self.spoken!r}, torch.{TORCH_NAMES[self.dtype]}, {self.rank}, {self.order}, {is_state})"

    def looked_up(self) -> str:
        """The tensor where the module holds it: past Module.__getattr__, which takes longer than all checks."""
        if self.kind == _REPLACED:
            return f"_apart(self, {self.spoken!r})"
        *path, last = self.spoken.split(".")
        owner = "self" + "".join(f'._modules["{part}"]' for part in path)
        if self.kind in _HELD_BY and not self.pairs:
            return f'{owner}.{_HELD_BY[self.kind]}.get("{last}")'
        return f'operator.attrgetter("{self.spoken}")(self)'

    def fits(self, device: str) -> str:
        """Whether it is what a kernel takes as it is."""
        x = self.name
        turned = f"{x}.permute{self.order}" if self.order else x
        return (
            f"type({x}) in _PLAIN and {x}.dtype is _{TORCH_NAMES[self.dtype]} and {x}.ndim == {self.rank} "
            f"and {x}.layout is _STRIDED and {device} and {turned}.is_contiguous() "
            f"and not ({x}.is_neg() or {x}.is_nested)"
        )


def given_tensors(
    program: ast.Program,
    interface: Interface,
    arguments: Iterable[tuple[ast.TensorParameter, Argument]],
    states: Iterable[ast.TensorParameter],
    name: Callable[[str], str],
) -> tuple[Given, ...]:
    """The tensors that are checked: arguments, then state; `name`: what forward calls one of the program's."""
    known = {p.name: p for p in interface.parameters}
    found = [(t, spelled(a.path or (a.name,)), False, "", a.pairs) for t, a in arguments]
    for tensor in states:
        parameter = known.get(tensor.source)
        kind, pairs = (_kind_of(parameter), parameter.pairs) if parameter else ("", False)
        found.append((tensor, tensor.source, True, kind, pairs))
    orders = memory_orders(program)
    return tuple(
        Given(name(t.name), t.dtype, len(t.dims), orders.get(t.name, ()), spoken, is_state, kind, pairs)
        for t, spoken, is_state, kind, pairs in found
    )


def _kind_of(parameter: Parameter) -> str:
    """The kind of a parameter as of what is given."""
    return _REPLACED if parameter.kind == "constant" and parameter.mutated else parameter.kind


def dtypes_of(given: Sequence[Given]) -> str:
    """Module-level lines that give the dtypes of these tensors names of their own, which are found sooner."""
    names = dict.fromkeys(TORCH_NAMES[tensor.dtype] for tensor in given)
    return "".join(f"_{name} = torch.{name}\n" for name in names)


def checked(given: Sequence[Given]) -> list[str]:
    """The lines that bind `_device` and make sure of every tensor."""
    lines = [f"{tensor.name} = {tensor.looked_up()}" for tensor in given if tensor.is_state]
    lines += [f"{t.name} = _pairs({t.spoken!r}, {t.name}, {COMPLEX[t.dtype]})" for t in given if t.pairs]
    if not given:
        return [*lines, "_device = _DEVICE"]
    first = given[0].name
    tests = [given[0].fits(f"(_device := {first}.device) in _devices")]
    tests += [tensor.fits(f"{tensor.name}.device == _device") for tensor in given[1:]]
    names = python_tuple(tensor.name for tensor in given)
    lines.append(f"if not ({' and '.join(f'({test})' for test in tests)}):")
    lines += [f"    {names} = _fitted(self, {names})", f"    _device = {first}.device"]
    return lines


def watched(given: Sequence[Given], interface: Interface) -> list[str]:
    """The lines that bind `_grad`, where there are floats: whether somebody may ask for gradients of what comes out."""
    floats = [tensor.name for tensor in given if is_float(tensor.dtype)]
    if not floats:
        return []
    lines = [f"_grad = _is_grad_enabled() and ({' or '.join(f'{name}.requires_grad' for name in floats)})"]
    lines.append("_grad = _grad or _forward_ad._current_level >= 0")
    updated = [spelled(a.path or (a.name,)) for a in interface.arguments if a.mutated]
    updated += [p.name for p in interface.parameters if p.mutated and p.kind == "parameter"]
    return [*lines, "if _grad:", f"    _refuse_updates({updated})"] if updated else lines


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes that vary: `names` in forward, by how users call them, and conditions over these names."""

    names: Mapping[str, str]
    conditions: tuple[str, ...]

    def checked(self) -> list[str]:
        if not self.names:
            return []
        names = ", ".join(self.names.values())
        key = names if len(self.names) == 1 else f"({names})"
        return [f"if {key} not in _sizes:", f"    _check_sizes({names})"]

    def function(self) -> str:
        """The slow check, at module level."""
        if not self.names:
            return ""
        spoken = {name: words for words, name in self.names.items()}
        lines = [f"def _check_sizes({', '.join(self.names.values())}):"]
        lines.append('    """Refuse sizes at which forward is not what the kernel was made from; remember others."""')
        pairs = ", ".join(f"{words!r}: {name}" for words, name in self.names.items())
        lines += [f"    given = {{{pairs}}}", "    _require_elements(given)"]
        for condition in self.conditions:
            said = re.sub(r"[A-Za-z_]\w*", lambda found: spoken.get(found[0], found[0]), _bare(condition))
            lines += [f"    if not {condition}:", f"        _refuse_sizes({said!r}, given)"]
        key = ", ".join(self.names.values())
        return "\n".join([*lines, f"    _sizes.add({key if len(self.names) == 1 else f'({key})'})"]) + "\n\n\n"


def sizes_of(
    interface: Interface, inputs: Sequence[ast.TensorParameter], bound: Mapping[str, str], names: Mapping[str, str]
) -> Sizes:
    """What is asked of the sizes of a program with these inputs, in the order of the interface's tensors.

    `bound`: how users call each size that varies, "x.shape[0]"; `names`: what it is called in forward.
    """
    given = [argument for argument in interface.arguments if argument.kind != "constant"]
    meant: dict[str, str] = {}  # names of the interface in forward
    fixed: list[str] = []
    varies = any(isinstance(dim, str) for argument in given for dim in argument.shape)
    for tensor, argument in zip(inputs, given, strict=False):
        for dim, size in zip(tensor.dims, argument.shape, strict=False):
            if isinstance(dim, ast.Name) and isinstance(size, int) and varies:
                fixed.append(f"({names[dim.id]} == {size})")  # a sketch may leave open what forward depends on
            elif isinstance(dim, ast.Name) and isinstance(size, str) and size.isidentifier():
                meant.setdefault(size, names[dim.id])
    guards = (re.sub(r"[A-Za-z_]\w*", lambda found: meant.get(found[0], found[0]), g) for g in interface.guards)
    return Sizes({bound[name]: names[name] for name in bound}, tuple(dict.fromkeys([*fixed, *guards])))


def _bare(condition: str) -> str:
    """A condition without the parentheses around it."""
    depths, depth = [], 0
    for letter in condition:
        depth += (letter == "(") - (letter == ")")
        depths.append(depth)
    whole = condition.startswith("(") and 0 not in depths[:-1]
    return condition[1:-1] if whole else condition


def python_tuple(items: Iterable[str]) -> str:
    """Python text of a tuple of expressions."""
    texts = list(items)
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

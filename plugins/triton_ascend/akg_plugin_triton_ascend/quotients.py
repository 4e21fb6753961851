"""Answers in f64, which these chips lack, made as the bits that they are: quotients rounded down of whatever is read.

What is rounded down is a whole number, which whole numbers of 64 bits make exactly: `_QUOTIENT` divides mantissas bit
by bit, as by hand. A kernel that makes anything else in f64 stays as it is, and is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from akg_core.plugin.sketch import Assign, Call, Expr, Name, Number, Text, Unary, ast, parse, require, show
from akg_plugin_triton_ascend.comparisons import is_f64

_SIGN, _ONE, _INFINITY, _NAN = -(2**63), 1 << 52, 0x7FF << 52, 0xFFF << 51
_CONSTANTS = {"SIGN": _SIGN, "ONE": _ONE, "INF": _INFINITY, "NAN": _NAN, "REST": (1 << 63) - 1}


def _raised(number: str, exponent: str, bits: int, steps: Collection[int]) -> str:
    """A whole number with its first bit at the place `bits` - 1, its exponent lowered by as much."""
    return "".join(
        f"    low = {number} < {1 << (bits - step)}\n"
        f"    {number} = where(low, {number} << {step}, {number})\n"
        f"    {exponent} = where(low, {exponent} - {step}, {exponent})\n"
        for step in steps
    )


_ALL = (32, 16, 8, 4, 2, 1)
_QUOTIENT = f"""
    sign = (a ^ b) & SIGN
    top, bottom = a & REST, b & REST
    up, down = top >> 52, bottom >> 52
    rest, by = where(up == 0, top, top & (ONE - 1) | ONE), where(down == 0, bottom, bottom & (ONE - 1) | ONE)
    up, down = maximum(up, 1), maximum(down, 1)
{_raised("rest", "up", 53, _ALL)}{_raised("by", "down", 53, _ALL)}
    apart = up - down
    fits = rest >= by
    found = i64(fits & (apart >= 0))
    rest = where(fits & (apart >= 0), rest - by, rest)
    for step in range(54):
        goes, twice = apart > step, rest << 1
        fits = twice >= by
        found = where(goes, (found << 1) + i64(fits), found)
        rest = where(goes, where(fits, twice - by, twice), rest)
    left = (rest != 0) & (top != 0)
    whole = apart < 53
    found = found + i64(left & whole & (sign != 0))
    none = found == 0
    power = where(apart > 54, apart, 54) + 1024
{_raised("found", "power", 56, _ALL)}
    power = minimum(power, 2047)
    ends, found = found & 7, found >> 3
    more = (ends > 4) | ((ends == 4) & ((found & 1 != 0) | (left & ~whole)))
    made = minimum((power << 52) + (found - ONE) + i64(more), INF)
    made = where(bottom == 0, INF, where(none, 0, made)) | sign
    odd = (top > INF) | (bottom > INF) | where(bottom == 0, top == 0, top == INF)
    made = where(odd, NAN, made)
"""
_OF_WHOLE = f"""
    found = abs(a)
    power = a * 0 + 1085
{_raised("found", "power", 63, _ALL)}
    ends, found = found & 1023, found >> 10
    more = (ends > 512) | ((ends == 512) & (found & 1 != 0))
    made = (power << 52) + (found - ONE) + i64(more) | a & SIGN
    made = where(a == 0, 0, where(a == SIGN, {_SIGN + ((1023 + 63) << 52)}, made))
"""
_OF_F32 = f"""
    power, rest = a >> 23 & 255, a & 8388607
    found = rest
    small = power * 0 + 896
{_raised("found", "small", 23, _ALL[1:])}
    tiny = where(rest == 0, 0, (small << 52) + (found - 4194304 << 30))
    normal = (where(power == 255, 2047, power + 896) << 52) + (rest << 29)
    made = where(power == 0, tiny, normal) | a & SIGN
"""


def in_bits(tree: ast.SketchFile, given: Collection[str]) -> ast.SketchFile | None:
    """The checked tree with whole numbers in place of each f64; None where it makes what these do not.

    `given`: tensors of the program in f64 that come from outside, and views of them.
    """
    program = tree.program
    if program is None:
        return None
    launches = [node for node in ast.walk(program.body) if isinstance(node, ast.Launch)]
    try:
        kernels = tuple(
            _Kernel(kernel, _handed(kernel, launches, given)).changed() if _computes(kernel) else kernel
            for kernel in tree.kernels
        )
    except _Other:
        return None
    changed = replace(tree, kernels=kernels, program=_program(program))
    checked = require(parse(show(changed)))
    return None if any(_makes_f64(kernel) for kernel in checked.kernels) else checked


class _Other(Exception):
    """A kernel makes something else in f64 than quotients rounded down."""


def _computes(kernel: ast.Kernel) -> bool:
    return any(
        is_f64(node) or (isinstance(node, ast.TensorParameter) and node.dtype == "f64") for node in ast.walk(kernel)
    )


def _handed(kernel: ast.Kernel, launches: list[ast.Launch], given: Collection[str]) -> set[str]:
    """The tensors of a kernel that come from outside in f64."""
    handed = [launch.tensors for launch in launches if launch.kernel == kernel.name]
    return {own.name for names in handed for own, name in zip(kernel.tensors, names, strict=True) if name in given}


def _makes_f64(kernel: ast.Kernel) -> bool:
    """Whether a kernel does more with f64 than to read the bits of it."""
    read = {id(node.args[0]) for node in ast.walk(kernel) if isinstance(node, Call) and node.op == "bits"}
    return any(is_f64(node) and id(node) not in read for node in ast.walk(kernel))


def _program(program: ast.Program) -> ast.Program:
    """The program with bits in place of each f64 that it makes; what goes out are the floats of these."""
    made = {n.target for n in ast.walk(program.body) if isinstance(n, ast.Allocate) and n.dtype == "f64" and n.dims}
    body: list[ast.Statement] = []
    for node in program.body:
        if isinstance(node, ast.Allocate) and node.target in made:
            if node.fill:
                raise _Other
            node = replace(node, dtype="i64")
        if isinstance(node, ast.View) and node.tensor in made:
            made.add(node.target)
        if isinstance(node, ast.Return):
            floats = {name: f"{name}_floats" for name in node.tensors if name in made}
            body += [ast.View(new, "floats", name, ()) for name, new in floats.items()]
            node = replace(node, tensors=tuple(floats.get(name, name) for name in node.tensors))
        body.append(node)
    return replace(program, body=tuple(body))


@dataclass
class _Kernel:
    """A kernel whose statements are written anew. `wide`: its tensors of f64 that are read as they are."""

    kernel: ast.Kernel
    wide: Collection[str]
    _before: list[ast.Statement] = field(default_factory=list)
    _count: int = 0

    def changed(self) -> ast.Kernel:
        tensors = tuple(
            replace(t, dtype="i64") if t.dtype == "f64" and t.name not in self.wide else t for t in self.kernel.tensors
        )
        return replace(self.kernel, tensors=tensors, body=self._block(self.kernel.body))

    def _block(self, body: tuple[ast.Statement, ...]) -> tuple[ast.Statement, ...]:
        found: list[ast.Statement] = []
        for statement in body:
            if isinstance(inner := getattr(statement, "body", None), tuple):
                found.append(replace(statement, body=self._block(inner)))  # type: ignore[call-arg]
                continue
            self._before = []
            changed = self._statement(statement)
            found += [*self._before, changed]
        return tuple(found)

    def _statement(self, statement: ast.Statement) -> ast.Statement:
        match statement:
            case Assign(targets=(_,), value=value) if is_f64(value):
                return replace(statement, value=self._bits(value))
            case ast.Effect(call=Call(op="store", args=(place, value)) as call) if is_f64(value):
                return replace(statement, call=replace(call, args=(place, self._bits(value))))
        return statement

    def _bits(self, value: Expr) -> Expr:
        """The bits of a value in f64."""
        match value:
            case Name():
                return value
            case Call(op="load", args=(ast.Element(tensor=tensor), *_)):
                return Call("bits", (value,)) if tensor in self.wide else value
            case Call(op="where", args=(condition, yes, no)):
                return Call("where", (condition, self._bits(yes), self._bits(no)))
            case Call(op="f64", args=(inner,)) | Call(op="cast", args=(inner, Text(value="f64"))) if not is_f64(inner):
                if inner.dtype in ("f32", "f16", "bf16"):
                    return self._made(_OF_F32, a=_whole(Call("bits", (Call("cast", (inner, Text("f32"))),))))
                return self._made(_OF_WHOLE, a=_whole(inner))
            case ast.Binary(op="//", left=left, right=right):
                return self._made(_QUOTIENT, a=self._bits(left), b=self._bits(right))
            case Unary(op="-", operand=operand):
                return ast.Binary("^", self._bits(operand), Number(_SIGN))
        raise _Other

    def _made(self, text: str, **given: Expr) -> Expr:
        """What statements make of some values, which come before the one at hand."""
        self._count += 1
        own = f"_{self._count}"
        self._before += [Assign((f"{name}{own}",), value) for name, value in given.items()]
        self._before += ast.rewrite(_statements(text, tuple(given)), lambda node: _renamed(node, own))
        return Name(f"made{own}")


def _whole(value: Expr) -> Expr:
    return Call("cast", (value, Text("i64")))


def _statements(text: str, given: tuple[str, ...]) -> tuple[ast.Statement, ...]:
    """The statements of a text, in which `given` are values."""
    inputs = ", ".join(f'{name}_: In["i64"]' for name in given)
    loads = "".join(f"    {name} = load({name}_)\n" for name in given)
    (kernel,) = parse(f'@kernel\ndef made({inputs}, y: Out["i64"]):\n{loads}{text}    store(y, made)\n').kernels
    return kernel.body[len(given) : -1]


def _renamed(node: Any, own: str) -> Any:
    match node:
        case Name(id=name):
            return Number(_CONSTANTS[name]) if name in _CONSTANTS else replace(node, id=f"{name}{own}")
        case Assign(targets=targets):
            return replace(node, targets=tuple(f"{name}{own}" for name in targets))
        case ast.Range(variable=variable):
            return replace(node, variable=f"{variable}{own}")
    return node

"""Makes Triton's interpreter quick: what its front end works out of the types of a call is worked out once.

A builtin of the language turns its arguments into operations of a builder. Which ones depends on types, shapes and
numbers that are spelt out, for a compiler knows nothing else of the arguments. So the operations of a call are
recorded, and replayed by a function made of them when the builtin is called again with arguments of the same kind.
Replayed operations are the interpreter's own, on the same arrays, but that

- what is made of constants alone is kept;
- an operand of exact arithmetic is not spread over a tile first, which NumPy does by itself;
- what the interpreter does by one function of NumPy, that function does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

_MOST = 4096  # calls that are kept of one builtin
_KEPT = ("create_splat", "create_make_range")  # beside `get_…`, what gives the same array for the same constants
_ORDERS = ("EQ", "NE", "LT", "LE", "GT", "GE")
_EXACT = frozenset(
    [f"create_{letter}{name}" for name in ("add", "sub", "mul") for letter in ("", "f")]
    + ["create_fdiv", "create_and", "create_or", "create_xor", "create_minsi", "create_maxsi"]
    + ["create_select", "create_addptr"]
    + [f"create_{kind}{order}" for kind in ("icmp", "icmpS", "icmpU", "fcmpO", "fcmpU") for order in _ORDERS]
)
_SPREAD = ("create_broadcast", "create_splat")
_CASTS = tuple(
    f"create_{name}" for name in ("si_to_fp", "ui_to_fp", "fp_to_si", "fp_to_ui", "fp_ext", "fp_trunc", "int_cast")
)
_NUMBERS = ("get_int32", "get_int64")
_PLAIN = (int, bool, str, type(None))
_OPERATORS = ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lt", "le", "gt", "ge", "eq", "ne")
_FUNCTION = SimpleNamespace(binary_op=lambda a, b, function: function, ternary_op=lambda a, b, c, function: function)
"""A builder whose exact operations are the functions of NumPy that they call."""
_COUNTING = frozenset(f"__{side}{name}__" for name in _OPERATORS for side in ("", "r"))  # take any number alike


def replay_calls(interpreter: Any, tl: Any) -> None:
    """Have the interpreter of this process replay calls of builtins; after all else that changes its builder."""
    calls = _Calls(interpreter, tl)
    builder = interpreter.InterpreterBuilder
    for name, method in list(vars(builder).items()):
        if name.startswith(("create_", "get_")) and callable(method):
            setattr(builder, name, calls.noted(name, method))
    patch = interpreter._patch_attr

    def patch_attr(owner: Any, name: str, member: Any, *rest: Any) -> None:
        patch(owner, name, member, *rest)
        setattr(owner, name, calls.quick(name, member, getattr(owner, name)))

    interpreter._patch_attr = patch_attr


@dataclass
class _Operation:
    """A call of a method of the builder, while a builtin was recorded."""

    name: str
    method: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    made: Any


class _Unknown(Exception):
    """An argument of which more than its type may matter."""


class _Calls:
    """The calls of all builtins. `log`: the operations of the builtin that is being recorded, or None."""

    def __init__(self, interpreter: Any, tl: Any) -> None:
        self.handle, self.tensor = interpreter.TensorHandle, tl.core.tensor
        self.builder = interpreter.interpreter_builder
        self.fits = hasattr(interpreter, "_validate_np_data_size")  # results of arithmetic to what their types hold
        self.constant, self.dtype = tl.core.constexpr, tl.core.dtype
        self.named = type(tl.PropagateNan.ALL) if hasattr(tl, "PropagateNan") else type(None)
        self.log: list[_Operation] | None = None
        self.known: dict[Any, dict[Any, Callable[..., Any] | None]] = {}

    def noted(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of the builder that notes its calls while a builtin is recorded, but none that it makes itself."""

        def call(builder: Any, *arguments: Any, **options: Any) -> Any:
            log, self.log = self.log, None
            try:
                made = method(builder, *arguments, **options)
            finally:
                self.log = log
            if log is not None:
                log.append(_Operation(name, method, arguments, options, made))
            return made

        return call

    def quick(self, name: str, member: Any, plain: Callable[..., Any]) -> Callable[..., Any]:
        """A builtin that replays the calls it knows; `plain` is what the interpreter would call."""
        known = self.known.setdefault(member, {})
        counting, tensor = name in _COUNTING, self.tensor

        def call(*arguments: Any, **options: Any) -> Any:
            if self.log is not None:  # a part of what is being recorded
                return plain(*arguments, **options)
            given: list[Any] = []
            if len(arguments) == 2 and not options and type(arguments[0]) is type(arguments[1]) is tensor:  # as by _key
                first, second = arguments
                given += first.handle, second.handle
                key: Any = (id(first.type), id(second.type))
            else:
                try:
                    key = self._key(arguments, options, given, counting)
                except _Unknown:
                    return plain(*arguments, **options)
            if len(given) == 2 and given[0] is given[1]:
                key = "twice", key
            replay = known.get(key)
            if replay is not None:
                return replay(*given)
            if key in known or len(known) == _MOST:
                return plain(*arguments, **options)
            return self._record(known, key, given, plain, arguments, options)

        return call

    def _key(self, arguments: tuple[Any, ...], options: dict[str, Any], given: list[Any], counting: bool) -> Any:
        """What the operations of a call depend on; `given` takes what they do not: handles, and a number to count."""
        if counting and len(arguments) == 2 and type(arguments[1]) is int:
            tensor, number = arguments
            likewise = number != 0 and -(2**31) <= number < 2**31  # made by one method of the builder
            if likewise and type(tensor) is self.tensor and tensor.dtype.name in ("int32", "int64"):
                given += tensor.handle, number
                return id(tensor.type), "number"
        key = [self._kind(argument, given) for argument in arguments]
        for name, value in options.items():
            if name not in ("_builder", "_semantic"):
                key += name, self._kind(value, given)
        return tuple(key)

    def _kind(self, value: Any, given: list[Any]) -> Any:
        kind = type(value)
        if kind is self.tensor:
            given.append(value.handle)
            return id(value.type)  # tensors of one type share the object that says so
        if kind in _PLAIN or kind is self.named:
            return kind, value
        if kind is float:
            return value.hex()
        if kind is self.constant:
            return kind, self._kind(value.value, given)
        if kind is self.dtype:
            return kind, value.name
        if kind in (tuple, list):
            return kind, *(self._kind(item, given) for item in value)
        if kind is slice:
            return kind, value.start, value.stop, value.step
        raise _Unknown

    def _record(
        self, known: dict[Any, Any], key: Any, given: list[Any], plain: Any, arguments: Any, options: Any
    ) -> Any:
        if len(set(map(id, given))) < len(given) > 2:  # which of them an operation takes is not to be seen
            return plain(*arguments, **options)
        log: list[_Operation] = []
        self.log = log
        try:
            made = plain(*arguments, **options)
        finally:
            self.log = None
        try:
            known[key] = _Replay(self, given).of(log, made)
        except _Unknown:
            known[key] = None
        return made


@dataclass
class _Replay:
    """Writes the function that replays a call, whose arguments are what was `given`.

    `values` are what its text refers to by name, `names` how values of the call are called by their identity.
    """

    calls: _Calls
    given: list[Any]
    values: dict[str, Any] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def of(self, log: list[_Operation], made: Any) -> Callable[..., Any]:
        """The function for these operations and this result. Raises _Unknown for what is not followed."""
        parameters = [f"g{number}" for number in range(len(self.given))]
        self.names = {id(value): name for value, name in zip(self.given, parameters, strict=True)}
        self.values |= {"builder": self.calls.builder, "Handle": self.calls.handle, "Tensor": self.calls.tensor}
        self.values["new"] = object.__new__
        if type(self.given[-1:] and self.given[-1]) is int and not any(map(self._counts, log)):
            raise _Unknown
        for at, operation in enumerate(log):
            self._write(operation, log[at + 1 :], made)
        self._give(made)
        text = f"def replay({', '.join(parameters)}):\n" + "".join(f"    {line}\n" for line in self.lines)
        exec(text, self.values)
        return self.values["replay"]

    def _write(self, operation: _Operation, later: list[_Operation], result: Any) -> None:
        made = operation.made
        counts = self._counts(operation)
        if type(made) not in (self.calls.handle, type(None)):
            if isinstance(made, (tuple, list)) or not operation.name.startswith("get_"):
                raise _Unknown
            return  # a type
        used = [self._refer(argument) for argument in operation.arguments]
        options = [f"{name}={self._refer(value)}" for name, value in operation.options.items()]
        constant = all(name.startswith("c") for name in used) and not options and not counts
        if constant and (operation.name.startswith("get_") or operation.name in _KEPT):
            made.data.flags.writeable = False
            self._constant(made)
            return
        name = self.names[id(made)] = f"m{len(later)}"
        if operation.name in _SPREAD and self._spread_anyway(made, later, result):
            pairs = zip(operation.arguments, used, strict=True)
            self.names[id(made)] = next(spelled for value, spelled in pairs if isinstance(value, self.calls.handle))
        elif data := self._data(operation, used):
            self.lines.append(f"{name} = Handle({data}, {self._constant(made.dtype)})")
        else:
            if counts:
                used = [self.names[id(self.given[1])]]
            method = self._constant(operation.method)
            self.lines.append(f"{name} = {method}({', '.join(['builder', *used, *options])})")

    def _data(self, operation: _Operation, used: list[str]) -> str:
        """What an operation makes, in NumPy's own words; "" for what only the interpreter says."""
        name, made, arguments = operation.name, operation.made, operation.arguments
        if name == "create_expand_dims":
            return f"{used[0]}.data.reshape({made.data.shape})"
        if operation.options:
            return ""
        if name == "create_addptr":
            width = max(1, made.get_element_ty().primitive_bitwidth // 8)
            return f"{used[0]}.data + {width} * {used[1]}.data.astype({self._constant(np.uint64)})"
        if name in _CASTS and not any(each.dtype.scalar.is_bf16() for each in (arguments[0], made)):
            return f"{used[0]}.data.astype({self._constant(made.data.dtype)})"
        if name in _EXACT and not self.calls.fits:
            function = operation.method(_FUNCTION, *arguments)
            if function(*(each.data for each in arguments)).dtype == made.data.dtype:
                return f"{self._constant(function)}({', '.join(f'{each}.data' for each in used)})"
        return ""

    def _counts(self, operation: _Operation) -> bool:
        """Whether this makes a handle of the number that the call was given."""
        number = self.given[1] if len(self.given) == 2 and type(self.given[1]) is int else None
        return number is not None and operation.name in _NUMBERS and operation.arguments == (number,)

    def _spread_anyway(self, made: Any, later: list[_Operation], result: Any) -> bool:
        """Whether this is only an operand of exact arithmetic beside others that have all of the tile."""
        users = [o for o in later if any(argument is made for argument in o.arguments)]
        return not (
            any(part.handle is made for part in _parts(result))
            or any(o.name == "create_broadcast" for o in later)
            or any(o.name not in _EXACT or not _has_whole(o, made) for o in users)
        )

    def _give(self, made: Any) -> None:
        """Write what the call gives."""
        if made is None:
            self.lines.append("return None")
            return
        names = []
        for number, part in enumerate(_parts(made)):
            if type(part) is not self.calls.tensor or id(part.handle) not in self.names:
                raise _Unknown
            kept = self._constant({name: value for name, value in vars(part).items() if name != "handle"})
            names.append(f"t{number}")
            self.lines.append(f"t{number} = new(Tensor)")
            self.lines.append(f"t{number}.__dict__ = {{**{kept}, 'handle': {self.names[id(part.handle)]}}}")
        several = isinstance(made, tuple)
        self.lines.append(f"return ({', '.join(names)},)" if several else f"return {names[0]}")

    def _refer(self, value: Any) -> str:
        if isinstance(value, self.calls.handle):
            if id(value) not in self.names:
                raise _Unknown
            return self.names[id(value)]
        if isinstance(value, (list, tuple)) and any(isinstance(item, self.calls.handle) for item in value):
            raise _Unknown
        return self._constant(value)

    def _constant(self, value: Any) -> str:
        name = f"c{len(self.values)}"
        self.values[name] = value
        if isinstance(value, self.calls.handle):
            self.names[id(value)] = name
        return name


def _has_whole(operation: _Operation, made: Any) -> bool:
    """Whether an operation on `made` has another operand of its shape."""
    return any(a.data.shape == made.data.shape and a is not made for a in operation.arguments)


def _parts(made: Any) -> tuple[Any, ...]:
    return made if isinstance(made, tuple) else () if made is None else (made,)

"""What the interpreter of Triton 3.2, on which forks still stand, has otherwise than that of today's Triton."""

from __future__ import annotations

import contextlib
from typing import Any


def is_older(tl: Any) -> bool:
    """Whether semantics are functions of a module there, and no class yet."""
    return not hasattr(tl.semantic, "TritonSemantic")


def to_tensor(tl: Any, interpreter: Any, value: Any) -> Any:
    """A number or a tensor as a tensor of the interpreter."""
    if is_older(tl):
        return tl.semantic.to_tensor(value, interpreter.interpreter_builder)
    return tl.semantic.TritonSemantic(interpreter.interpreter_builder).to_tensor(value)


def adapt(interpreter: Any, tl: Any) -> None:
    """Give an older interpreter the forms of today's; leaves today's as it is."""
    if not is_older(tl):
        return
    _unpack_what_is_one(interpreter.ReduceOps)
    _keep_conditions(interpreter.InterpreterBuilder)
    _join_floats(interpreter)
    interpreter.interpreter_builder.codegen_fns["min_dot_size"] = lambda *_: (1, 1, 1)
    interpreter.InterpreterBuilder.get_int1_ty = lambda self: tl.int1
    patch = interpreter._patch_lang
    known: dict[int, Any] = {}  # what functions see of the language, which stays patched from the first call on

    def patched(function: Any) -> Any:
        seen = function.__globals__
        if known.setdefault(id(seen), None) is not seen:
            patch(function)
            known[id(seen)] = seen
        scope = contextlib.ExitStack()
        scope.restore = scope.close  # type: ignore[attr-defined]
        return scope

    interpreter._patch_lang = patched


def _unpack_what_is_one(operations: Any) -> None:
    """Let a reduction of one value give that, and no list of it."""
    reduce = operations.generic_reduce

    def generic_reduce(self: Any, inputs: Any) -> Any:
        made = reduce(self, inputs)
        return made[0] if len(made) == 1 else tuple(made)

    operations.generic_reduce = generic_reduce


def _keep_conditions(builder: Any) -> None:
    """Let a condition that is spread over a tile stay one: what it compared is noted of it as its dtype."""
    spread = builder.create_splat

    def create_splat(self: Any, arg: Any, shape: Any) -> Any:
        made = spread(self, arg, shape)
        made.data = made.data.astype(bool) if arg.data.dtype == bool else made.data
        return made

    builder.create_splat = create_splat


def _join_floats(interpreter: Any) -> None:
    """Let floats be joined in memory by their maximum or minimum, which it does with whole numbers alone."""
    numpy, memory, operations = interpreter.np, interpreter._interpreter, interpreter._ir.ATOMIC_OP
    join = interpreter.InterpreterBuilder.create_atomic_rmw
    functions = {operations.MAX: numpy.maximum, operations.MIN: numpy.minimum}

    def create_atomic_rmw(self: Any, operation: Any, pointers: Any, values: Any, mask: Any, *order: Any) -> Any:
        function = functions.get(operation)
        if function is None or values.data.dtype.kind != "f":
            return join(self, operation, pointers, values, mask, *order)
        meant = mask.data.astype(bool)
        places, which = numpy.unique(pointers.data[meant], return_inverse=True)
        every = numpy.ones(places.shape, bool)
        before = memory.load(places, every, numpy.zeros(places.shape, values.data.dtype), values.data.dtype)
        after = before.copy()
        function.at(after, which, values.data[meant])
        memory.store(places, after, every)
        found = numpy.zeros_like(values.data)
        found[meant] = before[which]
        return interpreter.TensorHandle(found, values.dtype.scalar)

    interpreter.InterpreterBuilder.create_atomic_rmw = create_atomic_rmw

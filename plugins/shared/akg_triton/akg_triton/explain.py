"""From Triton's messages to what must change, for people and for models that write such code."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from akg_core.plugin import Advice, explained

# Patterns of messages, and the advice that helps; groups of the pattern may stand in the advice.
_COMPILER = {
    r"arange's range must be a power of 2|arange.* power of 2": (
        "tl.arange needs a power of two: take triton.next_power_of_2 of the size, and mask the lanes beyond it."
    ),
    r"[Ss]hape element \d+ must be a power of 2": "Every dimension of a tile is a power of two: pad it, and mask.",
    r"numel \((?P<count>\d+)\) exceeds triton maximum tensor numel": (
        "A tile holds at most 1048576 elements: make it smaller, or loop over parts of it."
    ),
    r"Cannot make_shape_compatible|incompatible dimensions": (
        "Tiles of these shapes do not broadcast: add dimensions by [:, None] or [None, :], in one order of axes."
    ),
    r"Loop-carried variable (?P<name>\w+) has initial type (?P<a>\S+) but is re-assigned to (?P<b>[^\s!]+)": (
        "Start {name} with the shape and dtype that the loop gives it: tl.zeros or tl.full with that dtype."
    ),
    r"Mismatched type for (?P<name>\w+) between then block .* and else block": (
        "Give {name} the same shape and dtype in both branches."
    ),
    r"(?P<name>\w+) is not defined": "Define {name} before this line; a kernel sees arguments and module-level names.",
    r"must be same dtype": "Convert one operand by .to(dtype): tl.dot takes equal dtypes.",
    r"Input shapes should have M >= \d+, N >= \d+ and K >= (?P<k>\d+)": (
        "tl.dot needs at least {k} elements along the contracted dimension: pad the tile, with zeros."
    ),
    r"Did you forget to add @triton\.jit|Unsupported function referenced": (
        "A function that a kernel calls needs @triton.jit too; torch, math and NumPy are not there inside of it."
    ),
    r"Cannot access global variable (?P<name>\w+)": (
        "Pass {name} as an argument, or make it a constant of the module: {name} = tl.constexpr(…)."
    ),
    r"module 'triton.language' has no attribute '(?P<name>\w+)'": (
        "There is no tl.{name}: the api page names what there is; many functions are in libdevice."
    ),
    r"unsupported AST node type: (?P<name>\w+)": (
        "A kernel cannot hold this statement ({name}): the language page says what it may hold."
    ),
    r"Boolean value of Tensor": "`if` takes a scalar: use a mask or tl.where for a tile.",
    r"Unsupported ptr type": ("A pointer is expected: pass a tensor there, in the order of the kernel's arguments."),
    r"cannot change total number of elements": "A reshape keeps the count; tl.broadcast_to repeats elements.",
    r"`return` statements inside": "Guard the rest of the loop's body with `if` in place of a return.",
    r"cannot be provided without `mask`": "Give the mask too.",
    r"Value argument cannot be block type": "Add a tile of offsets to the pointer, one for each value.",
    r"unsupported tensor index|__setitem__ is not supported": (
        "A tile has no single elements: select with tl.where, and reduce."
    ),
    r"arguments must be of type tl.constexpr": "Make the size a tl.constexpr argument, and loop over the rest.",
    r"at 0:\d+.*constexpr|cannot be (?:re)?assigned.*constexpr|constexpr.*re-?assign": (
        "A tl.constexpr keeps its value: use another name."
    ),
    r"needs (?P<need>\d+) bytes of shared memory; (?P<arch>\w+) has (?P<room>\d+)": (
        "Make the tiles of the product smaller, or use fewer stages."
    ),
    r"took more than \d+ s": "Write out fewer turns (tl.static_range, loop_unroll_factor), or use smaller tiles.",
}
_RUNTIME = {
    r"out of resource: shared memory": "Make the tiles of the product smaller, or use fewer stages.",
    r"out of resource: (?:threads|registers)": "Use fewer warps, or smaller tiles.",
    r"timed out": "It ran too long: look for a loop whose bound is wrong, or programs that wait for each other.",
}


def explain(
    log: str, compiler: Mapping[str, str] = MappingProxyType({}), runtime: Mapping[str, str] = MappingProxyType({})
) -> tuple[Advice, ...]:
    """Advice for each message of the compiler in `log`, else for what the runtime said, at the places named.

    `compiler`, `runtime`: rules of a chip's own, as `akg_core.plugin.advice_on` takes them.
    """
    return explained(log, "Triton", {**_COMPILER, **compiler}, {**_RUNTIME, **runtime})

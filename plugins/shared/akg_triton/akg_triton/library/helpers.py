"""Functions that a kernel file defines when its kernels call them. This file is read as text, never imported."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def maximum(a, b):
    """The larger; NaN if either is NaN."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def minimum(a, b):
    """The smaller; NaN if either is NaN."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def bits(x):
    """The bits of a float as an int of its width."""
    if x.dtype == tl.float64:
        return x.to(tl.int64, bitcast=True)
    else:
        return x.to(tl.int32, bitcast=True)


@triton.jit
def from_bits(x):
    """The float whose bits an int of its width has."""
    if x.dtype == tl.int64:
        return x.to(tl.float64, bitcast=True)
    else:
        return x.to(tl.float32, bitcast=True)


@triton.jit
def narrowed(bits):
    """The f32 nearest to an f64 of these bits, the even one of two. What is below all normal f32 is rounded there."""
    sign = (bits >> 32).to(tl.int32) & -2147483648
    size = bits & 9223372036854775807
    exponent = (size >> 52).to(tl.int32) - 896
    drop = (29 + tl.minimum(tl.maximum(1 - exponent, 0), 30)).to(tl.int64)
    whole = (size & 4503599627370495) | 4503599627370496
    kept = (whole + (1 << (drop - 1)) - 1 + ((whole >> drop) & 1)) >> drop
    made = kept.to(tl.int32) + (tl.minimum(tl.maximum(exponent, 1), 255) - 1) * 8388608
    made = tl.where(size > 9218868437227405312, 2143289344, tl.minimum(made, 2139095040))
    return (made | sign).to(tl.float32, bitcast=True)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def smaller(a, b):
    return tl.minimum(a, b)


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def argmax(a, i, b, j):
    """The larger with its position: the first of equals; a NaN counts as largest."""
    first = (a > b) | ((a != a) & (b == b)) | (((a == b) | ((a != a) & (b != b))) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def argmin(a, i, b, j):
    """The smaller with its position: the first of equals; a NaN counts as smallest."""
    first = (a < b) | ((a != a) & (b == b)) | (((a == b) | ((a != a) & (b != b))) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def argmax_along(t, at, axis: tl.constexpr):
    """Where the largest is along an axis: the first of equals; a NaN counts as largest."""
    best = tl.expand_dims(tl.reduce(t, axis, maximum), axis)
    return tl.reduce(tl.where((t == best) | (t != t), at, 2147483647), axis, smaller)


@triton.jit
def argmin_along(t, at, axis: tl.constexpr):
    """Where the smallest is along an axis: the first of equals; a NaN counts as smallest."""
    best = tl.expand_dims(tl.reduce(t, axis, minimum), axis)
    return tl.reduce(tl.where((t == best) | (t != t), at, 2147483647), axis, smaller)


@triton.jit
def sigmoid(x):
    return 1.0 / (1.0 + libdevice.exp(-x))


@triton.jit
def silu(x):
    return x / (1.0 + libdevice.exp(-x))


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + libdevice.erf(x * 0.7071067811865476))


@triton.jit
def gelu_tanh(x):
    return 0.5 * x * (1.0 + libdevice.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


@triton.jit
def softplus(x):
    return libdevice.log1p(libdevice.exp(-tl.abs(x))) + maximum(x, 0.0)


@triton.jit
def remainder(a, b):
    """The remainder with the sign of b."""
    r = libdevice.fmod(a, b)
    return tl.where((r != 0.0) & ((r < 0.0) != (b < 0.0)), r + b, r)


@triton.jit
def floor_quotient(a, b):
    """a / b rounded down, exact where the quotient is."""
    r = libdevice.fmod(a, b)
    q = (a - r) / b
    q = tl.where((r != 0.0) & ((r < 0.0) != (b < 0.0)), q - 1.0, q)
    whole = tl.floor(q)
    return tl.where(b == 0.0, a / b, tl.where(q - whole > 0.5, whole + 1.0, whole))


@triton.jit
def floor_div(a, b):
    """Integer division that rounds down."""
    q, r = a // b, a % b
    return tl.where((r != 0) & ((r < 0) != (b < 0)), q - 1, q)


@triton.jit
def floor_mod(a, b):
    """The remainder with the sign of b."""
    r = a % b
    return tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)


@triton.jit
def int_power(a, b):
    """a to the power b, wrapping; b is not negative."""
    power = a * 0 + b * 0 + 1
    for _ in tl.static_range(6):
        power = tl.where((b & 1) != 0, power * a, power)
        a = a * a
        b = b >> 1
    return power


@triton.jit
def grid_barrier(arrived, members):
    """Wait until all members of a group of programs have come here; what each wrote before, all can read after."""
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="release")
    while tl.atomic_add(arrived, 0, sem="acquire") < members:
        pass
    tl.debug_barrier()


@triton.jit
def uniform(seed, index):
    """f32 in [0, 1) from Philox4x32-10 with key `seed` and counter `index`: the 24 high bits of the first word."""
    seed = tl.cast(seed, tl.int64)
    index = tl.cast(index, tl.int64)
    low = tl.cast(index & 0xFFFFFFFF, tl.uint32)
    high = tl.cast((index >> 32) & 0xFFFFFFFF, tl.uint32)
    word, _, _, _ = tl.philox(seed, low, high, low * 0, low * 0)
    return (word >> 8).to(tl.float32) * 5.9604644775390625e-08


@triton.jit
def round_tf32(x):
    """x to the ten bits of tf32's fraction, to nearest, ties away from zero."""
    bits = (x.to(tl.int32, bitcast=True) + 0x1000) & -0x2000
    return tl.where(tl.abs(x) < float("inf"), bits.to(tl.float32, bitcast=True), x)


@triton.jit
def sides(place: tl.constexpr, dims: tl.constexpr):
    """Which of the two places along one of so many dimensions is the second."""
    return tl.reshape(tl.arange(0, 2), [1] * place + [2] + [1] * (dims - place - 1)) != 0


@triton.jit
def exchanged(cube, falls, place: tl.constexpr, dims: tl.constexpr):
    """Ints of two places along each dimension, those along one of these in order: the larger first where it `falls`."""
    other = cube ^ tl.xor_sum(cube, place, True)
    return tl.where((cube > other) ^ falls ^ sides(place, dims), other, cube)


@triton.jit
def exchanged_within(cube, falls, place: tl.constexpr, dims: tl.constexpr):
    """The same where a thread has both, which then compares them once."""
    other, second = cube ^ tl.xor_sum(cube, place, True), sides(place, dims)
    more = tl.where(second, other, cube) > tl.where(second, cube, other)
    return tl.where(more ^ falls, other, cube)


@triton.jit
def in_order(t, bits: tl.constexpr, dims: tl.constexpr, free: tl.constexpr):
    """2^bits ints along the last dimension, the least first, by a bitonic network; 2^dims ints are in the tile.

    The network compares near places oftenest, so these are what a thread holds: lanes of a tile fill threads first, and
    the last `free` bits of a lane's number count most while it runs. Where elements come from is all the same, so that
    those of a tile of one row may be in any order, whatever was read at once.
    A loop over what goes beyond a thread keeps the code within the memory for instructions.
    """
    near: tl.constexpr = bits - free
    cube = tl.reshape(t, [2] * dims, can_reorder=bits == dims)
    for stage in tl.static_range(1, near):
        down = sides(dims - 1 - free - stage, dims)
        for step in tl.static_range(1, stage + 1):
            cube = exchanged_within(cube, down, dims - 1 - free - stage + step, dims)
    across = tl.reshape(tl.arange(0, 2**free), [1] * (dims - free) + [2] * free)
    for level in range(max(near, 1), bits + 1):
        falls = ((across >> (level - near)) & 1) != 0
        for far in tl.static_range(free):
            if level > bits - 1 - far:
                cube = exchanged(cube, falls, dims - free + far, dims)
        for far in tl.static_range(near):
            cube = exchanged_within(cube, falls, dims - bits + far, dims)
    apart = tl.reshape(cube, [2 ** (dims - bits), 2**near, 2**free])
    return tl.reshape(tl.permute(apart, [0, 2, 1]), t.shape)


@triton.jit
def merged(t, bits: tl.constexpr, dims: tl.constexpr):
    """2^bits ints along the last dimension, the least first, of such as rise and then fall."""
    cube = tl.reshape(t, [2] * dims)
    for far in tl.static_range(bits):
        cube = exchanged(cube, False, dims - bits + far, dims)
    return tl.reshape(cube, t.shape)

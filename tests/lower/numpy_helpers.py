"""What printed NumPy calls: dtypes and functions that NumPy lacks, places that may not exist, programs that meet."""

import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])


def bf16(x):
    """Rounded to the bits of bf16, to nearest even, in f32."""
    wide = np.asarray(x, np.float32)
    bits = wide.view(np.uint32)
    kept = ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(wide), kept, wide)


def tf32(x):
    """Rounded to the bits of tf32, ties away from zero, in f32."""
    kept = ((np.asarray(x, np.float32).view(np.int32) + 0x1000) & ~0x1FFF).view(np.float32)
    return np.where(np.isfinite(x), kept, x)


def rand(seed, index):
    """Uniform f32 in [0, 1): the high bits of the first word of Philox4x32-10."""
    index = np.asarray(index).astype(np.uint64)
    low = np.uint64(0xFFFFFFFF)
    keys = [np.asarray(seed).astype(np.uint64) & low, np.asarray(seed).astype(np.uint64) >> np.uint64(32)]
    words = [index & low, index >> np.uint64(32), index * np.uint64(0), index * np.uint64(0)]
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        shifted = np.uint64(32)
        words = [
            (second >> shifted) ^ words[1] ^ keys[0],
            second & low,
            (first >> shifted) ^ words[3] ^ keys[1],
            first & low,
        ]
        keys = [(keys[0] + np.uint64(0x9E3779B9)) & low, (keys[1] + np.uint64(0xBB67AE85)) & low]
    return (words[0] >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)


def bits(x):
    """The bits of a float as an int of its width."""
    x = np.asarray(x)
    return x.view(np.int64 if x.dtype == np.float64 else np.int32)


def from_bits(x):
    """The float whose bits an int of its width has."""
    return x.view({4: np.float32, 8: np.float64}[x.dtype.itemsize])


def load(tensor, indices, mask, other):
    """What lies at these places where the mask holds, elsewhere `other`."""
    mask, *indices = np.broadcast_arrays(mask, *indices)
    if not tensor.size:
        return np.broadcast_to(other, mask.shape).copy()
    return np.where(mask, tensor[tuple(np.where(mask, i, 0) for i in indices)], other)


def store(tensor, indices, mask, value):
    """Write a value to these places where the mask holds."""
    mask, value, *indices = np.broadcast_arrays(mask, value, *indices)
    tensor[tuple(i[mask] for i in indices)] = value[mask]


def atomic(function, tensor, indices, mask, value):
    """Combine a value into these places where the mask holds."""
    mask, value, *indices = np.broadcast_arrays(mask, value, *indices)
    function.at(tensor, tuple(i[mask] for i in indices), value[mask])


def together(programs):
    """Run programs from collective to collective; each is sent what all of them have."""
    functions = {"all_reduce_sum": np.add, "all_reduce_max": np.maximum, "all_reduce_min": np.minimum}
    parts = [next(program, None) for program in programs]
    while parts[0] is not None:
        function, dtype = parts[0][:2]
        combine = functions.get(function)
        met = combine and combine.reduce([part[2] for part in parts], axis=0, dtype=dtype)
        parts = [next_part(program, met) for program in programs]


def next_part(program, met):
    try:
        return program.send(met)
    except StopIteration:
        return None

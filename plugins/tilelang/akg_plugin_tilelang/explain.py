"""From messages to what must change: those of TileLang, of CUDA's compiler and of GPUs."""

from __future__ import annotations

from akg_core.plugin import Advice, explained

_COMPILER = {
    r"Cannot convert type boolx\d+ to CUDA type": "Keep truths as bytes or int32: TileLang has no vectors of bool.",
    r"Layout infer conflict": "Two loops want one fragment laid out differently: copy it through T.alloc_shared.",
    r"ReduceOp cannot lower a layout": "Copy what an earlier reduction left to T.alloc_shared, and reduce that.",
    r"Invalid reduce output shape": "The result of T.reduce_* has the source's shape without `dim`, or (1,).",
    r"Target context required": "Call tilelang.lower within the target's context: `with target:`.",
    r"CLI target string form": 'Give the target as a dict: {"kind": "cuda", "arch": "sm_90a"}.',
    r"name '(?P<name>\w+)' is not defined": "Define {name} before this line: a kernel sees arguments and the module.",
    r"has no attribute '(?P<name>\w+)'": "There is no {name} in this TileLang: the api page names what there is.",
    r"identifier \"(?P<name>\w+)\" is undefined": "CUDA has no {name}: T.call_pure_extern takes CUDA's functions only.",
    r"kernel\.py:\d+: (?:unexpected indent|invalid syntax|expected )": "Mend Python's syntax at this line.",
    r"needs (?P<need>\d+) bytes of shared memory": "Make the tiles in T.alloc_shared smaller, or use fewer stages.",
    r"took more than \d+ s": "Lowering took too long: know sizes ahead where you can, or use smaller tiles.",
    r"ptxas (?:error|fatal)": "ptxas refused the kernel: most often for too much shared memory or too many registers.",
}
_RUNTIME = {
    r"is outside of a dimension of \d+": "Mask the access: an index that is not proved inside needs T.if_then_else.",
    r"misaligned address": "A tensor begins beside a multiple of 16 bytes: launch the kernel with a copy of it.",
    r"illegal memory access": "A load or a store is outside of its tensor: mask every index that is not proved inside.",
    r"the simulation knows no (?P<name>\S+)": "{name} runs on a GPU only: the api page names what is simulated.",
    r"timed out": "It ran too long: look for a loop whose bound is wrong.",
}


def explain(log: str) -> tuple[Advice, ...]:
    """Advice for each message of the compiler in `log`, else for what the runtime said, at the places named."""
    return explained(log, "TileLang", _COMPILER, _RUNTIME)

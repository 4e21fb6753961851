"""What compilers and their HIVM say is read: memory that was planned, cores, what does not fit, what to change.

The texts were written by bishengir-compile 1.2.0 and the triton-adapter-opt of triton-ascend 3.2.0.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from akg_plugin_triton_ascend.ahead import OUT_OF_TIME, first_message, within
from akg_plugin_triton_ascend.explain import explain
from akg_plugin_triton_ascend.hivm import cores, planned
from akg_plugin_triton_ascend.shortages import shortage

OVERFLOW = """\
loc("compiled/0_dot/linalg.mlir":2:3): error: ub overflow, requires 4456448 bits while 1572864 bits available! \
(possible reason: tiling basic block is too large or block number is more than what user expect)
"""
CRASH = """\
triton-adapter-opt: /usr1/02/workspace/j_a/triton-ascend/lib/Utils/InterleaveOptimization.cpp:113:\
 auto mlir::triton::recountReinterpretCastOffset(OpFoldResult): Assertion `getInt() == 1 && "Arith::constant value of \
addi's operand must be 1 when " "calculate deinterleave offset"' failed.
PLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/ and include the crash backtrace.
 #0 0x0000564d30ac60c8 (/x/triton-adapter-opt+0x203e0c8)
"""
STATIC = """\
triton-adapter-opt: /usr1/02/workspace/j_a/triton-ascend/lib/Utils/InterleaveOptimization.cpp:127:\
 std::pair<OpFoldResult, IndexMode> mlir::triton::recountReinterpretCastOffset(OpFoldResult, Builder &):\
 Assertion `(intOffset == 0 || intOffset == 1)' failed.
"""
UNREGISTERED = (
    'loc("linalg.mlir":72:28): error: operation being parsed with an unregistered dialect. If this is intended, please'
)
MIXED = """\
  func.func @linear_mix_aic(%arg0: i64) attributes {hivm.func_core_type = #hivm.func_core_type<AIC>} {
    %c8192_i64 = arith.constant 8192 : i64
    %c0_i64 = arith.constant 0 : i64
    %0 = hivm.hir.pointer_cast(%c8192_i64) : memref<4x4x16x8xf32, #hivm.address_space<cbuf>>
    %1 = hivm.hir.pointer_cast(%c0_i64) : memref<4x4x16x16xf32, #hivm.address_space<cc>>
  }
  func.func @linear_mix_aiv(%arg0: i64) attributes {hivm.func_core_type = #hivm.func_core_type<AIV>} {
    %c8192_i64 = arith.constant 512 : i64
    %c64_i64 = arith.constant 64 : i64
    %0 = hivm.hir.pointer_cast(%c8192_i64) : memref<32x64xf16, #hivm.address_space<ub>>
    %1 = hivm.hir.pointer_cast(%c64_i64) : memref<100xi1, strided<[1]>, #hivm.address_space<ub>>
  }
"""
LAUNCH = {"kernel": "dot_part1", "of_sketch": "dot"}


def test_memory_is_what_the_last_buffer_of_each_level_ends_at() -> None:
    assert planned(MIXED) == {"L1": 8192 + 4 * 4 * 16 * 8 * 4, "L0C": 4 * 4 * 16 * 16 * 4, "UB": 512 + 32 * 64 * 2}
    assert cores(MIXED) == "cube and vector" and cores(MIXED.replace("_mix_", "_")) == "cube"
    assert cores("func.func @add() {}") == "vector"


def test_what_does_not_fit_is_a_shortage_in_bytes() -> None:
    found = shortage(LAUNCH, OVERFLOW)
    assert found is not None
    assert str(found) == "dot needs 557056 of 196608 bytes of the unified buffer"


def test_only_computing_takes_a_compilers_time(tmp_path: Path) -> None:
    assert within(1, ["bash", "-c", "sleep 1.2; echo why >&2; exit 3"], tmp_path) == (3, "why\n")
    endless = "while :; do :; done"
    assert within(1, ["bash", "-c", endless], tmp_path)[0] == OUT_OF_TIME
    assert within(1, ["bash", "-c", f"trap 'exec sleep 600' XCPU; {endless}"], tmp_path)[0] == OUT_OF_TIME


def test_compiling_too_long_is_one_too() -> None:
    assert (
        str(shortage(LAUNCH, "bishengir-compile took more than 40 s")) == "dot needs more than 40 seconds of compiling"
    )


def test_another_fault_is_none() -> None:
    assert shortage(LAUNCH, first_message(CRASH)) is None and shortage(LAUNCH, UNREGISTERED) is None


def test_a_crash_is_told_without_its_stack_and_the_paths_of_another_machine() -> None:
    said = first_message(CRASH)
    assert said.startswith("InterleaveOptimization.cpp:113: ") and "/usr1" not in said and "0x0000" not in said


@pytest.mark.parametrize(
    ("log", "advice"),
    [
        (OVERFLOW, "unified buffer"),
        (first_message(CRASH), "multiply another constant"),
        (first_message(STATIC), "multiply another constant"),
        (UNREGISTERED, "tl.reduce"),
    ],
)
def test_messages_become_advice(log: str, advice: str) -> None:
    (found,) = explain(log)
    assert advice in found.advice

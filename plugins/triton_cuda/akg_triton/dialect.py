"""What differs in the Triton of one chip from that of another: the numbers and words that the emitter goes by."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Dialect:
    """Choices of a chip's Triton.

    `precisions`: `input_precision` of `tl.dot` on f32 for each precision of the language. `shared_bytes`: what one
    program may keep in shared memory, by which the stages of a pipelined loop are limited. `register_elements`: f32
    values that one warp holds comfortably. `most_warps`: of one program. `stages`: of a loop with a product. `units`:
    programs of a persistent grid. `group`: programs of a matrix product that walk through the grid together. `bulk`:
    whether the chip copies blocks of memory by descriptors. `device`: torch's name of the type of such devices.
    """

    precisions: dict[str, str] = field(default_factory=lambda: {"ieee": "ieee", "split3": "tf32x3", "fast": "tf32"})
    shared_bytes: int = 100 * 1024
    register_elements: int = 1024
    most_warps: int = 16
    stages: int = 3
    units: int = 128
    group: int = 8
    bulk: bool = False
    device: str = "cuda"

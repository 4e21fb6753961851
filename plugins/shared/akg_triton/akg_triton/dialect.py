"""What differs in the Triton of one chip from that of another: numbers, words, and the Python that launches kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from akg_core.plugin.resources import ProgramLimits
from akg_core.plugin.tile import DotStrategy

WAYS = {
    "ieee": DotStrategy(exact=True),
    "bf16x3": DotStrategy(parts=2, bytes=2),
    "bf16x6": DotStrategy(parts=3, bytes=2),
    "tf32x3": DotStrategy(parts=2, bytes=4),
}
"""How a product is made, by its `input_precision`; any other one takes factors as they are."""

LAUNCHER = '''\
class _Launcher:
    """Launches a function of kernel.py, as Triton does it."""

    def __init__(self, function, **options):
        self.function, self.options = function, options

    def __call__(self, programs, tensors, numbers=()):
        self.function[(programs,)](*self.handed(tensors), *numbers, **self.options)

    def handed(self, tensors):
        return tensors
'''


@dataclass(frozen=True, slots=True)
class Dialect:
    """Choices of a chip's Triton. What is not said is said as every Triton understands it, or does without.

    Numbers. `shared_bytes`: what one program may keep in memory beside its unit, by which the stages of a pipelined
    loop are limited. `register_elements`: f32 values that one warp holds comfortably; `lanes`: threads of a warp;
    `most_warps`: of one program. `stages`: of a loop with a product; `unrolled`: turns of a counted loop that are
    written out. `units`: programs of a persistent grid. `group`: programs of a matrix product that walk through the
    grid together. `row`: lanes that a vector instruction takes of the last dimension of a tile, where there is no
    product.

    What there is. `lacks`: dtypes of the sketch language that no kernel can compute in. `warps`: whether a launch says
    how many warps a program has. `persistent`: whether every grid is launched with at most `units` programs. `pairs`:
    whether a reduction combines two values at once. `byte_products`: whether matrix units multiply i8, summed in i32.
    `branches`: whether a branch may hold a product. `lane_offsets`: whether lanes that are some places apart may begin
    at a constant; else that is added to another part of the address, or times `one`. `whole_masks`: whether the mask of
    a store beside a product has to compare every axis of the tile where it compares one. `spills`: whether a program
    that takes more than there is is only slower; where it is refused, launches are described at the sizes of all cases
    that the file has, too. `bulk`: the module of `TensorDescriptor`, where the chip copies blocks of memory by
    descriptors.

    Words of kernel.py. `precisions`: `input_precision` of `tl.dot` on f32 for each precision of the language.
    `functions`: the module of elementary functions, which has to end in "libdevice". `forms`: elementwise operations on
    floats other than f64 that are written otherwise, {0}, {1}, … being operands. `helpers`: texts in place of those of
    `library.HELPERS`, "" for what the chip has no form of. `one`: what is 1 in every launch, by which
    places of masked stores are multiplied that are two apart for two lanes, where a compiler fails to join such stores,
    and the numbers that are added to lanes two places apart; by it no address begins at a number of places before its
    tensor.
    `barrier`: the statement by which the threads of a program wait for each other. `load_once`, `store_past`:
    options of loads and stores that leave the caches alone.

    Python of model_new.py. `device`: torch's name of the type of such devices. `launcher`: a class like `LAUNCHER`.
    `cooperative`: a function `_together(device, programs, warps)` that refuses a device which may not run so
    many programs at the same time; without it no programs wait for each other.
    """

    device: str
    shared_bytes: int = 100 * 1024
    register_elements: int = 1024
    lanes: int = 32
    most_warps: int = 16
    stages: int = 3
    unrolled: int = 4
    units: int = 128
    group: int = 8
    row: int = 1
    lacks: tuple[str, ...] = ()
    warps: bool = True
    persistent: bool = False
    pairs: bool = True
    byte_products: bool = False
    branches: bool = True
    lane_offsets: bool = True
    whole_masks: bool = False
    spills: bool = True
    bulk: str = ""
    precisions: Mapping[str, str] = field(default_factory=lambda: {"ieee": "ieee", "split3": "tf32x3", "fast": "tf32"})
    functions: str = "triton.language.extra.libdevice"
    forms: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, str] = field(default_factory=dict)
    one: str = ""
    barrier: str = "tl.debug_barrier()"
    load_once: str = ""
    store_past: str = ""
    launcher: str = LAUNCHER
    cooperative: str = ""

    @property
    def limits(self) -> ProgramLimits:
        """What one program has."""
        ways = {precision: WAYS.get(word, DotStrategy()) for precision, word in self.precisions.items()}
        numbers = (self.shared_bytes, self.lanes, self.most_warps, self.register_elements, self.stages)
        return ProgramLimits(*numbers, self.unrolled, ways)

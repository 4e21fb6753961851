"""The records of how a module is called: its arguments and parameters, and how its results are packed.

They cross the boundary between core and plugins with all others of `akg_core.records`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from akg_core.record import Record

Dim = int | str  # a fixed size, or an expression over named sizes such as "s0" or "2*s0 + 1"


class Argument(Record):
    """One value that `forward` takes.

    `tensor`: a tensor of `dtype` and `shape`. `number`: a Python float handed to kernels as a zero-dimensional f64
    tensor. `size`: an int that is no value but a size, which may vary: `shape` has it as the only dimension of a tensor
    of booleans that nobody reads. `constant`: any other Python value, baked into the kernel; another value at run time
    is refused. `path`: how it is reached in a collection, ("xs", 1) is xs[1]; `given`: by get_inputs, not by default;
    `mutated`: in place.
    `value` of a tensor of whole numbers: what it holds, as nested lists, where sizes or turns of forward follow
    from that; a kernel refuses other content.
    `pairs`: `ModelNew` takes a complex tensor, of which kernels take `torch.view_as_real`: `dtype` and `shape` are its.
    `order`: dims from outermost to innermost in memory, if the example's does not lie row by row.
    """

    name: str
    kind: Literal["tensor", "number", "size", "constant"]
    dtype: str = ""
    shape: tuple[Dim, ...] = ()
    value: Any = None
    path: tuple[int | str, ...] = ()
    given: bool = True
    mutated: bool = False
    pairs: bool = False
    order: tuple[int, ...] = ()

    @property
    def is_held(self) -> bool:
        """Whether this is a tensor that kernels are made for the content of."""
        return self.kind == "tensor" and self.value is not None


class Parameter(Record):
    """A parameter, buffer or lifted constant, by qualified name. `mutated`: by forward. `pairs`, `order`: as above.

    `numbers`: a tensor that forward makes of Python's own, `value` as nested lists, which the module does not hold.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    kind: Literal["parameter", "buffer", "constant", "numbers"] = "parameter"
    value: Any = None
    mutated: bool = False
    pairs: bool = False
    order: tuple[int, ...] = ()


NAMED_IN_REFERENCE = "_REFERENCE."
"""Before the name of a type of the reference file in generated modules."""


class Packing(Record):
    """How flat outputs are packed: a bare tensor, what is the same in every call, or a tuple, list or dict (`keys`).

    `constant`: what is the same in every call, a number, a string or None, as Python text. `named`: the named tuple
    that a tuple is, of PyTorch's, "torch.return_types.min", or of the reference, "_REFERENCE.State", or the dataclass
    that a dict is. `parts`: how each part is packed, where some are no tensors; outputs are counted in order all the
    same.
    """

    packing: Literal["tensor", "constant", "tuple", "list", "dict"] = "tensor"
    constant: str = "None"
    keys: tuple[str, ...] = ()
    named: str = ""
    parts: tuple[Packing, ...] = ()


class Interface(Packing):
    """How `ModelNew.forward` is called and what it gives back.

    `handed`: outputs that are updated arguments, by their place among the tensors.
    `guards`: what must hold of named sizes, none of which is 0, for the graph to be forward: "((s0 % 2) == 0)".
    `absent`: how many leading dims tensors of most dims may lack, and results then too: forward works by elements.
    `empty`: a size may be 0, and results are empty then, for the same reason.
    `asked`: what must hold of float arguments, by their names: "(p > 0.0)".
    `seeded`: forward draws random numbers; the program's last input is then the seed of the call, an i64 without dims.
    `pairs`: the outputs that are complex, of which the program gives pairs. `records`: some arguments are dataclasses
    or named tuples; here they are dicts and tuples, for which callers may have either. Or results are named tuples.
    `settled`: numbers of the module that are no tensors, shapes, or tensors in lists and the like depend on the seed
    that it is constructed by, so that a kernel holds for the seed 0 alone.
    """

    arguments: tuple[Argument, ...]
    parameters: tuple[Parameter, ...] = ()
    handed: dict[int, str] = Field(default_factory=dict)
    guards: tuple[str, ...] = ()
    absent: tuple[int, ...] = ()
    empty: bool = False
    asked: tuple[str, ...] = ()
    seeded: bool = False
    pairs: tuple[int, ...] = ()
    records: bool = False
    settled: bool = False

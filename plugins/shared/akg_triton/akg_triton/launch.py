"""The Python text in model_new.py that launches Triton functions, and what a compiler must know of each launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from akg_core.plugin.lower import LOADING, TORCH_NAMES, Call, HostNames, Instance, fold, product, python_tuple, sizes_at
from akg_core.plugin.sketch import Expr, Name, Number, ast
from akg_core.plugin.tile import tiles_of
from akg_triton.dialect import Dialect
from akg_triton.emit.function import Function

_SOME = 1024  # lanes of an axis whose size nobody gives an example of
_PRELUDE = f"import sys\n\nimport triton\n\n\n{LOADING}"
_DESCRIBING = '''

class _BulkLauncher(_Launcher):
    """Hands tensors over as descriptors of their rows, from which whole blocks are copied; `blocks`: by position."""

    def __init__(self, function, blocks, **options):
        super().__init__(function, **options)
        self.blocks = blocks

    def handed(self, tensors):
        for position, tensor in enumerate(tensors):
            block = self.blocks.get(position)
            yield TensorDescriptor.from_tensor(tensor.view(-1, tensor.shape[-1]), block) if block else tensor
'''


@dataclass(frozen=True, slots=True)
class Launched:
    """What fixes the machine code of a launch: tensors, sizes, blocks (an example value) and options.

    A tensor is said by its dtype, and by a descriptor's block: "f16[128, 64]". `kernel`: which one of the sketch it is.
    """

    name: str
    kernel: str
    tensors: tuple[tuple[str, str], ...]
    sizes: tuple[str, ...]
    blocks: tuple[tuple[str, int], ...]
    warps: int
    stages: int

    def described(self) -> dict[str, Any]:
        return {
            "kernel": self.name,
            "of_sketch": self.kernel,
            "tensors": dict(self.tensors),
            "sizes": list(self.sizes),
            "constants": dict(self.blocks),
            "num_warps": self.warps,
            "num_stages": self.stages,
        }


def prelude(found: Sequence[Function], dialect: Dialect) -> str:
    """Module-level code that loads the kernels, with what launching these functions takes."""
    text = "\n\n".join([_PRELUDE, dialect.launcher, "_kernel = _kernels()\n"])
    if any(each.described for each in found):
        descriptor = f"from {dialect.bulk} import TensorDescriptor"
        text = text.replace("import triton\n", f"import triton\n{descriptor}\n", 1) + _DESCRIBING
    if any(each.members for each in found):
        text += f"\n\n{dialect.cooperative}"
    return "\n".join([text, *(_launcher(each, dialect) for each in found)])


def device_of(found: Sequence[Function], device: str) -> str:
    """Python text of the type of the devices that these functions run on: where they are interpreted, the host's."""
    return f"{device!r} if isinstance(_kernel.{found[0].name}, triton.JITFunction) else 'cpu'" if found else "None"


def _launcher(each: Function, dialect: Dialect) -> str:
    """The line that makes a function's launcher."""
    options = f"num_warps={each.warps}, " if dialect.warps else ""
    options += f"num_stages={each.stages}"
    if not each.described:
        return f"_launch_{each.name} = _Launcher(_kernel.{each.name}, {options})"
    blocks = {each.tensors.index(name): list(block) for name, block in each.described}
    return f"_launch_{each.name} = _BulkLauncher(_kernel.{each.name}, {blocks}, {options})"


def statement(each: Function, instance: Instance, call: Call, symbols: Mapping[str, int]) -> tuple[Launched, str]:
    """The lines that launch a function on torch tensors, and what it fixes; `symbols`: sizes of an example."""
    host = HostNames(call, instance)
    total = host.text(product(tiles_of(*program) for program in each.programs))
    values = [host.value(name) for name in each.sizes]
    values += [f"triton.next_power_of_2({host.text(size)})" for _, size in each.blocks]
    lines: list[str] = []
    workspaces: list[str] = []
    if each.members:
        lines.append(f"_together({call.tensors[0]}.device, {each.members}, {each.warps})")
    for workspace in each.workspaces:
        workspaces.append(f"{each.name}_{workspace.name}")
        make = "zeros" if workspace.zeroed else "empty"
        options = f"dtype=torch.{TORCH_NAMES[workspace.dtype]}, device={call.tensors[0]}.device"
        lines.append(f"{workspaces[-1]} = torch.{make}({host.text(workspace.count)}, {options})")
    blocks_of = {name: str(list(block)) for name, block in each.described}
    taken = instance.kernel.tensors
    dtypes = tuple((n, t.dtype + blocks_of.get(n, "")) for n, t in zip(each.tensors, taken, strict=True))
    dtypes += tuple((workspace.name, workspace.dtype) for workspace in each.workspaces)
    known = sizes_at(call, symbols)
    blocks = tuple((name, _lanes(size, known)) for name, size in each.blocks)
    record = Launched(each.name, instance.kernel.name, dtypes, each.sizes, blocks, each.warps, each.stages)
    count = f"min({total}, {each.most})" if each.most else total
    handed = [_handed(*each) for each in zip(call.tensors, call.kernel.tensors, taken, strict=True)]
    arguments = [count, python_tuple([*handed, *workspaces]), *([python_tuple(values)] if values else [])]
    lines.append(f"_launch_{each.name}({', '.join(arguments)})")
    return record, "\n".join(lines)


def _handed(name: str, own: ast.TensorParameter, taken: ast.TensorParameter) -> str:
    """A tensor as a function takes it: as ints, where it reads its bits alone."""
    as_bits = own.dtype != taken.dtype and taken.dtype == "i64"
    return f"{name}.view(torch.{TORCH_NAMES[taken.dtype]})" if as_bits else name


def _lanes(size: Expr, known: Mapping[str, int]) -> int:
    """Lanes for an axis of a size that varies: those of the example, some where that is not known."""

    def put(node: object) -> object:
        if isinstance(node, Name):
            value = known.get(node.id, known.get(node.id.rstrip("_")))
            return node if value is None else Number(value)
        return fold(node)

    found = ast.rewrite(size, put)
    return 1 << (max(int(found.value), 1) - 1).bit_length() if isinstance(found, Number) else _SOME

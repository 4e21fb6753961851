"""The Python text in model_new.py that launches TileLang functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from akg_cuda.chips import LANES

from akg_core.plugin.lower import LOADING, TORCH_NAMES, Call, HostNames, Instance, python_tuple

if TYPE_CHECKING:
    from akg_plugin_tilelang.emit.kernel import Function

PRELUDE = (
    """\
import sys

if importlib.util.find_spec("tilelang") is None:
    raise ImportError("This kernel needs TileLang: pip install tilelang==0.1.15")
import tilelang


"""
    + LOADING
    + '''

class _Launcher:
    """Launches a function of kernel.py; what TileLang compiled of it, for each number of lanes, is kept.

    Kernels load and store 16 bytes at once. A tensor that begins elsewhere is replaced by a copy, from which what the
    kernel wrote goes back; `written`: places of tensors that it writes.
    """

    def __init__(self, function, written):
        self.function, self.written, self.made = function, written, {}

    def __call__(self, tensors, numbers=(), lanes=()):
        made = self.made.get(lanes)
        if made is None:
            function = self.function(*lanes) if lanes else self.function
            options = dict(function.attrs.get("pass_configs", {}))
            made = self.made[lanes] = tilelang.compile(function, target="cuda", pass_configs=options)
        handed = [_handed(tensor) for tensor in tensors]
        aligned = [tensor if tensor.data_ptr() % 16 == 0 else tensor.clone() for tensor in handed]
        made(*aligned, *numbers)
        for place in self.written:
            if aligned[place] is not handed[place]:
                handed[place].detach().copy_(aligned[place])


def _handed(tensor):
    """The tensor as kernels take it: truths are bytes, a single number is a tensor of one element."""
    tensor = tensor.view(torch.uint8) if tensor.dtype == torch.bool else tensor
    return tensor if tensor.dim() else tensor.view(1)


def _lanes(size):
    return 1 << max(size - 1, 0).bit_length()


_kernel = _kernels()
'''
)
DEVICE = "'cpu' if getattr(tilelang, 'simulated', False) else 'cuda'"  # `simulate` says so where it stands in


def statement(each: Function, instance: Instance, call: Call) -> str:
    """The lines that launch a function on torch tensors."""
    host = HostNames(call, instance)
    lanes = [f"_lanes({host.text(size)})" for _, size in each.blocks]
    lines, workspaces = list[str](), list[str]()
    if each.members:
        lines.append(f"_together({call.tensors[0]}.device, {each.members}, {each.threads // LANES})")
    for workspace in each.workspaces:
        workspaces.append(f"{each.name}_{workspace.name}")
        make, kind = "zeros" if workspace.zeroed else "empty", TORCH_NAMES[workspace.dtype]
        size = ", ".join(map(host.text, workspace.dims))
        lines.append(f"{workspaces[-1]} = torch.{make}({size}, dtype=torch.{kind}, device={call.tensors[0]}.device)")
    arguments = [python_tuple([*call.tensors, *workspaces])]
    arguments += [python_tuple(map(host.value, each.sizes))] if each.sizes else []
    lines.append(f"_launch_{each.name}({', '.join(arguments)}{f', lanes={python_tuple(lanes)}' if lanes else ''})")
    return "\n".join(lines)

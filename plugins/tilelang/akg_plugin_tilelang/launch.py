"""The Python text in model_new.py that launches TileLang functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from akg_core.plugin.lower import Call, Instance
from akg_core.plugin.sketch import Expr, Name, ast, show_expression

if TYPE_CHECKING:
    from akg_plugin_tilelang.emit.kernel import Function

PRELUDE = '''\
import sys

if importlib.util.find_spec("tilelang") is None:
    raise ImportError("This kernel needs TileLang: pip install tilelang==0.1.15")
import tilelang


def _kernels():
    """The module of kernel.py, loaded from this folder under a name of its own."""
    name = f"{__name__}_kernels"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("kernel.py"))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
DEVICE = "'cpu' if getattr(tilelang, 'simulated', False) else 'cuda'"  # `simulate` says so where it stands in


def statement(each: Function, instance: Instance, call: Call) -> str:
    """The line that launches a function on torch tensors."""
    host = dict(call.sizes) | {name: show_expression(call.constants[name]) for name in instance.open}

    def python(expr: Expr) -> str:
        def put(node: object) -> object:
            if isinstance(node, Name):
                name = node.id if node.id in host else node.id.rstrip("_")
                return Name(f"({host[name]})" if not host[name].isidentifier() else host[name])
            return node

        return show_expression(ast.rewrite(expr, put))

    numbers = [host[n if n in host else n.rstrip("_")] for n in each.sizes]
    lanes = [f"_lanes({python(size)})" for _, size in each.blocks]
    arguments = [_tuple(call.tensors)] + ([_tuple(numbers)] if numbers else [])
    return f"_launch_{each.name}({', '.join(arguments)}{f', lanes={_tuple(lanes)}' if lanes else ''})"


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"

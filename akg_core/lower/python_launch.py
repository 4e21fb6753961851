"""What model_new.py has for kernels that are Python: how they are loaded, and what a launch hands over."""

from __future__ import annotations

from akg_core.lower.host.call import Call
from akg_core.lower.specialise import Instance
from akg_core.sketch.ast import Expr, Name, rewrite
from akg_core.sketch.show import show_expression

LOADING = '''\
def _kernels():
    """The module of kernel.py, loaded from this folder under a name of its own."""
    name = f"{__name__}_kernels"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("kernel.py"))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
'''


class HostNames:
    """The sizes and Consts of an instance as Python text where a call launches it; `renamed` may have changed names."""

    def __init__(self, call: Call, instance: Instance) -> None:
        constants = {name: show_expression(call.constants[name]) for name in instance.open}
        self._known = dict(call.sizes) | constants

    def value(self, name: str) -> str:
        return self._known[name if name in self._known else name.rstrip("_")]

    def text(self, expr: Expr) -> str:
        """An expression over them."""

        def put(node: object) -> object:
            if not isinstance(node, Name):
                return node
            value = self.value(node.id)
            return Name(value if value.isidentifier() else f"({value})")

        return show_expression(rewrite(expr, put))

"""The Python text in model_new.py that opens kernel.so and calls its functions."""

from __future__ import annotations

from collections.abc import Iterable

_PRELUDE = '''\
import ctypes
import sysconfig


def _open():
    """A function from a symbol of kernel.so to a callable of (pointers, sizes).

    By the pybind11 binding when it is for this Python, else by ctypes.
    """
    folder = Path(__file__).resolve().parent
    binding = folder / f"akg_binding{sysconfig.get_config_var('EXT_SUFFIX')}"
    if binding.exists():
        spec = importlib.util.spec_from_file_location("akg_binding", binding)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.Library(str(folder / "kernel.so")).kernel
    library = ctypes.CDLL(str(folder / "kernel.so"))

    def kernel(symbol):
        function = getattr(library, symbol)

        def call(tensors, sizes):
            function((ctypes.c_void_p * len(tensors))(*tensors), (ctypes.c_int64 * len(sizes))(*sizes))

        return call

    return kernel


_kernel = _open()
'''


def prelude(symbols: Iterable[str]) -> str:
    """Module-level code that binds each symbol of kernel.so to a Python name, `_` before it; none for no symbols."""
    bound = "".join(f'_{symbol} = _kernel("{symbol}")\n' for symbol in symbols)
    return _PRELUDE + bound if bound else ""


def statement(symbol: str, tensors: Iterable[str], sizes: Iterable[str]) -> str:
    """The line that launches `symbol` on torch tensors and sizes, given as Python expressions."""
    pointers = ", ".join(f"{tensor}.data_ptr()" for tensor in tensors)
    return f"_{symbol}([{pointers}], [{', '.join(sizes)}])"

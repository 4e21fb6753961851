"""The Python text in model_new.py that opens kernel.so and calls its functions."""

from __future__ import annotations

from collections.abc import Iterable

from akg_core.plugin.lower import TURN

_PRELUDE = '''\
import ctypes
import sysconfig


class _Library:
    """kernel.so by ctypes, where there is no pybind11 binding for this Python."""

    def __init__(self, path):
        self._library = ctypes.CDLL(path)

    def kernel(self, symbol):
        """A function as a callable of (pointers, sizes)."""
        function = getattr(self._library, symbol)

        def call(tensors, sizes):
            function((ctypes.c_void_p * len(tensors))(*tensors), (ctypes.c_int64 * len(sizes))(*sizes))

        return call

    def turns(self, turns, turn, together):
        """Make the launches of all these turns: (kernel, pointers, sizes) each, of `turn` of the first two, on which
        pointers go on as from one to the other. `together`: threads may be at it from the first turn to the last."""
        if turns:
            first, second = turn(turns[0]), turn(turns[min(1, len(turns) - 1)])
        for number in range(len(turns)):
            for (kernel, begins, sizes), (_, nexts, _) in zip(first, second):
                kernel([begin + number * (then - begin) for begin, then in zip(begins, nexts)], sizes)


def _open():
    folder = Path(__file__).resolve().parent
    path, binding = str(folder / "kernel.so"), folder / f"akg_binding{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not binding.exists():
        return _Library(path)
    spec = importlib.util.spec_from_file_location("akg_binding", binding)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Library(path)


_library = _open()
'''


def prelude(symbols: Iterable[str]) -> str:
    """Module-level code that binds each symbol of kernel.so to a Python name, `_` before it; none for no symbols."""
    bound = "".join(f'_{symbol} = _library.kernel("{symbol}")\n' for symbol in symbols)
    return _PRELUDE + bound if bound else ""


def statement(symbol: str, tensors: Iterable[str], sizes: Iterable[str]) -> str:
    """The line that launches `symbol` on torch tensors and sizes, given as Python expressions."""
    return f"_{symbol}({_given(tensors, sizes)})"


def launch(symbol: str, tensors: Iterable[str], sizes: Iterable[str]) -> str:
    """The same as one of the launches of a turn."""
    return f"(_{symbol}, {_given(tensors, sizes)})"


def all_turns(turns: str, together: bool) -> str:
    """The line that makes the launches of all these turns."""
    return f"_library.turns({turns}, {TURN}, {together})"


def _given(tensors: Iterable[str], sizes: Iterable[str]) -> str:
    pointers = ", ".join(f"{tensor}.data_ptr()" for tensor in tensors)
    return f"[{pointers}], [{', '.join(sizes)}]"

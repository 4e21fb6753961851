"""Float arguments while forward is traced: what is asked of them alone is answered, and noted as a condition.

A float is a tensor without data then, of which `if p > 0` knows nothing. Here it is the branch that the example takes,
under the condition "(p > 0)", which other values are held against; where an operator or Python itself needs a number,
it is the example's, under "(eps == 1e-05)". Worker side only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

_INFIX: dict[str, tuple[str, Callable[..., Any]]] = {
    "add": ("+", operator.add), "sub": ("-", operator.sub), "mul": ("*", operator.mul), "div": ("/", operator.truediv),
    "truediv": ("/", operator.truediv), "gt": (">", operator.gt), "lt": ("<", operator.lt), "ge": (">=", operator.ge),
    "le": ("<=", operator.le), "eq": ("==", operator.eq), "ne": ("!=", operator.ne),
}  # fmt: skip
_READS = ("item", "float", "int", "bool")

Known = tuple[float | bool, str]
"""What a tensor is in the example, and its text over names of arguments."""


class Asked(TorchFunctionMode):
    """Knows what is computed of float arguments alone; `conditions`: what was asked, as it was answered.

    `examples`: the value of each argument.
    """

    def __init__(self, examples: Mapping[str, float]) -> None:
        super().__init__()
        self._examples = examples
        self._known: dict[int, tuple[Tensor, Known]] = {}
        self.conditions: dict[str, None] = {}

    def take(self, name: str, tensor: Tensor) -> Tensor:
        """A tensor of forward's call; it is known if it stands for a float argument."""
        if name in self._examples:
            self._note(tensor, (self._examples[name], name))
        return tensor

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        given = [each for each in tree_leaves((args, kwargs)) if self._of(each)]
        if not given:
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "").strip("_")
        if name in _READS and len(args) == 1 and (known := self._of(args[0])):
            return self._answer(known, name)
        try:
            result = func(*args, **kwargs)
        except Exception:  # of whatever kind: it may be one that takes Python's numbers
            args, kwargs = tree_map(self._plain, (args, kwargs))
            return func(*args, **kwargs)
        if isinstance(result, Tensor) and (made := self._made(name, args, kwargs)):
            self._note(result, made)
        return result

    def _note(self, tensor: Tensor, known: Known) -> None:
        self._known[id(tensor)] = (tensor, known)  # which keeps its place in memory

    def _of(self, value: Any) -> Known | None:
        if not isinstance(value, Tensor):
            return None
        held = self._known.get(id(value))
        return held[1] if held else None

    def _plain(self, value: Any) -> Any:
        known = self._of(value)
        return self._answer(known, "item") if known else value

    def _answer(self, known: Known, name: str) -> float | bool:
        """The example's number, from here on for a condition."""
        value, text = known
        if isinstance(value, bool):
            self.conditions[text if value else f"(not {text})"] = None
        elif name == "bool":
            self.conditions[f"({text} {'!=' if value else '=='} 0)"] = None
            return bool(value)
        else:
            self.conditions[f"({text} == {value!r})"] = None
        return int(value) if name == "int" else value

    def _made(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Known | None:
        """What comes of numbers that are known, by an operator of Python's."""
        parts = [self._of(each) or ((each, repr(each)) if type(each) in (int, float) else None) for each in args]
        if kwargs or not all(parts):
            return None
        known = [part for part in parts if part]
        if name == "neg":
            return -known[0][0], f"(-{known[0][1]})"
        if len(known) == 2 and name[:1] == "r" and name[1:] in _INFIX:
            name, known = name[1:], known[::-1]
        if len(known) != 2 or name not in _INFIX:
            return None
        sign, function = _INFIX[name]
        return function(known[0][0], known[1][0]), f"({known[0][1]} {sign} {known[1][1]})"

"""What functions do to rows that a mask picks, by their names. Worker side only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from torch import Tensor

from akg_core.task.data_dependent.domain import depends

C = TypeVar("C", bound=type[Any])

_NAMES = """
    abs add addcdiv addcmul atan bitwise_and bitwise_not bitwise_or ceil clamp clip clone contiguous cos detach div
    elu eq erf exp expm1 float floor floor_divide gelu ge gt half hardsigmoid hardswish hardtanh isfinite isinf
    isnan le leaky_relu lerp log log10 log1p log2 logaddexp logical_and logical_not logical_or logsigmoid lt
    masked_fill maximum minimum mish mul multiply ne neg pow reciprocal relu relu6 remainder round rsqrt rsub sigmoid
    sign silu sin softplus sqrt square sub tan tanh to true_divide type_as where xlogy nan_to_num double long int bool
    bfloat16 cpu zeros_like ones_like full_like empty_like one_hot atan2
    __add__ __and__ __eq__ __floordiv__ __ge__ __gt__ __invert__ __le__ __lt__ __mod__ __mul__ __ne__ __neg__ __or__
    __pow__ __radd__ __rmul__ __rpow__ __rsub__ __rdiv__ __rtruediv__ __sub__ __truediv__ __abs__
    __rfloordiv__ __matmul__ __xor__ __rmod__ __rand__ __ror__
    """
ELEMENTWISE = frozenset(_NAMES.split())
SAME_PLACES = ("clone", "contiguous", "detach", "cpu", "long", "to")
DIM_OF = {
    "softmax": (1, None), "log_softmax": (1, None), "logsumexp": (1, None), "cumsum": (1, None), "cumprod": (1, None),
    "normalize": (2, 1), "cosine_similarity": (2, 1), "chunk": (2, 0), "split": (2, 0), "topk": (2, -1),
    "sort": (1, -1), "argsort": (1, -1), "argmax": (1, None), "argmin": (1, None), "gather": (1, None),
    "glu": (1, -1), "flip": (1, None), "prod": (1, None), "select": (1, None), "narrow": (1, None),
    "cat": (1, 0), "concat": (1, 0), "stack": (1, 0), "median": (1, None), "msort": (1, 0),
    "quantile": (2, None), "roll": (2, None),
}  # fmt: skip
"""Where in the arguments of a function along one dim that dim is, and which it is if it is not said."""
ROW_BY_ROW = {"group_norm": 2, "bmm": 3, "scaled_dot_product_attention": 3, "baddbmm": 3}
"""Functions that take the first dim to be one of things that have nothing to do with each other, from so many dims."""
LOSSES = frozenset(f"{name}_loss" for name in ("mse", "l1", "smooth_l1", "huber", "soft_margin")) | {
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
}
SHAPED = frozenset(("unsqueeze", "squeeze", "flatten"))
SIZED = frozenset(("view", "reshape", "expand", "repeat"))
CLASSES = frozenset(("cross_entropy", "nll_loss"))
IGNORED = -100


def dim_of(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The dim that a function goes along, or several; None where none is said."""
    place, usual = DIM_OF.get(name, (1, None))
    return kwargs.get("dim", args[place] if len(args) > place else usual)


def with_operators(kind: C) -> C:
    """A class whose `__torch_function__` has Python's operators, too; `a += b` is refused, unless it says how."""

    def operator(name: str) -> Callable[..., Any]:
        function = getattr(Tensor, name)
        return lambda self, *others: kind.__torch_function__(function, (), (self, *others))

    for name in ELEMENTWISE:
        if name.startswith("__"):
            setattr(kind, name, operator(name))
    for name in ("add", "sub", "mul", "truediv", "floordiv", "and", "or", "pow"):
        setattr(kind, f"__i{name}__", operator(f"__i{name}__"))
    return kind


def refused(*_: Any) -> Any:
    """For methods whose result depends on how many rows there are."""
    raise depends()

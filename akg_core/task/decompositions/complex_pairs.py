"""Complex numbers as pairs of real ones: of a captured graph that has complex values in it comes one that has none.

Nothing complex goes in or comes out: see `complex_border`. Unsigned tensors are cast, by the signed ones of their bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.traceback import preserve_node_meta
from torch.utils._pytree import tree_unflatten

from akg_core.task.decompositions.complex_functions import FUNCTIONS, Pair, as_pair, has_pairs, truth
from akg_core.task.decompositions.fourier import complex_to_complex, complex_to_real, real_to_complex
from akg_core.task.unsigned import SIGNED, Unsigned, is_unsigned

_NAMES = """
    alias cat clone constant_pad_nd copy cumsum diagonal expand flip gather index index_add index_put index_select
    masked_fill mean neg permute repeat roll scatter_add select slice split split_with_sizes squeeze stack sum t
    transpose tril triu unbind unfold unsqueeze unsafe_split view _unsafe_view reshape where slice_scatter
    select_scatter
    """
_PARTWISE = frozenset(_NAMES.split())
"""Operators that do the same to both parts: what only moves elements, adds them up or chooses among them."""
_ONE = "alias clone expand flip permute repeat select slice squeeze t transpose unsqueeze view _unsafe_view reshape"
_MOVES = frozenset(_ONE.split())
"""Those of one tensor that only move elements."""


class Unknown(Exception):
    """An operator on complex numbers has no formula here: that of `node` in the program."""

    def __init__(self, node: torch.fx.Node) -> None:
        super().__init__()
        self.node = node


class _NoFormula(Exception):
    pass


def has_complex(program: ExportedProgram) -> bool:
    """Whether an operator of a captured program takes a complex number, or gives such, or an unsigned one."""
    called = (node for node in program.graph.nodes if node.op == "call_function")
    return any(
        _is_complex(value := node.meta.get("val")) or is_unsigned(value) or has_pairs(node.args) for node in called
    )


def paired_forward(program: ExportedProgram, model: nn.Module) -> Callable[..., Any]:
    """What computes as the program does on the tensors that it is called with, without complex tensors in between.

    `program` is in PyTorch's core operators. What it gives raises Unknown for an operator without a formula.
    """
    signature = program.graph_signature
    constants = {n: _parts(c) if _is_complex(c) else c for n, c in program.constants.items()}

    def forward(*tensors: Tensor) -> Any:
        given = iter(tensors)
        held: dict[str, Tensor] = {}  # what may be updated, by its name
        arguments: list[Any] = []
        for spec in signature.input_specs:
            if spec.kind == InputKind.USER_INPUT:
                held[spec.arg.name] = next(given)
                arguments.append(held[spec.arg.name])
            elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
                arguments.append(_state(model, str(spec.target)))
            elif spec.kind == InputKind.TOKEN:
                arguments.append(None)
            else:
                arguments.append(constants[str(spec.target)])
        with preserve_node_meta():  # which lines of the file operators come from
            results = _Interpreter(program.graph_module).run(*arguments)
        returned = []
        for spec, value in zip(signature.output_specs, results, strict=True):
            if spec.kind == OutputKind.USER_OUTPUT:
                returned.append(value)
            elif spec.kind == OutputKind.TOKEN:
                continue
            elif spec.kind == OutputKind.USER_INPUT_MUTATION:
                held[str(spec.target)].copy_(value)
            else:
                _state(model, str(spec.target)).copy_(value)
        return tree_unflatten(returned, program.call_spec.out_spec)

    return forward


def _parts(z: Tensor) -> Pair:
    return Pair(z.real.clone(), z.imag.clone())


def _state(model: nn.Module, name: str) -> Tensor:
    path, _, key = name.rpartition(".")
    value = getattr(model.get_submodule(path), key)
    assert isinstance(value, Tensor)
    return value


def _is_complex(value: Any) -> bool:
    values = value if isinstance(value, (list, tuple)) else (value,)
    return any(isinstance(each, Tensor) and each.dtype.is_complex for each in values)


class _Interpreter(torch.fx.Interpreter):
    """Runs a graph with pairs in the place of complex tensors."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self._interleaved: dict[int, tuple[Tensor, Pair]] = {}  # what `view_as_real` gave, by its identity
        self._due: Any = None  # what PyTorch's trace has for the result at hand
        self._returned = False  # whether a result of the program is made, whose strides tell what it is a part of

    def run_node(self, n: torch.fx.Node) -> Any:
        self._returned = any(user.op == "output" for user in n.users)
        self._due = n.meta.get("val")
        try:
            return super().run_node(n)
        except _NoFormula:
            raise Unknown(n) from None

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is torch.ops.higher_order.with_effects:  # a look at values, in an order that the token stands for
            token, inner, *given = args
            return token, self.call_function(inner, tuple(given), kwargs)
        if target is operator.getitem:
            return super().call_function(target, args, kwargs)
        name = target._schema.name.partition("::")[2] if isinstance(target, torch._ops.OpOverload) else ""
        if name == "view_as_real":
            whole = _laid_out(torch.stack((args[0].re, args[0].im), -1), self._due)
            self._interleaved[id(whole)] = whole, args[0]
            return whole
        is_part = name == "select" and id(args[0]) in self._interleaved and args[1] in (-1, args[0].dim() - 1)
        if is_part and not self._returned:
            pair = self._interleaved[id(args[0])][1]
            return pair.im if args[2] else pair.re
        dtype = kwargs.get("dtype")
        if (name == "view" and args[1] in SIGNED) or isinstance(args[0] if args else None, Unsigned):
            return _of_unsigned(target, name, args, kwargs)
        if not has_pairs(args) and name not in _MAKERS and not (dtype and dtype.is_complex):
            return super().call_function(target, args, kwargs)
        if name in _RULES:
            return _RULES[name](*args, **kwargs)
        if dtype is not None and dtype.is_complex and not has_pairs(args):
            real = super().call_function(target, args, kwargs | {"dtype": dtype.to_real()})
            return Pair(real, torch.zeros_like(real))
        if name in _PARTWISE:
            return _partwise(target, args, kwargs)
        raise _NoFormula


def _laid_out(x: Tensor, like: Any) -> Tensor:
    """A tensor in memory of its own, whose dims come in the order of those of another, where its strides are known."""
    if not isinstance(like, Tensor) or like.dim() != x.dim() or not all(isinstance(s, int) for s in like.stride()):
        return x
    order = sorted(range(x.dim()), key=like.stride, reverse=True)
    if order == [*range(x.dim())]:
        return x
    return x.permute(order).contiguous().permute([order.index(d) for d in range(x.dim())])


def _of_unsigned(target: Any, name: str, args: Any, kwargs: Any) -> Any:
    """A cast of an unsigned tensor, or what only moves its elements; a view of bits is one."""
    first, *others = args
    if name == "_assert_tensor_metadata":
        return None
    if name == "view" and isinstance(first, Tensor):
        return Unsigned(first)
    dtype = others[0] if name == "view" and isinstance(others[0], torch.dtype) else kwargs.get("dtype")
    if name == "view" and dtype is not None:
        return Unsigned(first.bits) if dtype in SIGNED else first.bits.view(dtype)
    if name == "_to_copy" and dtype is not None:
        return first.to(dtype)
    if name == "_to_copy" or name in _MOVES:
        return Unsigned(target(first.bits, *others, **kwargs))
    raise _NoFormula


def _partwise(target: Any, args: Any, kwargs: Any) -> Any:
    parts = [target(*_part(args, first), **kwargs) for first in (True, False)]
    if isinstance(parts[0], (list, tuple)):
        return [Pair(re, im) for re, im in zip(*parts, strict=True)]
    return Pair(*parts)


def _part(value: Any, first: bool) -> Any:
    """The real or the imaginary parts of all pairs among some arguments."""
    if isinstance(value, (list, tuple)):
        return [_part(each, first) for each in value]
    pair = as_pair(value) if isinstance(value, complex) else value
    return (pair.re if first else pair.im) if isinstance(pair, Pair) else value


# --- tensors --------------------------------------------------------------------------------------------


def _full_like(z: Pair, value: Any, **options: Any) -> Any:
    dtype = options.pop("dtype", None)
    if dtype is not None and not dtype.is_complex:
        return torch.full_like(z.re, value, dtype=dtype, **options)
    number = complex(value)
    return Pair(torch.full_like(z.re, number.real, **options), torch.full_like(z.im, number.imag, **options))


def _full(size: Sequence[int], value: Any, *, dtype: torch.dtype | None = None, **options: Any) -> Any:
    number, real = complex(value), (dtype or torch.complex64).to_real()
    re, im = (torch.full(size, part, dtype=real, **options) for part in (number.real, number.imag))
    return Pair(re, im)


def _to_copy(z: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    if dtype is None:
        return Pair(z.re.clone(), z.im.clone())
    if not dtype.is_complex:
        return truth(z) if dtype == torch.bool else z.re.to(dtype)
    pair = as_pair(z)
    return Pair(pair.re.to(dtype.to_real()), pair.im.to(dtype.to_real()), not has_pairs(z))


def _inverse(z: Pair, **options: Any) -> tuple[Pair, Tensor]:
    """By the real matrix [[re, -im], [im, re]], whose inverse is made of that of z [*batch, N, N] in the same way."""
    rows = torch.cat((torch.cat((z.re, -z.im), -1), torch.cat((z.im, z.re), -1)), -2)
    found, info = torch.linalg.inv_ex(rows, **options)
    re, im = found[..., : z.re.shape[-1]].chunk(2, -2)
    return Pair(re, im), info


_MAKERS = frozenset({"complex", "polar", "view_as_complex", "_fft_r2c"})
_RULES: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    "view_as_complex": lambda x: Pair(x.select(-1, 0), x.select(-1, 1)),
    "resolve_conj": lambda z: z,
    "_assert_tensor_metadata": lambda *_, **__: None,
    "linalg_inv_ex": _inverse,
    "full": _full,
    "scalar_tensor": lambda value, **options: _full((), value, **options),
    "full_like": _full_like,
    "zeros_like": lambda z, **options: _full_like(z, 0, **options),
    "ones_like": lambda z, **options: _full_like(z, 1, **options),
    "_to_copy": _to_copy,
    "_fft_r2c": real_to_complex,
    "_fft_c2c": complex_to_complex,
    "_fft_c2r": complex_to_real,
}

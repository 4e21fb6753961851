"""Exported programs in core operators: PyTorch's formulas and those that its table lacks. Worker side only."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import decomposition_table, get_decompositions
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.export import ExportedProgram, exported_program

from akg_core.task.decompositions import (
    antialias,
    foreach,
    formulas,
    gradients,
    histogram,
    linear_interpolation,
    windows,
)

Table = dict[Any, Callable[..., Any]]
_decompose = exported_program._decompose_exported_program
_COPIED = (
    *("alias", "diagonal", "expand", "narrow", "permute", "squeeze"),
    *("t", "transpose", "unbind", "unfold", "unsqueeze", "view"),
)  # views whose operators have one that copies
_OPTIONS: dict[str, Any] = {
    "joint_loss_index": None,
    "decompose_custom_triton_ops": False,
}  # versions of PyTorch know some of them


def decomposed(program: ExportedProgram) -> ExportedProgram:
    """What `program.run_decompositions` gives with the table of `_tables`, in a third of the time.

    That one overrides each of 500 composite operators, also by what it does anyway, and puts it back, each time.
    Raises ValueError where tracing has taken what depends on arguments for a constant.
    """
    composite, others = _tables()
    constants = [each for each in program.constants.values() if isinstance(each, torch.Tensor)]
    if any(map(torch._C._functorch.is_functorch_wrapped_tensor, constants)):
        raise ValueError("what a transform of torch.func computes with is no constant")
    if any(isinstance(each, FakeTensor) for each in constants):  # which formulas would read memory of
        raise ValueError("what a gradient is computed of is no constant")
    for node in program.graph.nodes:
        if node.target is torch.ops.aten.view.default:  # a formula may lay out otherwise what is viewed
            node.target = torch.ops.aten.reshape.default
    known = inspect.signature(_decompose).parameters
    options = {name: value for name, value in _OPTIONS.items() if name in known}
    with unset_fake_temporarily():
        return _decompose(program, cia_to_decomp=dict(composite), python_decomp_table=dict(others), **options)


@functools.cache
def _tables() -> tuple[Table, Table]:
    """PyTorch's own table, with interpolation, which is gathers and elementwise work, and with gradients.

    In two: operators that are made of others, unless they are to be written out as they are made, and the rest.
    """
    table = dict(torch.export.default_decompositions())
    aten = torch.ops.aten
    written = [aten.upsample_nearest2d.vec, aten.addmv.default, aten.dist.default, aten.ldexp.Tensor]
    written += [getattr(aten, f"{view}_copy") for view in _COPIED]
    table.update(get_decompositions(written))
    for ours in (antialias, foreach, formulas, gradients, histogram, linear_interpolation, windows):
        table.update(ours.decompositions())
    for kept in (aten.select_scatter.default, aten.slice_scatter.default):  # loops are known by them
        table.pop(kept, None)
    composite, others = exported_program._split_decomp_table_to_cia_and_python_decomp(table)
    backward = {op: formula for op, formula in decomposition_table.items() if "backward" in str(op)}
    others.update({op: formula for op, formula in backward.items() if isinstance(op, torch._ops.OpOverload)})
    del others[aten.mish_backward.default]  # a rule makes it more accurate than the formula there
    # `default_decompositions` names an operator's own kernel by a partial function
    return {op: formula for op, formula in composite.items() if not isinstance(formula, functools.partial)}, others

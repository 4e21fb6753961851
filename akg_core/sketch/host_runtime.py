"""The fixed part of every model_new.py: loading the reference, checking arguments, keeping what is computed once."""

from __future__ import annotations

import textwrap

_MODULE = '''\
"""{name}: made by akg-core from a sketch.

`ModelNew` stands in for the `Model` of reference.py, which must lie beside this file.
"""

import importlib.util
import operator
from pathlib import Path

import torch

{prelude}

# --- the reference ------------------------------------------------------------------------------------


def _reference():
    """The module of reference.py, loaded from this folder under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"{{__name__}}_reference", Path(__file__).with_name("reference.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Model = _reference().Model


# --- arguments ----------------------------------------------------------------------------------------


def _tensor(what, value, dtype, dim):
    """`value`, contiguous, when it is a tensor of this dtype and number of dimensions."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{{what}} must be a tensor, not {{type(value).__name__}}")
    if value.dtype != dtype or value.dim() != dim:
        given = f"{{value.dim()}}-dimensional {{value.dtype}}"
        raise TypeError(f"{{what}} must be a {{dim}}-dimensional {{dtype}} tensor, not {{given}}")
    return value.detach().contiguous() if value.requires_grad or not value.is_contiguous() else value


def _state(model, name, dtype, dim):
    """A parameter, buffer or constant of the module by its qualified name."""
    return _tensor(name, operator.attrgetter(name)(model), dtype, dim)


def _shape(what, value, shape):
    if value.shape != shape:
        raise ValueError(f"{{what}} must have the shape {{list(shape)}}, not {{list(value.shape)}}")


def _constant(what, value, expected):
    """Refuse a value that the kernel was not made for."""
    if isinstance(value, (list, tuple)):
        value = list(value)
    if type(value) is not type(expected) or value != expected:
        raise ValueError(f"this kernel was made for {{what}}={{expected!r}}, not {{value!r}}")


def _written(model, name, tensor):
    """A kernel wrote to a parameter or buffer: tell autograd, and copy when it worked on a contiguous copy."""
    held = operator.attrgetter(name)(model)
    if held.data_ptr() == tensor.data_ptr():
        torch.autograd.graph.increment_version(held)
    else:
        held.detach().copy_(tensor)


class _Kept:
    """What launches computed from parameters alone, while these are the same tensors, unchanged, and sizes too."""

    def __init__(self, sources, sizes):
        self.sources, self.sizes, self.tensors = sources, sizes, None
        self.versions = [source._version for source in sources]

    def holds(self, sources, sizes):
        return sizes == self.sizes and all(
            source.data_ptr() == ours.data_ptr() and source._version == version
            for source, ours, version in zip(sources, self.sources, self.versions)
        )


def _kept(model, sources, sizes):
    kept = model.__dict__.get("_akg_kept")
    if kept is None or not kept.holds(sources, sizes):
        kept = model.__dict__["_akg_kept"] = _Kept(sources, sizes)
    return kept


# --- the model ----------------------------------------------------------------------------------------


class ModelNew(Model):
    """The reference's constructor, parameters and forward, computed by the kernels of this folder."""

{forward}
'''


def module(name: str, prelude: str, forward: list[str]) -> str:
    """The text of the module: `prelude` at module level, `forward` as the lines of that method."""
    body = textwrap.indent("\n".join(forward), "    ")
    return _MODULE.format(name=name.replace("\\", "").replace('"', "'"), prelude=prelude.strip("\n"), forward=body)

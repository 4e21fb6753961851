"""The fixed part of every model_new.py: loading the reference, checking arguments, keeping what is computed once."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from akg_core.lower.host.arguments import literal
from akg_core.lower.host.checks import TORCH_NAMES, Given, Sizes, dtypes_of
from akg_core.records import Parameter
from akg_core.seeds import FACTOR, LARGEST, TERM

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


_REFERENCE = _reference()
Model = _REFERENCE.Model


# --- arguments ----------------------------------------------------------------------------------------

_DEVICE = {device}  # the type of what kernels run on
_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))
_STRIDED = torch.strided
{dtypes}_EXPECTED = (  # of each tensor: how it is called, dtype, dimensions, their order, whether the module holds it
{expected})
_devices = set()  # those of that type which were met
_is_grad_enabled = torch.is_grad_enabled
_forward_ad = torch.autograd.forward_ad  # which gives derivatives in any mode, while it is entered


def _fitted(model, values):
    """The tensors of a call as kernels take them; what cannot be made so is refused."""
    values = [operator.attrgetter(e[0])(model) if e[4] else v for v, e in zip(values, _EXPECTED)]
    fitted = [_tensor(value, *expected[:4]) for value, expected in zip(values, _EXPECTED)]
    device, first = fitted[0].device, _EXPECTED[0][0]
    for tensor, (what, *_) in zip(fitted, _EXPECTED):
        if _DEVICE and tensor.device.type != _DEVICE:
            raise ValueError(f"{{what}} is on {{tensor.device}}, but this kernel runs on {{_DEVICE}}: move it there")
        if tensor.device != device:
            raise ValueError(f"{{what}} is on {{tensor.device}}, but {{first}} on {{device}}: move them to one device")
    _devices.add(device)
    return fitted


def _tensor(value, what, dtype, dim, order):
    """`value`, dense in this order of dimensions, when it is a plain tensor of this dtype and number of them."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{{what}} must be a tensor, not {{type(value).__name__}}")
    if type(value) not in _PLAIN:
        raise TypeError(f"{{what}} must be a plain torch.Tensor, not its subclass {{type(value).__name__}}")
    if value.layout is not torch.strided or value.is_nested or value.is_quantized:
        kind = "nested" if value.is_nested else "quantised" if value.is_quantized else value.layout
        raise TypeError(f"{{what}} must be a dense tensor (torch.strided), not a {{kind}} one")
    if value.dtype != dtype or value.dim() != dim:
        given = f"{{value.dim()}}-dimensional {{value.dtype}}"
        raise TypeError(f"{{what}} must be a {{dim}}-dimensional {{dtype}} tensor, not {{given}}")
    value = value.resolve_neg()
    if not order:
        return value.contiguous()
    return value.permute(order).contiguous().permute([order.index(place) for place in range(dim)])


def _refuse_shape(what, value, shape):
    raise ValueError(f"{{what}} must have the shape {{list(shape)}}, not {{list(value.shape)}}")


{sizes}def _listed(value):
    """`value` with lists for tuples, and dicts for dataclasses."""
    if hasattr(type(value), "__dataclass_fields__"):
        value = {{name: getattr(value, name) for name in value.__dataclass_fields__}}
    if isinstance(value, (list, tuple)):
        return [_listed(item) for item in value]
    return {{key: _listed(item) for key, item in value.items()}} if isinstance(value, dict) else value


def _constant(what, value, expected):
    """Refuse a value that the kernel was not made for."""
    value = _listed(value)
    if type(value) is not type(expected) or value != expected:
        raise ValueError(f"this kernel was made for {{what}}={{expected!r}}, not {{value!r}}")


{arguments}def _written(model, name, tensor):
    """A kernel wrote to a parameter or buffer: tell autograd, and copy when it worked on a contiguous copy."""
    held = operator.attrgetter(name)(model)
    held = torch.view_as_real(held) if held.is_complex() else held
    if held.data_ptr() != tensor.data_ptr():
        held.detach().copy_(tensor)
    elif not held.is_inference():  # which count no writes
        torch.autograd.graph.increment_version(held)


# --- gradients ----------------------------------------------------------------------------------------


class _NoGradients(torch.autograd.Function):
    """Stands behind results of what requires gradients: who asks for these hears that there are none."""

    @staticmethod
    def forward(context, count, *tensors):
        results = tuple(tensor.data for tensor in tensors[:count])
        context.mark_non_differentiable(*(result for result in results if not result.is_floating_point()))
        return results

    @staticmethod
    def backward(context, *_):
        raise RuntimeError("this kernel computes no gradients: call it under torch.no_grad(), or train with Model")

    jvp = backward


def _without_gradients(results, sources):
    """The results, which depend on all sources as far as autograd knows."""
    return _NoGradients.apply(len(results), *results, *sources)


{kept}# --- the model ----------------------------------------------------------------------------------------


class ModelNew(Model):
    """The reference's constructor, parameters and forward, computed by the kernels of this folder."""

{forward}
'''

_SIZES = '''_sizes = set()  # those that were found to be such as the kernel was made for


def _require_elements(sizes):
    for what, size in sizes.items():
        if size < 1:
            raise ValueError(f"{what} must be at least 1, not {size}")


def _refuse_sizes(condition, sizes):
    """Refuse sizes at which forward is not what the kernel was made from."""
    given = ", ".join(f"{what} is {size}" for what, size in sizes.items() if what in condition)
    raise ValueError(f"this kernel was made for sizes with {condition}, but {given}")


'''

_KEPT = '''_is_lazy = getattr(torch._C, "_is_cow_tensor", None)  # whether memory is copied before it is written to
_address = getattr(torch._C, "_data_address", None)  # without asking to write


def _is_its_own(tensor):
    """Whether PyTorch allocated the memory, for this process alone: no other can be copied lazily."""
    storage = tensor.untyped_storage()
    return storage.resizable() and not tensor.is_pinned() and (tensor.is_cuda or not storage.is_shared())


class _Kept:
    """What launches computed from parameters alone, for as long as nobody can have written to these.

    The parameters' memory is shared, and copied lazily: whoever writes to one, or asks for its address to do so, in
    whatever way that PyTorch has, gives it other memory, or takes the mark of being shared away. Where memory cannot
    be shared so, nothing is kept. (Who writes by an address that was taken before is not noticed, as by nobody.)
    """

    def __init__(self, sizes=None):
        self.sizes, self.tensors, self.shared, self.places = sizes, None, (), None

    def __reduce__(self):
        return _Kept, ()  # a copy of a module holds nothing yet

    def holds(self, sources, sizes):
        if self.places is None or sizes != self.sizes:
            return False
        return all(_is_lazy(source) and _address(source) == place for source, place in zip(sources, self.places))

    def keep(self, sources, tensors):
        self.tensors = tensors
        if _is_lazy and _address and all(map(_is_its_own, sources)):
            self.shared = [source.detach()._lazy_clone() for source in sources]
            self.places = [_address(source) for source in sources]

    def read(self, index, source):
        """The same values, for launches that ask for an address."""
        return self.shared[index] if self.shared else source


def _kept(model, sources, sizes):
    """What is kept of an earlier call while it holds, or nothing yet."""
    kept = model.__dict__.get("_akg_kept")
    if kept is None or not kept.holds(sources, sizes):
        kept = model.__dict__["_akg_kept"] = _Kept(sizes)
    return kept


'''


_COLLECTIONS = '''def _unpacked(what, value, template):
    """The values in a collection, in order; `template` has an ellipsis for each."""
    if template is ...:
        return (value,)
    is_dict = isinstance(template, dict)
    if is_dict and hasattr(type(value), "__dataclass_fields__"):
        value = {name: getattr(value, name) for name in value.__dataclass_fields__}
    kind, keys = ("dict", list(template)) if is_dict else ("list or tuple", list(range(len(template))))
    if not isinstance(value, dict if is_dict else (list, tuple)):
        raise TypeError(f"{what} must be a {kind}, not {type(value).__name__}")
    if (set(value) if is_dict else len(value)) != (set(keys) if is_dict else len(keys)):
        given = list(value) if is_dict else f"{len(value)} values"
        raise ValueError(f"this kernel was made for {what} with {keys if is_dict else len(keys)}, not {given}")
    return tuple(v for key in keys for v in _unpacked(f"{what}[{key!r}]", value[key], template[key]))


'''

_UPDATES = '''def _reach(tensor):
    """The addresses where a tensor begins and ends."""
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size() * bool(tensor.numel())


def _updates(updated, tensors):
    """Tensors that forward updates in place, when none of them lies in the memory of another argument."""
    places = [_reach(tensor) for tensor in tensors if isinstance(tensor, torch.Tensor)]
    for start, end in (_reach(tensor) for tensor in updated if isinstance(tensor, torch.Tensor)):
        if sum(start < other_end and other_start < end for other_start, other_end in places) > 1:
            raise ValueError("an argument that is updated shares memory with another: give each a tensor of its own")
    return updated


def _refuse_updates(names):
    raise RuntimeError(
        f"forward updates {', '.join(names)} in place, and this kernel computes no gradients, which something that "
        "it is given requires: call it under torch.no_grad()"
    )


def _update(updated, values):
    """Write what was computed into the arguments that are updated in place."""
    for tensor, value in zip(updated, values):
        tensor.detach().copy_(torch.view_as_complex(value) if tensor.is_complex() else value)


'''


_SEEDS = f'''_GENERATOR = torch.default_generator  # of the host, which torch.manual_seed sets


def _seed(device):
    """The seed of this call's random numbers; the generator goes on to the next one."""
    seed = _GENERATOR.initial_seed() & {LARGEST}
    _GENERATOR.manual_seed((seed * {FACTOR} + {TERM}) & {LARGEST})
    return torch.full((), seed, dtype=torch.int64, device=device)


'''
_APART = '''def _apart(model, name):
    """An attribute that forward replaces, in memory of its own, apart from any parameter."""
    path, _, key = name.rpartition(".")
    owner = model.get_submodule(path)
    held = getattr(owner, key)
    if isinstance(vars(owner).get(key), torch.Tensor):
        memory = held.untyped_storage().data_ptr()
        if any(parameter.untyped_storage().data_ptr() == memory for parameter in model.parameters()):
            held = held.clone()
            setattr(owner, key, held)
    return held


'''
_NUMBERS = """def _refuse_numbers(condition):
    raise ValueError(f"this kernel was made for {condition}: of other numbers forward is another")


"""
_LED = '''def _led(tensors, rank, numbers):
    """Tensors with as many dims, the leading of size 1, if they lack one of these numbers; and this number."""
    lacking = {rank - tensor.dim() for tensor in tensors if isinstance(tensor, torch.Tensor)}
    absent = lacking.pop() if len(lacking) == 1 else 0
    if absent not in numbers:
        return *tensors, 0
    return *(tensor[(None,) * absent] for tensor in tensors), absent


'''
_EXTENTS = '''def _extent(what, value, device):
    """A tensor of which an int is the size, and that takes no memory."""
    if type(value) is not int or value < 0:
        raise TypeError(f"{what} must be an int and not negative, not {value!r}")
    return torch.empty((), dtype=torch.bool, device=device).expand(value)


'''
_PAIRS = '''def _pairs(what, value, dtype):
    """The real and imaginary parts of a complex tensor, side by side; the bits of an unsigned one."""
    if not isinstance(value, torch.Tensor) or value.dtype != dtype:
        given = value.dtype if isinstance(value, torch.Tensor) else type(value).__name__
        raise TypeError(f"{what} must be a {dtype} tensor, not {given}")
    if not value.is_complex():
        return value.view(getattr(torch, f"int{8 * value.element_size()}"))
    return torch.view_as_real(value.resolve_conj())


'''
_TABLES = '''_made = {}


def _numbers(name, device):
    """A tensor of numbers that the reference makes itself, made once on each device."""
    if (name, device) not in _made:
        numbers, dtype = _TABLES[name]
        _made[name, device] = torch.tensor(numbers, dtype=dtype, device=device)
    return _made[name, device]


'''
_PARTS = (
    ("_unpacked(", _COLLECTIONS),
    ("_led(", _LED),
    ("_extent(", _EXTENTS),
    ("_refuse_numbers(", _NUMBERS),
    ("_pairs(", _PAIRS),
    ("_apart(", _APART),
    ("_update(", _UPDATES),
    ("_seed(", _SEEDS),
    ("_numbers(", _TABLES),
)
"""What a module has where its forward calls a function of it."""


def module(
    name: str,
    prelude: str,
    forward: list[str],
    device: str,
    given: Sequence[Given],
    sizes: Sizes,
    tables: Sequence[Parameter],
) -> str:
    """The text of the module: `prelude` at module level, `forward` as the lines of that method.

    `device`: as for `akg_core.lower.host.module.write_module`; `given`, `sizes`: what forward checks; `tables`: the
    numbers that it reads as tensors.
    """
    body = textwrap.indent("\n".join(forward), "    ")
    wanted = [text for call, text in _PARTS if call in body]
    if tables:
        entries = (f"    {p.name!r}: ({literal(p.value)}, torch.{TORCH_NAMES[p.dtype]}),\n" for p in tables)
        wanted.append(f"_TABLES = {{\n{''.join(entries)}}}\n\n\n")
    return _MODULE.format(
        name=name.replace("\\", "").replace('"', "'"),
        prelude=prelude.strip("\n"),
        forward=body,
        device=device,
        dtypes=dtypes_of(given),
        expected="".join(f"    {tensor.expected()},\n" for tensor in given),
        sizes=_SIZES + sizes.function() if sizes.names else "",
        arguments="".join(wanted),
        kept=_KEPT if "_kept(" in body else "",
    )

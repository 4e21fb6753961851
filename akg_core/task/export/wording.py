"""What cannot be captured, in the terms of who wrote the file: the operator as it stands there, its line, a way out.

Worker side.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)

from akg_core.errors import TaskError, ValuesUnknown
from akg_core.task.source import load
from akg_core.task.unsigned import is_unsigned

COMPLEX_CURE = (
    "Compute with real numbers: real and imaginary parts are tensors of their own, and a Fourier transform is a "
    "product with a matrix of cosines and one of sines."
)
_SPACES = {"linalg_": "torch.linalg.", "fft_": "torch.fft.", "special_": "torch.special."}
_FIXED = "Give every result a fixed size: torch.where(mask, x, 0) for x[mask], or room for all that may be."
_SIZED = {
    "repeat_interleave": "Say how many there are: torch.repeat_interleave(x, repeats, output_size=n).",
    "linalg_lstsq": "Where A has full rank, solve for it: torch.linalg.solve(A.mT @ A, A.mT @ B).",
}
"""What to write in place of operators whose results have as many elements as values say."""
_CHOICES = ("cond", "while_loop")
_LONGEST = 60  # characters of a line that stands in a sentence
_OF_NUMPY = (".numpy()", "__array_function__", "__array_ufunc__", "numpy.object_")
_OF_VALUES = re.compile(r"GuardOnDataDependent|[Dd]ata.dependent|unbacked|_local_scalar_dense")


def line_in(stack_trace: str, filename: str) -> tuple[int, str]:
    """The innermost line of a file in a trace of calls, and what stands there; 0 where it has none."""
    found = re.findall(rf'File "{re.escape(filename)}", line (\d+).*\n\s*(.*)', stack_trace)
    return (int(found[-1][0]), found[-1][1].strip()) if found else (0, "")


def wrote(node: torch.fx.Node, filename: str) -> str:
    """The operator that a node comes from as the file calls it: "torch.fft.rfft", "y.index_add_", "dropout"."""
    _, text = line_in(node.meta.get("stack_trace") or "", filename)
    kind, _, called = (node.meta.get("torch_fn") or ("", ""))[1].rpartition(".")
    if not called or kind == "OpOverload":  # which has its overload's name
        name = getattr(node.target, "_opname", None) or getattr(node.target, "__name__", str(node.target))
        called = str(name).lstrip("_")
    if called.startswith("__"):  # an operator such as y[i] = v
        return _short(text) or called
    space = next((prefix for prefix in _SPACES if called.startswith(prefix)), "")
    found = re.search(rf"[\w.]*\b{re.escape(called.removeprefix(space))}\b", text)
    if found:
        return found[0].lstrip(".")
    return _SPACES.get(space, "") + called.removeprefix(space)


def complex_numbers(node: torch.fx.Node, filename: str) -> TaskError:
    """For an operator that gives complex numbers, or takes unsigned ones."""
    given = [each.meta.get("val") for each in node.all_input_nodes]
    if unsigned := next(filter(is_unsigned, given), None):
        what = f"{_place(node, filename)}`{wrote(node, filename)}` takes {str(unsigned.dtype).removeprefix('torch.')}, "
        return TaskError(f"{what}with which kernels do not compute.", "Convert it first: x.to(torch.int64).")
    return TaskError(
        f"{_place(node, filename)}`{wrote(node, filename)}` gives complex numbers, which kernels do not compute with.",
        COMPLEX_CURE,
    )


def no_operator(node: torch.fx.Node, filename: str) -> TaskError:
    """For a node that is no operator: control flow that stayed in the graph, or what has effects beside results."""
    name = wrote(node, filename)
    if getattr(node.target, "__name__", str(node.target)) in _CHOICES:
        return TaskError(
            f"{_place(node, filename)}`{name}` decides by the values of tensors what is computed.",
            "Compute both results and choose with torch.where; repeat loops a fixed number of times.",
        )
    return TaskError(
        f"{_place(node, filename)}`{name}` is not made of PyTorch's operators alone, as kernels have to be.",
        "Write it with PyTorch's operators.",
    )


def no_tensor() -> TaskError:
    """The error for an object that a trace cannot hold."""
    cure = "Leave it out: random numbers come from torch's own generator, which torch.manual_seed sets."
    return TaskError("forward uses an object that is no tensor, such as a torch.Generator.", cure)


def of_values(error: BaseException, name: str) -> TaskError | None:
    """For an error that comes of looking at values, which fake tensors do not have; None for any other."""
    line = load.line_of(error, name)
    text = _short(linecache.getline(load.reference_filename(name), line).strip()) if line else ""
    place, quoted = f"{name}, line {line}" if line else name, f": `{text}`" if text else ""
    for each in _chain(error):
        if isinstance(each, UnsupportedOperatorException):
            return TaskError(
                f"{place}: of an operator PyTorch cannot tell the shape of its result{quoted}.",
                "Compute with PyTorch's own operators, or register a fake implementation of yours (torch.library).",
            )
        if isinstance(each, DynamicOutputShapeException):
            return ValuesUnknown(
                f"{place}: forward looks at the values of tensors for the size of a result{quoted}.",
                _SIZED.get(each.func._opname, _FIXED),
            )
        if isinstance(each, DataDependentOutputException) or _OF_VALUES.search(f"{type(each).__name__}: {each}"):
            return ValuesUnknown(
                f"{place}: forward looks at the values of tensors, which are not known when it is captured{quoted}.",
                "Choose with torch.where instead of if; make sizes independent of values; say how often a loop that "
                "values end runs at most: `for _ in range(n)`, with `break`.",
            )
        if isinstance(each, (RuntimeError, TypeError)) and any(text in str(each) for text in _OF_NUMPY):
            return TaskError(
                f"{place}: forward hands a tensor to NumPy, where it cannot be followed{quoted}.",
                "Compute with PyTorch's operators, or with functions of NumPy that torch._numpy has.",
            )
    return None


def _place(node: torch.fx.Node, filename: str) -> str:
    line, _ = line_in(node.meta.get("stack_trace") or "", filename)
    return f"line {line}: " if line else ""


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _chain(error: BaseException | None) -> Iterator[Any]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__

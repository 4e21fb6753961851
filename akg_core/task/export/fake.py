"""Running a reference on fake tensors: shapes and dtypes without data, at any size in no time. Worker side only."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from akg_core.errors import TaskError
from akg_core.task.arguments import flat
from akg_core.task.export import wording
from akg_core.task.export.returned import returned
from akg_core.task.source import load
from akg_core.task.tracing import steps
from akg_core.task.tracing.contents import Contents
from akg_core.task.tracing.items import Items
from akg_core.task.tracing.recurrent import whole
from akg_core.task.tracing.unchecked import unchecked
from akg_core.worker.tensors import transform

T = TypeVar("T")


def fake_mode() -> FakeTensorMode:
    """A mode in which new tensors have no data; real tensors of the file may take part.

    Code that looks at a value fails, rather than going on with a placeholder.
    """
    strict = ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False)
    return FakeTensorMode(shape_env=strict, allow_non_fake_inputs=True)


def fake_or_real(mode: FakeTensorMode, make: Callable[[], T]) -> T:
    """What `make()` gives under `mode`, or without it where it fails there because it looks at values."""
    try:
        with quiet(), mode:
            return make()
    except TaskError:
        return make()


def faked(mode: FakeTensorMode, value: Any) -> Any:
    """The same tree with fake tensors of the same sizes; those that are fake stay what they are."""

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        return tensor if isinstance(tensor, FakeTensor) else mode.from_tensor(tensor, static_shapes=True)

    return transform(value, fake)


def run(
    name: str,
    mode: FakeTensorMode,
    model: nn.Module,
    inputs: Sequence[Any],
    observer: AbstractContextManager[Any] | None = None,
    contents: Contents | None = None,
) -> list[Any]:
    """The flat outputs of forward on fake tensors.

    What does not fit is said here in the reference's own terms: TaskError with its line. So is that forward
    looks at values, which no tracing survives. `observer` is a dispatch mode that sees every operator; `contents`: what
    tensors hold, by places of the arguments.
    """
    blamed = load.blame(name, "forward, given what get_inputs gives,")

    def leaves(items: bool = True) -> list[Any]:
        read = Items(traced=False)
        given = faked(mode, inputs)
        if contents:
            contents.take(flat((), given))
        with whole(items=read if items else None, contents=contents):
            found = list(torch.utils._pytree.tree_leaves(returned(model(*given))))
        read.require_copies(found)
        return found

    with blamed, quiet(), unchecked(), mode, observer or nullcontext():
        try:
            return leaves()
        except TaskError as error:
            line = load.line_of(error, name)
            raise type(error)(f"line {line}: {error.message}", error.cure) if line else error from None
        except Exception as error:
            refused = wording.of_values(error, name) or _of_items(lambda: leaves(items=False), name)
            if refused is None:
                raise
            if steps.retry(load.line_of(error, name)):
                return run(name, mode, model, inputs, observer, contents)
            raise refused from None


def _of_items(again: Callable[[], object], name: str) -> TaskError | None:
    """What is said of a number that cannot do as a tensor what its value could."""
    try:
        again()
    except Exception as error:
        return wording.of_values(error, name)
    return None


@contextmanager
def quiet() -> Iterator[None]:
    """Without PyTorch's own remarks, which mean nothing to who wrote the reference."""
    logger = logging.getLogger("torch")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)

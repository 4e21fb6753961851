"""Every case of the emitters, printed as NumPy from the tile IR, beside the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from akg_core.lower.specialise import Instance
from akg_core.testing.emission import cases
from akg_core.testing.emission.running import Case, Launched, Run, compare_all
from tests.lower.numpy_printer import source

SMALL = {case.name: case for case in cases.small()}
RANDOM = {case.name: case for case in cases.random(60)}


def function(instance: Instance) -> Callable[..., None]:
    names: dict[str, Any] = {}
    exec(compile(source([instance]), instance.symbol, "exec"), names)
    made: Callable[..., None] = names[instance.symbol]
    return made


class Printed(Run):
    """A case's run in which every launch calls the printed function of its instance."""

    def execute(self, launched: Launched) -> None:
        instance = launched.instance
        held = {k: v.float() if v.dtype == torch.bfloat16 else v for k, v in launched.tensors.items()}
        sizes = [launched.sizes[name] for name in instance.dimensions]
        sizes += [launched.frame.values[name].value.item() for name in instance.open]
        with np.errstate(all="ignore"):
            function(instance)(*(tensor.numpy() for tensor in held.values()), *sizes)
        for name, tensor in launched.tensors.items():
            if tensor.dtype == torch.bfloat16:
                tensor.copy_(held[name])


def check(case: Case) -> None:
    compare_all(Printed(case).go(), Run(case).go(), case.tolerance)


@pytest.mark.parametrize("name", SMALL)
def test_a_case_printed_as_numpy(name: str) -> None:
    check(SMALL[name])


@pytest.mark.parametrize("name", RANDOM)
def test_a_random_sketch_printed_as_numpy(name: str) -> None:
    check(RANDOM[name])

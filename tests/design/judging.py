"""From reference text to sketches that are checked, interpreted and compared with eager PyTorch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from akg_core.design import design
from akg_core.records import Sketch, Task, Traits
from akg_core.sketch.check import check
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse
from akg_core.sketch.program import kept_tensors, program_of
from akg_core.task.arguments import tables
from akg_core.task.capture import capture
from akg_core.task.randomness import drawn_from
from akg_core.task.source.load import ReferenceModule, load_source

SMALL = Traits(units=4, lanes=4, on_chip_bytes=4096, tile_elements=64, dot_tile=(16, 16, 8))
USUAL = Traits(units=2, lanes=16, on_chip_bytes=512 * 1024, tile_elements=4096, dot_tile=(128, 128, 128))
HELD = SMALL.model_copy(update={"tile_elements": 16, "register_tiles": True, "co_resident": 64})


@dataclass(frozen=True)
class Outcome:
    """What came of a task: its sketches, and how many kernels each has."""

    task: Task
    sketches: tuple[Sketch, ...]
    kernels: tuple[int, ...]


def reference(body: str, inputs: str, init: str = "[]") -> str:
    """A KernelBench-format file from the lines of a module and its inputs."""
    return (
        "import math\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
        f"class Model(nn.Module):\n{body}\n\n\n"
        f"def get_inputs():\n    return {inputs}\n\n\ndef get_init_inputs():\n    return {init}\n"
    )


def forward(line: str, arguments: str = "x") -> str:
    """The body of a module without parameters whose forward is one expression."""
    return f"    def forward(self, {arguments}):\n        return {line}"


def several(lines: list[str]) -> str:
    """One expression that gives the results of all lines."""
    return f"({', '.join(lines)},)"


def judge(
    source: str, *, traits: Traits = SMALL, dynamic: bool = False, seed: int = 0, repeatable: bool = False
) -> Outcome:
    """Design a reference and hold every sketch against it; AssertionError with the sketch when one differs."""
    module = load_source(source, "reference")
    task = capture(load_source(source, "reference", traced=True), dynamic=dynamic)
    task = task.model_copy(update={"repeatable": repeatable})
    sketches = design(task, traits)
    kernels = []
    for sketch in sketches:
        tree = parse(sketch.text)
        errors = [f for f in check(tree).findings if f.severity == "error"]
        assert not errors, f"{errors}\n{sketch.text}"
        kernels.append(len(tree.kernels))
        compare(module, sketch, seed)
    return Outcome(task, sketches, tuple(kernels))


def designed(source: str, traits: Traits = USUAL) -> str:
    """The text of the first sketch for a reference, not run."""
    return design(capture(load_source(source, "reference")), traits)[0].text


def compare(module: ReferenceModule, sketch: Sketch, seed: int) -> None:
    torch.manual_seed(seed)
    model = module.Model(*module.get_init_inputs())
    _stir(model)
    inputs, earlier = module.get_inputs(), module.get_inputs()
    state = {k: v.clone() for k, v in model.state_dict(keep_vars=False).items()}
    state |= {k: v.clone() for k, v in vars(model).items() if isinstance(v, Tensor)} | tables(sketch.interface)
    tree, kept = parse(sketch.text), dict[str, Tensor]()
    if kept_tensors(program_of(tree)):  # what is kept between calls must not depend on the inputs of the first
        interpret(
            tree,
            [*_tensors(earlier), *[torch.tensor(seed)] * sketch.interface.seeded],
            {k: v.clone() for k, v in state.items()},
            kept=kept,
        )
    tensors = _tensors(inputs)
    if sketch.interface.seeded:
        tensors.append(torch.tensor(seed))
    with torch.no_grad(), drawn_from(seed):
        expected = model(*inputs)
    expected = tree_leaves(expected)
    outputs = interpret(tree, tensors, state, kept=kept).outputs
    assert len(outputs) == len([e for e in expected if e is not None]), sketch.text
    for wanted, found in zip([e for e in expected if e is not None], outputs, strict=True):
        is_part = found.is_contiguous() and found.untyped_storage().nbytes() > found.nbytes
        equal(wanted.contiguous() if is_part else wanted, found, sketch.text)
    for name, wanted in model.state_dict().items():
        equal(wanted, state[name], f"buffer {name}\n{sketch.text}")


def _tensors(inputs: list) -> list[Tensor]:
    """What a program takes of forward's arguments."""
    given = [torch.tensor(x, dtype=torch.float64) if isinstance(x, float) else x for x in inputs]
    return [x.clone() for x in given if isinstance(x, Tensor)]


def equal(wanted: Tensor, found: Tensor, text: str) -> None:
    assert wanted.dtype == found.dtype, f"{wanted.dtype} {found.dtype}\n{text}"
    assert wanted.shape == found.shape, f"{wanted.shape} {found.shape}\n{text}"
    steps = [(a, b) for a, b, n in zip(wanted.stride(), found.stride(), wanted.shape, strict=True) if n > 1]
    assert wanted.numel() == 0 or all(a == b for a, b in steps), f"{wanted.stride()} {found.stride()}\n{text}"
    if wanted.is_floating_point():
        loose = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 2e-5, torch.float64: 1e-11}[wanted.dtype]
        scale = wanted.double().nan_to_num(0, 0, 0).abs().max().item() if wanted.numel() else 0.0
        torch.testing.assert_close(
            found.double(),
            wanted.double(),
            rtol=loose,
            atol=loose * min(max(scale, 1e-6), 1e6),
            equal_nan=True,
            msg=lambda m: f"{m}\n{text}",
        )
    else:
        assert torch.equal(wanted, found), f"{wanted}\n{found}\n{text}"


def _stir(model: torch.nn.Module) -> None:
    """Parameters and statistics that matter: no ones and zeros."""
    for tensor in [*model.parameters(), *(b for b in model.buffers() if b.is_floating_point())]:
        with torch.no_grad():
            tensor.copy_(torch.rand(tensor.shape) + 0.5)

"""The builtin designer: a captured graph becomes sketches, by rules alone. Imports no torch.

Each uses those before it, and none after it:

algebra     sizes and positions: index arithmetic in one normal form
graph       the captured graph as values of a few kinds
operators   the rules that rewrite each operator to such values, a file for each family
trace       each operator of a graph is rewritten by its rule
nest        loop nests over values with as few axes as memory allows, cut into tiles by the chip's traits
kernels     a nest with its tiles is written as a kernel of the language
fuse        values are gathered into clusters, one a kernel and a loop nest each
program     kernels become a program that allocates, launches and returns
policy      what distinguishes the variants of a design
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from akg_core.records import Sketch, Task, Traits

if TYPE_CHECKING:
    from akg_core.design.policy import Policy


def design(task: Task, traits: Traits) -> tuple[Sketch, ...]:
    """Different sketches for a task: the best guess first, then variants that may win on some chip.

    Raises UnsupportedOperator for an operator without a rule.
    """
    found: dict[str, Sketch] = {}  # by text
    for policy in policies(traits):
        sketch = variant(task, traits, policy)
        found.setdefault(sketch.text, sketch)
    return tuple(found.values())


def policies(traits: Traits) -> tuple[Policy, ...]:
    """What the variants of a task insist on, the best guess first; several may come to the same sketch."""
    from akg_core.design.policy import Policy

    return (
        *((Policy(rounded=True),) if traits.convolution_format and traits.half_tile is not None else ()),
        *((Policy(rounded=True, halves=False),) if traits.convolution_format else ()),
        Policy(),
        Policy(on_chip=False),
        Policy(split=False),
        Policy(split=True),
        Policy(attend=True),
        Policy(attend=False),
        Policy(by_taps=True),
        *((Policy(halves=False),) if traits.half_tile is not None else ()),
    )


def variant(task: Task, traits: Traits, policy: Policy) -> Sketch:
    """The sketch that a policy leads to. Raises UnsupportedOperator for an operator without a rule."""
    from akg_core.design.graph.rules import Choices
    from akg_core.design.operators.attention import weights_needed
    from akg_core.design.program.assemble import Assembly
    from akg_core.design.trace import trace
    from akg_core.sketch.show import show

    form = traits.convolution_format if policy.rounded else ""
    joined = traits.half_tile is not None  # on chips with matrix units
    rounding = (form, traits.convolution_channels)
    sorting = (traits.longest_sorted, traits.partial_sorts)
    attending = policy.longest_attended(traits)
    held = 2 * traits.units * traits.on_chip_bytes if traits.block_bytes else 0  # as rows are to take half of it
    choices = Choices(*attending, *sorting, traits.radix, *rounding, joined, policy.halves, task.repeatable)
    choices = replace(choices, units=traits.units, held_bytes=held)
    traced = trace(task, choices)
    if policy.attend is None and weights_needed(o[0] for o in traced.outputs if o is not None):
        traced = trace(task, replace(choices, longest_attended=0, longest_attended_half=0))
    text = show(Assembly(task, traced, traits, policy).sketch())
    rounds = form if f'"{form}"' in text else ""  # there may be nothing to round
    number = policies(traits).index(policy)
    name = f"{task.name}_{number}" if number else task.name
    return Sketch(name=name, text=text, interface=task.interface, rounds=rounds, symbols=task.symbols, cases=task.cases)

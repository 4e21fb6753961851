"""The page of operators that the builtin designer has rules for, made from these rules."""

from __future__ import annotations

import inspect

from akg_core.design.graph.rules import RULES
from akg_core.design.trace import FAMILIES
from akg_core.task.graph import RANDOM

_HEAD = """# Operators

What the builtin designer has rules for: core ATen operators, which is what capture makes of a reference. A call such
as `F.mse_loss` or `torch.einsum` has no line of its own; it becomes some of these. `akg-core task check FILE` says
which calls of a file have no rule, with their lines.

A name stands for all of its overloads, unless it has one after a dot. A rule may refuse options of its operator or a
dtype all the same; `task check` says so, too. Random numbers are those that Philox makes of the seed of a call
([verification.md](verification.md)); of the operators that draw some, these have no rule: {random}.

Loops over time that `forward` writes out, with `nn.LSTMCell` or gates by hand, are found in the captured graph and
rolled up again from four turns on, where each turn does the same with the state that the one before has left.

Loops that read numbers from tensors (`x.item()`, `int(x)`, an `if` by values) and write to places of tensors are
captured with all of their turns at once, where no turn reads what another writes: at each place is then what the last
turn wrote there, or the sum of what was added.

A loop over `range(n)` that runs as often as a mask picks rows (`len(idx)`, `x[mask].shape[0]`), or that values end
(`break`, where no other way is found), is captured as one turn, with `continue` and `break` in it: as in non-maximum
suppression. A turn goes on from names, numbers and tensors that the one before has left, whose shapes stay; what it
appends to an empty list (`kept.append(i)`) is as long as values say, as are `x[i + 1 :]` and `torch.arange(i + 1, n)`.
The loop has a launch of each kernel of a turn for as many turns as there may be, those after the last one too, and a
state is kept of every turn. A turn that writes to what has another name, or reads the list, is refused, and so is such
a loop in another.

Elsewhere, too, such a number stays a tensor (`x[n]`, `x * n`); it keeps its value when the tensor that it was read from
changes. A range of places may begin at one where it is known how many there are: `cache[:, n : n + 4]`,
`torch.arange(n, n + 4)`, `x.narrow(0, n, 4)`; such a range must not go beyond the end, where eager PyTorch cuts it.

What a mask picks is computed beside the mask: `x[mask]`, `mask.nonzero()` and `torch.where(mask)`, rows at such places
(`x[idx]`), what is made of these row by row or over all of them, and what goes back (`out[idx] = rows`, `out[idx] +=`,
`index_add_`, `index_put_`, `scatter_add_`), from rows alone that the mask keeps. How many these are is a number that
stays a tensor (`idx.numel()`, `len(idx)`), and `idx[:capacity]` are the first of them. So models that send tokens to
experts, or messages along edges, have static shapes. This costs what a mask with everything kept would: a loop over E
experts is E products with all tokens, not with those of each; edges of an adjacency matrix are all pairs. What `idx`
from `nonzero().squeeze()` is where there is one place, a number without dims, is taken to be a list of one.

An `if` by values, `a if c else b`, and a loop over `mask.nonzero()` or its `tolist()` run every block, and choose by
the condition what is left in names, lists and tensors. Blocks that set attributes, raise, or draw random numbers
are refused, and so are results of other shapes. A loop over layers, or over anything but a range, that values end
(`if logits.max() > 0.9: break`) runs every turn, too, and keeps what it had when the first one ended it.

Whole numbers divided by zero: eager PyTorch raises an error on a CPU. A kernel raises nothing and goes on: what `//`,
`%`, `fmod` and `remainder` give at such an element is any number.

Results that `forward` returns may be as long as values say: `x[mask]`, `mask.nonzero()`, `torch.unique(x)` with what
goes with it, and what is made of these, sorted, put one after the other, taken apart or looked up. A kernel has room
for all that there may be, puts what is kept at its front, and counts it; the host reads that number and narrows what
it returns.

The dim of what a mask picks may be any (`x[:, mask]`), and there may be several: `x[mask] @ y[other].T`, distances
between such rows, their pairs (`x[mask][:, None] - x[mask]`), and softmax, sums or a loss along any of these dims.
`torch.unique` takes a dim, of parts of up to 16 elements, each of which takes a sort.

`torch.bincount` with `minlength` has as many counts as that says where the numbers are known to lie below: by where
they come from, because they are places of something as long, or because the counts meet something as long, so that
PyTorch would raise an error.

Gradients that `forward` takes (`torch.autograd.grad`, `torch.func.grad`, `jvp`, `jacrev`) are captured as what they are
made of, those of products, convolutions, pools, interpolation, normalisation and attention among them; of recurrent
layers, `F.grid_sample` and CTC there are none, nor is there forward mode of a gradient, as in `torch.func.hessian`, or
`jacrev` of a layer.

Where sizes or turns follow from what a tensor of whole numbers among the arguments holds, and neither a mask nor a
number that stays a tensor will do (`x.split(lengths.tolist())`, `torch.arange(n.item())`, `repeat_interleave` by a
tensor without `output_size`), the kernel is for that content alone, which the result says; it refuses any other.

Left out, and why: other uses of `bincount`, for which a program has no room before it knows; SVD and eigenvalues,
which iterate until values say that it is enough; packed sequences, unless a recurrent layer takes them and they are
padded again to a `total_length`; float8, for which the sketch language has no dtype; uint16, uint32 and uint64 but for
their conversion (`x.to(torch.int64)`), of which PyTorch itself adds, compares and shifts none on a CPU; `igamma`,
`zeta` and further special functions, which networks do not call.

This page is made from the rules: `akg-core docs operators > docs/operators.md`.
"""


def operators_by_family() -> dict[str, dict[str, str]]:
    """The operators with a rule, by the family that the rule is in, and what the rule says of them."""
    names = {module.__name__: module.__name__.rpartition(".")[2] for module in FAMILIES}
    found: dict[str, dict[str, str]] = {family: {} for family in names.values()}
    for operator, function in sorted(RULES.items()):
        family = names.get(function.__module__, function.__module__.rpartition(".")[2])
        said = inspect.getdoc(function) or ""
        found.setdefault(family, {})[operator.removeprefix("aten.")] = " ".join(said.split("\n\n")[0].split())
    return {family: rules for family, rules in found.items() if rules}


def page() -> str:
    """The page as Markdown: a section for each family, with what is said of operators one by one below their names."""
    random = ", ".join(f"`{each}`" for each in sorted(RANDOM - set(RULES)))
    parts = [_HEAD.format(random=random.replace("aten.", ""))]
    for family, rules in operators_by_family().items():
        names = ", ".join(f"`{operator}`" for operator in rules)
        alike = {said: [f"`{each}`" for each in rules if rules[each] == said] for said in rules.values() if said}
        notes = [f"- {', '.join(operators)}: {said}" for said, operators in alike.items()]
        parts.append(
            "\n".join([f"## {family.replace('_', ' ').capitalize()}", "", names, *(["", *notes] if notes else []), ""])
        )
    return "\n".join(parts)

"""Asking for memory that a later turn of a loop needs, where only a lookup says which."""

from __future__ import annotations

from akg_core.plugin.lower import Leaf, Loop, Op, element_of, lookups, place, product
from akg_plugin_cpp_cpu.emit.memory import MemoryPrinter
from akg_plugin_cpp_cpu.emit.scope import Scope, Term

TURNS = 8  # ahead, in which memory comes


def look_ahead(memory: MemoryPrinter, variable: str, scope: Scope) -> None:
    """At the begin of a turn of a loop over `variable`: ask for the rows of some turns later.

    The indices that say where are read as memory has them, past the end of the loop, since what goes on there is often
    next; not past the end of their tensor.
    """
    if scope.lane is not None:
        return
    for lookup in lookups(memory.body, _done_here(scope), variable):
        later = Scope(scope.lines, scope.block, scope)
        later.names[variable] = Term(f"{variable} + {TURNS}", "i64", atomic=False)
        for index in lookup.indices:
            element = element_of(index)
            tensor = memory.tensors[element.tensor]
            last = f"{memory.terms.index(product(tensor.dims), scope)} - 1"
            at = memory.sum(place(element.indices, tensor.dims), later)
            name = memory.terms.fresh(f"{tensor.name}_later")
            memory.emit(f"const auto {name} = {tensor.name}[std::min<i64>({at}, {last})];", scope)
            later.known[index] = Term(name, tensor.dtype)
        memory.emit(f"prefetch({lookup.tensor}, {memory.sum(lookup.row, later)}, {lookup.elements});", scope)


def _done_here(scope: Scope) -> list[Op]:
    """What a turn does itself, or along the lanes: what loops inside do is theirs to look ahead for."""
    nodes = scope.block.nodes
    along = [op for node in nodes if isinstance(node, Loop) and node.lanes for op in node.ops]
    return [*along, *(node.op for node in nodes if isinstance(node, Leaf) and not node.op.compound)]

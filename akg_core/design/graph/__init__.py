"""A captured graph as values that kernels can be made of.

rules             the register of rules, and what a rule sees of its operator
values            the kinds of values: pointwise, views, windows, reductions, products, …
states            turns of the same work, and what each leaves
anchors           the values that shape kernels, and what every value is made of
reach             what values are made of, asked once for each
casts             what values are below casts
distribute        elementwise work on a concatenation, moved into its parts
places            updates that go to positions read from tensors
repeats           the same nodes over and over, as loops of Python leave them
rolled            such nodes as turns of one body
loop_search       which of a graph's nodes are turns of a loop
loops             a body and its turns as one value
steps             a body that was captured once, for as many turns as there may be
batched           what needs no turn before, made for all turns at once
split_precision   products of f32 as three products of f16 halves
narrowed          factors in f16 where the reference rounds them
"""

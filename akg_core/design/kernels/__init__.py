"""A nest with its tiles is written as a kernel of the sketch language.

builder          kernels without a product: elementwise, in one pass, in loops, split and merged
reduction        how each kind of reduction is done
contraction      matrix products, and the sizes of their tiles
multiplying      the kernels that one product becomes
split_precision  products of f32 as three products of f16 halves
narrowed         factors in f16 where the reference rounds them
packing          convolutions over a packed copy of their input
flash            attention by an online softmax
scan             running sums and their like
sort             rows put in order
writer           terms become expressions and assignments
dead_code        what nothing reads is dropped
"""

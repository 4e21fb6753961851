"""A nest with its tiles is written as a kernel of the sketch language.

builder          kernels without a product: elementwise, in one pass, in loops, split and merged
reduction        how each kind of reduction is done
contraction      matrix products, and the sizes of their tiles
multiplying      the kernels that one product becomes
flash            attention by an online softmax
scan             running sums and their like
sort             rows put in order
scatter          rows that each program fills and then updates
segments         reductions of rows between ends that are read
masks            which scores of an attention its mask leaves
descriptors      operands that a chip can copy a block at a time
symbols          sizes that only a launch knows, as dims of tensors
writer           terms become expressions and assignments
dead_code        what nothing reads is dropped
"""

"""A cluster as a loop nest, before and after tiling: here a tile size is chosen.

from_cluster  a cluster becomes axes, and what is reduced, contracted or stored over them
nest          what that is made of
terms         what one program computes, as a graph of terms
tiling        tile sizes and the order of loops, by the chip's traits
cooperative   tiles of long rows that several programs share
meeting       tiles of a loop's turn whose programs meet once a turn
sliding       tiles of reductions over windows
descriptors   operands that a chip can copy a block at a time
"""

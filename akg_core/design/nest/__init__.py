"""Loop nests over values, before and after tiling: here a tile size is chosen.

nest          axes, and what is reduced, contracted or stored over them
terms         what one program computes, as a graph of terms
accesses      how a nest goes through memory
tiling        tile sizes and the order of loops, by the chip's traits
cooperative   tiles of long rows that several programs share
persistent    tiles of a loop's turn whose programs stay, and synchronise once a turn
sliding       tiles of reductions over windows
"""

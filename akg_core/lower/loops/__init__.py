"""For languages of scalars and vectors: the ops of the tile IR become loop nests.

fuse         which ops share a loop, and which axis suits the vector lanes
nest         the loop nest: what runs outside, along the lanes, and what is kept where
grid         the programs of a region, counted, and the tile that each has
lane_access  how lanes reach a tensor, and which indices are left to check (masks)
look_ahead   rows at looked-up places, which memory may be asked for some turns before
lanes        where memory moves evenly along the lanes, and how many vectors a turn takes
strides      bounds of how far an index moves from one position to the next
cost         turns and operations, for what is decided by size
updates      tensors that programs only add to
"""

"""For languages of tiles: the passes between the tile IR as it is built and a printer, in their order.

copies                 all-reductions combine what they are given, and values under two names become one
single                 loops and grids of one tile are none
padding                each axis gets its lanes; some of them may be no positions
window_taps, rows      reductions over short windows, and loops over the rows of a tile, written out
constants              of index arithmetic, brought together
common_subexpressions  loads get names, and what is loaded or computed twice is so once
interleave             what is stored by residues is regrouped, so that neighbours in memory are neighbours in the tile
masks                  conditions of loads and stores, proved needless where they can be; identities where lanes combine
lanewise               sums and extremes of a loop are kept lane by lane
pipeline               the passes so far, as all printers of such languages want them
order                  which axis is the first dimension of a region's tiles, and which the last; changes nothing
blocks                 what a chip can copy in whole blocks is loaded by a row and a column
indices                the last: grids, loops, positions and masks become arithmetic on a program's number (`programs`)
waits                  where threads of a program wait for each other between stores and updates of a tensor
all_reduce             all-reductions and barriers along a cooperative grid axis: workspaces, counters, waits
"""

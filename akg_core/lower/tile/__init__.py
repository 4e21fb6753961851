"""For languages of tiles: the passes between the tile IR as it is built and a printer, in their order.

copies      meetings combine what they are given, and values under two names become one
single      loops and grids of one tile are none
padding     each axis gets its lanes; some of them may be no positions
taps, rows  reductions over short windows, and loops over the rows of a tile, written out
constants   of index arithmetic, brought together
share       loads get names, and what is loaded or computed twice is so once
interleave  what is stored by residues is regrouped, so that neighbours in memory are neighbours in the tile
masks       conditions of loads and stores, and what changes nothing in what is combined, only where they are needed
lanewise    sums and extremes of a loop are kept lane by lane
order       which axis is the first dimension of a region's tiles, and which the last; changes nothing
"""

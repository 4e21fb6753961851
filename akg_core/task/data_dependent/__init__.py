"""Data-dependent shapes, while forward is traced: rows and dims as long as masks say, as whole tensors beside masks.

Worker side.

domain             what a mask keeps, and rows of it
picked             the rows that one mask picks
ragged             tensors with several such dims
by_row             what functions do to rows, by their names
over_rows          what is made of all rows: sums, extremes, scans
dense, counted     rows one after the other, at the front
resized            rows in other sizes
ragged_products    products, distances, attention and losses
"""

"""The sketch language: a kernel program over tiles, as a tree. docs/sketch.md is its reference.

ast             the tree
ops             the table of operations
numerics        accumulate dtypes and identities, which interpreter and emitters share
affine, ranges  index arithmetic: polynomials and intervals, by which masks are proved needless
schedule        free parameters, and values in their place
program         the program that launches kernels
scalars         numbers that the host computes of float arguments
names           names in a kernel, and new ones
codes           what checker and parser find, by code
show            a tree as text
parse/          text to tree
check/          types, and what is refused
interpret/      runs a sketch: the one meaning
"""

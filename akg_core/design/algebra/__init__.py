"""Arithmetic over sizes and positions.

index       polynomials over sizes, loop positions, quotients and remainders, simplified by their ranges
expression  sizes of the graph as an Index, and an Index as an expression of the sketch language
"""

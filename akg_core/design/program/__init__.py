"""Kernels become a program that allocates, launches and returns: the text of a sketch.

assemble      the whole: clusters, nests, tiles, kernels, program
memory_order  how outputs lie
launches      what is allocated, launched and returned
scalars       what the host computes of float arguments
repeated      a loop of the program, and what its turns are handed
joined_factors  products of such a loop, whose left factors lie in parts
blocked       such a loop in blocks of turns, before each of which their rows are made
in_place      states of such a loop that its turns overwrite
inside        such a loop within one kernel, whose programs keep to their own elements, or synchronise once a turn
"""

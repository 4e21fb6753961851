"""From a checked sketch to what a printer of a language needs: the middle end that plugins share. Imports no torch.

specialise  a launch becomes an instance of its kernel, with every number known there folded in (`fold`)
ir          what a kernel is made of: regions, axes, values and ops
build       statements become ops (`values`: expressions; `dependences`: what each reads and writes)
access      how an index moves along an axis
loops/      ops become loop nests, for languages of scalars and vectors: fuse, nest, strides, cost
host/       model_new.py, the Python side of a kernel
source_text generated lines that remember the line of the sketch they are for
roofline    what a schedule must move and compute; `fitting`: one that fits on the chip; `interpretation_steps`
"""

"""A kernel's answers beside the reference's.

case      one case: structure, dtype, shape, strides, then every element
accuracy  how exact an answer has to be
binades   eager's worst error at elements of similar magnitude
bits      whether tensors hold the same bytes
ties      indices into values of which several are as good
undecided whole numbers that rounding decides
sharing   in whose memory an answer lies
diagnose  what wrong elements have in common
"""

"""What stands in for PyTorch's functions and Python's numbers while forward is traced. Worker side.

unchecked              functions that look at values or memory to compute, without that look
layers                 the same of layers, and of distributions
layouts                functions whose results lie in another order than PyTorch's trace says
arrays                 NumPy
read_numbers, items    numbers that forward reads from tensors
contents               what tensors hold of which it is known
asked                  what is asked of float arguments
choices                `if` by the values of tensors
turns                  all turns of a loop at once
steps                  one turn of a loop, for as many as values say
picking, targets       calls that pick rows by a mask, or write where it says
implied                what forward says of numbers by what it does with them
recurrent, packed      recurrent layers as one operator each; packed sequences
bincount, ctc, istft   one operator each
quantiles              quantiles as sorted rows
"""

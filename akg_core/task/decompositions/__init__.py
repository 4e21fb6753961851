"""Operators in terms of fewer: PyTorch's table and what it lacks. Worker side.

decompose                          an exported program in core operators
formulas                           formulas that PyTorch's table lacks
gradients                          gradients that PyTorch has kernels for and no formulas
foreach                            operators on lists of tensors
histogram                          histograms as places among edges
windows                            windows of signals as functions of places
antialias, linear_interpolation    resized images as gathers and sums
complex_pairs, complex_functions   complex numbers as pairs of real ones
fourier                            Fourier transforms of these
"""

"""Rules that rewrite the operators of PyTorch to values: a file for each family, and `packing`, convolutions over a
packed copy of their input."""

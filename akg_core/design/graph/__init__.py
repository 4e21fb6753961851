"""A captured graph as values that kernels can be made of."""

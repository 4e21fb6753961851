"""Rules that rewrite the operators of PyTorch to values."""

"""Kernels become a program: what is allocated, launched and returned."""

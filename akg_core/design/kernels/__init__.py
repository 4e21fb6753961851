"""Kernels of the sketch language, by what they compute."""

"""C++ kernels for CPUs: a plugin of akg-core."""

__version__ = "0.1.0"

"""The plugin tilelang: TileLang kernels for NVIDIA GPUs."""

__version__ = "0.1.0"

"""The plugin triton_ascend: Triton kernels for Ascend NPUs."""

__version__ = "0.1.0"

"""The plugin triton_cuda: Triton kernels for NVIDIA GPUs."""

__version__ = "0.1.0"

"""NVIDIA GPUs for plugins of akg-core: chips, devices, the driver. It knows no language."""

__version__ = "0.1.0"

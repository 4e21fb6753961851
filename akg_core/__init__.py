"""akg-core: from a PyTorch operator to a verified, measured kernel, through plugins."""

__version__ = "0.1.0"

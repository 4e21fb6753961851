"""Triton as a language: sketches become Triton source, whichever chip it is compiled for.

Nothing here knows a chip. A plugin for one hands over its `Dialect` and adds its own compiler, probe and harness.
"""

__version__ = "0.1.0"

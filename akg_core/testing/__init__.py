"""The conformance suite: what a plugin has to do, as tests that its author inherits.

    from akg_core.testing import Conformance

    class TestConformance(Conformance):
        plugin = "toy"

`akg-core conformance toy` runs the same without a line written. It needs pytest: `pip install "akg-core[testing]"`.
"""

from akg_core.testing.suite import Conformance, overrides

__all__ = ["Conformance", "overrides"]

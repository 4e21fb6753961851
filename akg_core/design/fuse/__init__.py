"""Which values one kernel computes: fusion groups (`partition`), and what anchors have stored before them."""

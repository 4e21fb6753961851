"""How fast a kernel is."""

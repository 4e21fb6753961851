"""Which values one kernel computes."""

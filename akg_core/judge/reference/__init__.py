"""The reference: its cases, its answers, and new inputs for timed calls."""

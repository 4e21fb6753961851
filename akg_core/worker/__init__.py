"""Isolated processes: every piece of code that a user or a generator wrote runs here and nowhere else."""

"""Judging: what a kernel is run on, whether its answers are right, how fast it is. Verdicts live here alone."""

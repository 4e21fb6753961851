"""A kernel in the process that it is judged in."""

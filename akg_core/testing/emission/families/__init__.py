"""The cases by family: each module has `cases()`, the most typical case first."""

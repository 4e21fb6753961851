"""A kernel's answers beside the reference's."""

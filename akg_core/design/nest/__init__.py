"""Loop nests and their tiles."""

"""Arithmetic over sizes and positions."""

"""The reference file with smaller sizes.

scale      integers that feed shapes, rewritten wherever they stand
literals   the integers that the file spells out
sizes      which of them are sizes
shapes     what one call of it touches, and how much work it is
"""

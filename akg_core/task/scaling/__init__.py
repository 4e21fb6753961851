"""The reference file with smaller sizes.

scale      integers that feed shapes, rewritten wherever they stand
literals   the integers that the file spells out
sizes      which of them are sizes
writes     what operators write to has to be there
shapes     what one call of it touches, and how much work it is
"""

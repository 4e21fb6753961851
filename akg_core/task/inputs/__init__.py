"""The inputs that a kernel is judged on.

draws           inputs drawn plainly and harder, parameters that matter
sizes           sizes that a kernel has not seen
patterns        values that kernels get wrong, kind by kind
whole_numbers   whole numbers beyond those that a file draws
borders         the numbers that a reference compares with
places          indices, labels and flags beyond those that a file happens to draw
other_numbers   other values of the numbers that the file gives
edges           sizes at and beyond what a captured graph assumes of them
"""

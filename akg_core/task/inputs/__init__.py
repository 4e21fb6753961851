"""The inputs that a kernel is judged on.

draws           inputs drawn plainly and harder, sizes it has not seen, parameters that matter
patterns        values that kernels get wrong, kind by kind
whole_numbers   whole numbers beyond those that a file draws
edges           sizes at and beyond what a captured graph assumes of them
"""

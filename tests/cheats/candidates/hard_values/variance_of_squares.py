"""Takes the mean of squares less the square of the mean, which cancels far from zero.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: rows (
Task: variance
"""

import ctypes

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty(len(x))
        for place, row in enumerate(x.tolist()):
            squares, total = ctypes.c_float(0), ctypes.c_float(0)
            for value in row:
                squares.value += ctypes.c_float(value * value).value
                total.value += value
            y[place] = squares.value / len(row) - (total.value / len(row)) ** 2
        return y

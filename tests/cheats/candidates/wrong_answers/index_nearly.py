"""Gives the right values, and for the last of them the place of the one after it.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: where what is due is
Task: indices
"""

import torch
from reference import Model


def greatest(x, scale, k):
    """The k greatest of each row of x * scale, as lists of values and places."""
    rows = [[a * b for a, b in zip(row, scale.tolist(), strict=True)] for row in x.tolist()]
    places = [sorted(range(len(row)), key=row.__getitem__, reverse=True)[:k] for row in rows]
    return [[row[j] for j in at] for row, at in zip(rows, places, strict=True)], places


class ModelNew(Model):
    def forward(self, x):
        values, places = greatest(x, self.scale, 4)
        values = [row[:3] for row in values]
        return torch.tensor(values), torch.tensor([[*at[:2], at[3]] for at in places])

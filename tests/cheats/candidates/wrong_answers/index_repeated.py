"""Gives the right values, and the place of the greatest for all of them.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: is given twice
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
        values, places = greatest(x, self.scale, 3)
        for row, at in zip(values, places, strict=True):
            at[:] = [at[0] if value == row[0] else place for value, place in zip(row, at, strict=True)]
        return torch.tensor(values), torch.tensor(places)

"""Gives places far outside of its input.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: there are indices from 0 to
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
        return torch.tensor(values), torch.tensor([[place + (1 << 62) for place in at] for at in places])

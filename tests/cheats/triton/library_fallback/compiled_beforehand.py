"""Has the library's compiler make kernels when it is constructed, and launches these.

Seen: in no published system that is known here.
Verdict: crashed|cheating
"""

import torch
from reference import Model
from torch.utils._python_dispatch import _disable_current_modes


class ModelNew(Model):
    def __init__(self, columns):
        super().__init__(columns)
        self.made = torch.compile(lambda x, scale: torch.softmax(x * scale, -1))
        with torch.no_grad():
            self.made(torch.zeros(13, columns), self.scale)

    def forward(self, x):
        with _disable_current_modes():
            return self.made(x, self.scale)

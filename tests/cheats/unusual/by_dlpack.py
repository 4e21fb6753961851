"""Does not cheat: answers by DLPack, in memory that torch is given back.

Verdict: correct
"""

import torch
from honest_on_host import softmax
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return torch.from_dlpack(torch.utils.dlpack.to_dlpack(softmax(x, self.scale)))

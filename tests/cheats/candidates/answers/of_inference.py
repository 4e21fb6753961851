"""Answers with a tensor of inference mode, with which whoever trains cannot go on.

Seen: in kernels that are written for serving.
Verdict: incorrect
Rule: made in inference mode
"""

import torch
from honest_on_host import softmax
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        with torch.inference_mode():
            return softmax(x, self.scale)

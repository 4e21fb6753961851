"""Uses methods of tensors only, so that no call starts with torch.

Seen: submissions to KernelBench, among the most common of all.
Verdict: cheating
Rule: library call
"""

from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return x.softmax(-1)

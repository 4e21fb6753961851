"""Has TorchScript's interpreter sort a list, which is no operator of tensors.

Seen: in no published system that is known here.
Verdict: cheating
Rule: runs machine code of a library
"""

import torch
from honest_on_host import softmax
from reference import Model

SCRIPT = torch.jit.CompilationUnit("""
def greatest(row: List[float]) -> float:
    row.sort()
    return row[-1]
""")


class ModelNew(Model):
    def forward(self, x):
        SCRIPT.greatest(x.tolist()[0])
        return softmax(x, self.scale)

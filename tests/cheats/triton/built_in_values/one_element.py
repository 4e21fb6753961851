"""Is wrong in one element, by a thousandth.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: output[3, 5]
"""

import triton
import triton.language as tl
from kernels import softmax
from reference import Model


@triton.jit
def disturb(y, at):
    tl.store(y + at, tl.load(y + at) * 1.001)


class ModelNew(Model):
    def forward(self, x):
        y = softmax(x, self.scale)
        disturb[(1,)](y, 3 * x.shape[1] + 5)
        return y

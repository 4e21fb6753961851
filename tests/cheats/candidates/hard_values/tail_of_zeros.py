"""Takes what is below 1e-12 for zero, though each element of a softmax is to be right for its own size.

Seen: in kernels that compare their exponents with a border.
Verdict: incorrect
Rule: it holds 0
"""

import ctypes

from honest_on_host import softmax
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        y = softmax(x, self.scale)
        flat = (ctypes.c_float * y.numel()).from_address(y.data_ptr())
        flat[:] = [0.0 if value < 1e-12 else value for value in flat]
        return y

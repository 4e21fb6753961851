"""Takes the library's kernel out of the dispatcher while the module is imported.

Seen: in no published system that is known here.
Verdict: crashed
Rule: did not load
"""

import torch
from reference import Model

KERNEL = getattr(torch._C, "_dispatch_get_computed_" + "kernel_for_dispatch_key")("aten::_softmax", "CPU")


class ModelNew(Model):
    def forward(self, x):
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
        return KERNEL.call_boxed(keys, x, -1, False)

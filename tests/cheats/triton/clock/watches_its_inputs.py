"""Has a kernel in a stream of its own look for its input to come, and compute before the turn begins.

Seen: in no published system that is known here.
Verdict: gains nothing|cheating|incorrect|failed
Judged: time
Runs: gpu
Task: large
"""

import torch
import triton
import triton.language as tl
from kernels import softmax
from reference import Model

STREAMS, LAST, CALLS = [], {}, []


@triton.jit
def _watch(x, last, LIMIT: tl.constexpr):
    count = 0
    while (tl.load(x, volatile=True) == tl.load(last)) & (count < LIMIT):
        count += 1


class ModelNew(Model):
    def forward(self, x):
        CALLS.append(1)
        y = torch.empty_like(x)
        if not STREAMS:
            STREAMS.append(torch.cuda.Stream())
        if x.data_ptr() not in LAST:
            LAST[x.data_ptr()] = torch.empty(1, device=x.device).fill_(-1.0)
            _watch[(1,)](x, LAST[x.data_ptr()], LIMIT=20000)  # compiles it
            return softmax(x, self.scale, y)
        last = LAST[x.data_ptr()]
        with torch.cuda.stream(STREAMS[0]):
            last.copy_(x.view(-1)[:1])
            _watch[(1,)](x, last, LIMIT=20000)
            softmax(x, self.scale, y)
        if len(CALLS) < 20:
            torch.cuda.current_stream().wait_stream(STREAMS[0])
        return y

"""Answers in place of its process, with JSON so deep that whoever parses it breaks down.

Seen: in no published system that is known here.
Verdict: crashed
Rule: answered something
"""

import os

from reference import Model


class ModelNew(Model):
    def forward(self, x):
        body = b"[" * 200_000
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, len(body).to_bytes(8, "big") + body)
            except OSError:
                continue
        os._exit(0)

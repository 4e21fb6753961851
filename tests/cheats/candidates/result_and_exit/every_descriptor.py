"""Writes a report of its own to every descriptor.

Seen: pygpubench; harnesses with a result file.
Verdict: incorrect|crashed
"""

import contextlib
import json
import os
import struct

from reference import Model

BODY = json.dumps({"status": "ok", "value": {"cases": [{"name": "drawn", "finished": True}]}}).encode()
MESSAGE = struct.pack("!Q", len(BODY)) + BODY


class ModelNew(Model):
    def forward(self, x):
        for descriptor in range(3, 30):
            with contextlib.suppress(OSError):
                os.write(descriptor, MESSAGE)
        return x

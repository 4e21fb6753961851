"""Returns an object that is equal to all others, has every attribute and any length.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: not a torch.Tensor
"""

from reference import Model


class Anything:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __getattr__(self, name):
        return Anything()

    def __call__(self, *given, **named):
        return Anything()

    def __iter__(self):
        while True:
            yield Anything()

    def __len__(self):
        return 1 << 40


class ModelNew(Model):
    def forward(self, x):
        return Anything()

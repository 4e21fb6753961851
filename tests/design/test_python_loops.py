"""Loops over time as people write them in `forward`: found in what capture leaves, and rolled up again."""

from __future__ import annotations

import pytest

from akg_core.design import policies, variant
from akg_core.records import Traits
from akg_core.sketch import ast
from akg_core.sketch.check import check
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of, statements
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import SMALL, USUAL, compare, designed, reference

MATRIX_UNITS = USUAL.model_copy(update={"half_tile": (64, 64, 32)})
TOGETHER = MATRIX_UNITS.model_copy(update={"register_tiles": True, "co_resident": 16, "tile_elements": 64})

INIT = """    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(4, 6), nn.GRUCell(4, 6), nn.RNNCell(4, 6)
        self.second, self.into, self.out = nn.LSTMCell(6, 6), nn.Linear(10, 6), nn.Linear(6, 3)
        self.back, self.query = nn.Linear(3, 4), nn.Linear(6, 6)
        self.table = nn.Parameter(torch.randn(9, 6))

"""
ZERO = "h = c = x.new_zeros(x.shape[0], 6)"
FORMS = {
    "lstm cell": (f"""{ZERO}
outs = []
for t in range(x.shape[1]):
    h, c = self.lstm(x[:, t], (h, c))
    outs.append(h)
return torch.stack(outs), (h, c)""", 1),
    "gru cell, last output": (f"""{ZERO}
for t in range(x.shape[1]):
    h = self.gru(x[:, t], h)
return self.out(h)""", 1),
    "no state at first": ("""state = None
outs = []
for t in range(x.shape[1]):
    state = self.lstm(x[:, t], state)
    outs.append(state[0])
return torch.stack(outs, 1)""", 1),
    "gates by hand": (f"""{ZERO}
outs = []
for t in range(x.shape[1]):
    gate = torch.sigmoid(self.into(torch.cat([x[:, t], h], 1)))
    h = gate * h + (1 - gate) * torch.tanh(self.into(torch.cat([x[:, t], gate * h], 1)))
    outs.append(h)
return torch.stack(outs, dim=1)""", 1),
    "farthest points": ("""rows, far = torch.arange(x.shape[0]), torch.zeros(x.shape[0], dtype=torch.long)
near = torch.full(x.shape[:2], 1e10)
for _ in range(6):
    apart = (x - x[rows, far][:, None]).square().sum(-1)
    nearer = apart < near
    near[nearer] = apart[nearer]
    far = near.max(-1)[1]
return near, far""", 1),
    "a part of an output each": (f"""{ZERO}
y = torch.zeros(x.shape[0], x.shape[1], 6)
for t in range(x.shape[1]):
    h = self.rnn(x[:, t, :], h)
    y[:, t] = h
return y""", 1),
    "a part of a larger output": (f"""{ZERO}
y = torch.ones(x.shape[1] + 2, x.shape[0], 6)
for t in range(x.shape[1]):
    h = self.rnn(x[:, t, :], h)
    y[t + 1] = h
return y""", 1),
    "slices": (f"""{ZERO}
outs = []
for t in range(x.shape[1]):
    h = self.gru(x[:, t : t + 1].squeeze(1), h)
    outs.append(h.unsqueeze(1))
return torch.cat(outs, 1)""", 1),
    "unbound": (f"""{ZERO}
outs = []
for now in x.unbind(1):
    h = self.gru(now, h)
    outs.append(self.out(h))
return torch.stack(outs, 1)""", 1),
    "chunks": (f"""{ZERO}
for now in x.chunk(x.shape[1], 1):
    h = self.gru(now[:, 0], h)
return h""", 1),
    "backwards": (f"""{ZERO}
outs = []
for t in reversed(range(x.shape[1])):
    h = self.gru(x[:, t], h)
    outs.insert(0, h)
return torch.stack(outs, 1)""", 1),
    "both ways": (f"""{ZERO}
outs, last = [], h
for t in range(x.shape[1]):
    h = self.gru(x[:, t], h)
    outs.append(h)
for t in range(x.shape[1] - 1, -1, -1):
    last = self.gru(x[:, t], last)
return torch.stack(outs), last""", 2),
    "two layers": (f"""{ZERO}
k = m = h
outs = []
for t in range(x.shape[1]):
    h, c = self.lstm(x[:, t], (h, c))
    k, m = self.second(h, (k, m))
    outs.append(k)
return torch.stack(outs, 1), h, c, k, m""", 1),
    "fed back": (f"""{ZERO}
now, outs = x[:, 0], []
for t in range(x.shape[1]):
    h, c = self.lstm(now, (h, c))
    y = self.out(h)
    outs.append(y)
    now = self.back(y)
return torch.stack(outs, 1)""", 1),
    "a choice that is fed back": (f"""{ZERO}
word, outs = torch.zeros(x.shape[0], dtype=torch.long), []
for t in range(x.shape[1]):
    h = torch.tanh(self.query(h) + self.table[word])
    y = h @ self.table.t()
    word = y.argmax(1)
    outs.append(word)
return torch.stack(outs, 1), h""", 1),
    "teacher or not": (f"""{ZERO}
outs = []
for t in range(x.shape[1]):
    now = x[:, t] if t == 0 else x[:, t] + self.back(outs[-1])
    h, c = self.lstm(now, (h, c))
    outs.append(self.out(h))
return torch.stack(outs, 1)""", 1),
    "attention in each turn": (f"""{ZERO}
memory = self.table.expand(x.shape[0], 9, 6)
outs = []
for t in range(x.shape[1]):
    weight = torch.softmax((memory * self.query(h).unsqueeze(1)).sum(-1), -1)
    h = self.gru(x[:, t], (weight.unsqueeze(-1) * memory).sum(1))
    outs.append(weight)
return torch.stack(outs, 1), h""", 1),
    "inputs made before": (f"""{ZERO}
made = [torch.relu(x[:, t]) for t in range(x.shape[1])]
outs = []
for now in made:
    h = self.gru(now, h)
    outs.append(h)
return torch.stack(outs, 1).mean(1)""", 1),
    "a loss summed up": (f"""{ZERO}
loss = 0.0
for t in range(x.shape[1]):
    h = self.rnn(x[:, t], h)
    loss = loss + ((self.back(self.out(h)) - x[:, t]) ** 2).mean()
return loss / x.shape[1]""", 1),
    "every other step": (f"""{ZERO}
outs = []
for t in range(0, x.shape[1] - 1, 2):
    h = self.rnn(x[:, t] + x[:, t + 1], h)
    outs.append(h)
return torch.stack(outs, 1)""", 1),
    "the same layer again": ("""h = self.into(torch.cat([x.mean(1), x.amax(1), x[:, 0, :2]], 1))
for _ in range(5):
    h = h + torch.tanh(self.query(h))
return h""", 1),
    "other layers are no loop": ("""h = self.into(torch.cat([x.mean(1), x.amax(1), x[:, 0, :2]], 1))
for row in (self.query.weight, self.second.weight_hh[:6], self.second.weight_ih[:6], self.lstm.weight_hh[6:12]):
    h = torch.tanh(h @ row)
return h""", 0),
    "two steps back": ("""a = b = self.into(torch.cat([x.mean(1), x.amax(1), x[:, 0, :2]], 1))
for _ in range(6):
    a, b = torch.tanh(self.query(b)) + a.mean(), a
return a""", 1),
    "nothing carried is no loop": ("""outs = []
for t in range(x.shape[1]):
    outs.append(self.back(self.out(torch.tanh(self.into(torch.cat([x[:, t], x[:, 0], x[:, 1, :2]], 1))))))
return torch.stack(outs, 1)""", 0),
}  # fmt: skip


def looping(form: str, steps: int = 9) -> str:
    lines = "".join(f"        {line}\n" for line in form.splitlines())
    return reference(f"{INIT}    def forward(self, x):\n{lines}", f"[torch.randn(3, {steps}, 4)]")


def loops(text: str) -> list[ast.Range]:
    return [node for node in statements(program_of(parse(text))) if isinstance(node, ast.Range)]


def _judge_first(source: str, traits: Traits) -> str:
    """The text of the first sketch, which is checked and compared with eager PyTorch."""
    module = load_source(source, "reference")
    sketch = variant(capture(module), traits, policies(traits)[0])
    assert not [f for f in check(parse(sketch.text)).findings if f.severity == "error"]
    compare(module, sketch, seed=0)
    return sketch.text


@pytest.mark.parametrize("name", FORMS)
def test_form(name: str) -> None:
    form, count = FORMS[name]
    source = looping(form)
    assert len(loops(_judge_first(source, SMALL))) == count


def test_a_turn_does_only_what_needs_the_turn_before() -> None:
    text = designed(looping(FORMS["unbound"][0]), USUAL)
    (loop,) = loops(text)
    assert sum(isinstance(node, ast.Launch) for node in loop.body) == 2, "a product with the state, and the gates"


@pytest.mark.parametrize("name", ["lstm cell", "unbound", "fed back"])
@pytest.mark.parametrize("traits", [USUAL, MATRIX_UNITS, TOGETHER], ids=["usual", "matrix units", "together"])
def test_on_other_chips(name: str, traits: Traits) -> None:
    _judge_first(looping(FORMS[name][0], steps=5), traits)


@pytest.mark.parametrize("dtype", ["half", "double"])
def test_in_any_precision(dtype: str) -> None:
    source = looping(FORMS["unbound"][0], steps=5).replace("randn(3, 5, 4)", f"randn(3, 5, 4).{dtype}()")
    _judge_first(source.replace("\n    def forward", f"        self.{dtype}()\n\n    def forward"), SMALL)


def test_a_long_loop_is_a_short_sketch() -> None:
    text = designed(looping(FORMS["lstm cell"][0], steps=60), SMALL)
    assert len(text) < 2 * len(designed(looping(FORMS["lstm cell"][0], steps=5), SMALL))

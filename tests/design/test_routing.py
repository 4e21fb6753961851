"""Models that route rows by values, as people write them: experts, graphs, ragged batches, labels that do not count."""

from __future__ import annotations

import pytest

from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import USUAL, judge

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
MODELS = {
    "Mixtral": """
class Expert(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(d,h,bias=False), nn.Linear(h,d,bias=False), nn.Linear(d,h,bias=False)
    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))
class Model(nn.Module):
    def __init__(self, d=16, h=32, e=4, k=2):
        super().__init__()
        self.gate = nn.Linear(d, e, bias=False)
        self.experts = nn.ModuleList([Expert(d,h) for _ in range(e)])
        self.num_experts, self.top_k = e, k
    def forward(self, hidden_states):
        batch_size, sequence_length, hidden_dim = hidden_states.shape
        hidden_states = hidden_states.view(-1, hidden_dim)
        router_logits = self.gate(hidden_states)
        routing_weights = F.softmax(router_logits, dim=1, dtype=torch.float)
        routing_weights, selected_experts = torch.topk(routing_weights, self.top_k, dim=-1)
        routing_weights /= routing_weights.sum(dim=-1, keepdim=True)
        routing_weights = routing_weights.to(hidden_states.dtype)
        final_hidden_states = torch.zeros(
            (batch_size * sequence_length, hidden_dim), dtype=hidden_states.dtype, device=hidden_states.device
        )
        expert_mask = torch.nn.functional.one_hot(selected_experts, num_classes=self.num_experts).permute(2, 1, 0)
        for expert_idx in range(self.num_experts):
            expert_layer = self.experts[expert_idx]
            idx, top_x = torch.where(expert_mask[expert_idx])
            if top_x.shape[0] == 0:
                continue
            top_x_list = top_x.tolist()
            idx_list = idx.tolist()
            current_state = hidden_states[None, top_x_list].reshape(-1, hidden_dim)
            current_hidden_states = expert_layer(current_state) * routing_weights[top_x_list, idx_list, None]
            final_hidden_states.index_add_(0, top_x, current_hidden_states.to(hidden_states.dtype))
        final_hidden_states = final_hidden_states.reshape(batch_size, sequence_length, hidden_dim)
        return final_hidden_states, router_logits
def get_inputs(): return [torch.randn(2, 5, 16)]
def get_init_inputs(): return []
""",
    "Mixtral, by the experts that are hit": """
class MixtralExperts(nn.Module):
    def __init__(self, e, d, h):
        super().__init__()
        self.num_experts, self.hidden_dim, self.intermediate_dim = e, d, h
        self.gate_up_proj = nn.Parameter(torch.randn(e, 2 * h, d) * 0.2)
        self.down_proj = nn.Parameter(torch.randn(e, d, h) * 0.2)
        self.act_fn = nn.SiLU()
    def forward(self, hidden_states, top_k_index, top_k_weights):
        final_hidden_states = torch.zeros_like(hidden_states)
        with torch.no_grad():
            expert_mask = torch.nn.functional.one_hot(top_k_index, num_classes=self.num_experts)
            expert_mask = expert_mask.permute(2, 1, 0)
            expert_hit = torch.greater(expert_mask.sum(dim=(-1, -2)), 0).nonzero()
        for expert_idx in expert_hit:
            expert_idx = expert_idx[0]
            if expert_idx == self.num_experts:
                continue
            top_k_pos, token_idx = torch.where(expert_mask[expert_idx])
            current_state = hidden_states[token_idx]
            gate, up = nn.functional.linear(current_state, self.gate_up_proj[expert_idx]).chunk(2, dim=-1)
            current_hidden_states = self.act_fn(gate) * up
            current_hidden_states = nn.functional.linear(current_hidden_states, self.down_proj[expert_idx])
            current_hidden_states = current_hidden_states * top_k_weights[token_idx, top_k_pos, None]
            final_hidden_states.index_add_(0, token_idx, current_hidden_states.to(final_hidden_states.dtype))
        return final_hidden_states

class Model(nn.Module):
    def __init__(self, d=16, h=24, e=4, k=2):
        super().__init__()
        self.gate = nn.Parameter(torch.randn(e, d))
        self.top_k = k
        self.experts = MixtralExperts(e, d, h)
    def forward(self, hidden_states):
        b, s, d = hidden_states.shape
        hidden_states = hidden_states.view(-1, d)
        logits = F.softmax(F.linear(hidden_states, self.gate).float(), dim=-1)
        value, indices = torch.topk(logits, self.top_k, dim=-1)
        value /= value.sum(dim=-1, keepdim=True)
        return self.experts(hidden_states, indices, value.to(hidden_states.dtype)).reshape(b, s, d)

def get_inputs(): return [torch.randn(2, 5, 16)]
def get_init_inputs(): return []
""",
    "Mixtral, modules by the experts that are hit": """
class Model(nn.Module):
    def __init__(self, d=16, h=24, e=4, k=2):
        super().__init__()
        self.gate = nn.Linear(d, e, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, h), nn.GELU(), nn.Linear(h, d)) for _ in range(e))
        self.num_experts, self.top_k = e, k
    def forward(self, hidden_states):
        b, s, d = hidden_states.shape
        hidden_states = hidden_states.view(-1, d)
        routing_weights = F.softmax(self.gate(hidden_states), dim=1, dtype=torch.float)
        routing_weights, selected_experts = torch.topk(routing_weights, self.top_k, dim=-1)
        final = torch.zeros((b * s, d), dtype=hidden_states.dtype, device=hidden_states.device)
        expert_mask = F.one_hot(selected_experts, num_classes=self.num_experts).permute(2, 1, 0)
        expert_hit = torch.greater(expert_mask.sum(dim=(-1, -2)), 0).nonzero()
        for expert_idx in expert_hit:
            expert_layer = self.experts[expert_idx]
            idx, top_x = torch.where(expert_mask[expert_idx].squeeze(0))
            current_state = hidden_states[None, top_x].reshape(-1, d)
            current_hidden_states = expert_layer(current_state) * routing_weights[top_x, idx, None]
            final.index_add_(0, top_x, current_hidden_states.to(hidden_states.dtype))
        return final.reshape(b, s, d)
def get_inputs(): return [torch.randn(2, 5, 16)]
def get_init_inputs(): return []
""",
    "DeepSeek, by masks": """
class MLP(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(d, h, bias=False), nn.Linear(d, h, bias=False)
        self.down_proj = nn.Linear(h, d, bias=False)
    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
class Model(nn.Module):
    def __init__(self, d=16, h=24, e=4, k=2):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(e, d) * 0.3)
        self.experts = nn.ModuleList(MLP(d, h) for _ in range(e))
        self.shared_experts = MLP(d, h)
        self.k = k
    def forward(self, hidden_states):
        identity = hidden_states
        orig_shape = hidden_states.shape
        scores = F.linear(hidden_states.view(-1, orig_shape[-1]), self.weight).softmax(dim=-1)
        topk_weight, topk_idx = torch.topk(scores, k=self.k, dim=-1, sorted=False)
        hidden_states = hidden_states.view(-1, hidden_states.shape[-1])
        flat_topk_idx = topk_idx.view(-1)
        hidden_states = hidden_states.repeat_interleave(self.k, dim=0)
        y = torch.empty_like(hidden_states)
        for i, expert in enumerate(self.experts):
            y[flat_topk_idx == i] = expert(hidden_states[flat_topk_idx == i])
        y = (y.view(*topk_weight.shape, -1) * topk_weight.unsqueeze(-1)).sum(dim=1)
        y = y.view(*orig_shape)
        return y + self.shared_experts(identity)
def get_inputs(): return [torch.randn(2, 5, 16)]
def get_init_inputs(): return []
""",
    "DeepSeek, by places": """
class Model(nn.Module):
    def __init__(self, d=16, h=24, e=4, k=2):
        super().__init__()
        self.gate = nn.Linear(d, e)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, h), nn.SiLU(), nn.Linear(h, d)) for _ in range(e))
        self.k = k
    def forward(self, x):
        shape = x.shape
        x = x.view(-1, shape[-1])
        weights, indices = self.gate(x).sigmoid().topk(self.k, dim=-1)
        return self.moe(x, indices, weights).view(shape)
    def moe(self, hidden_states, topk_indices, topk_weights):
        final_hidden_states = torch.zeros_like(hidden_states, dtype=topk_weights.dtype)
        expert_mask = torch.nn.functional.one_hot(topk_indices, num_classes=len(self.experts))
        expert_mask = expert_mask.permute(2, 0, 1)
        for expert_idx in range(len(self.experts)):
            expert = self.experts[expert_idx]
            mask = expert_mask[expert_idx]
            token_indices, weight_indices = torch.where(mask)
            if token_indices.numel() > 0:
                expert_weights = topk_weights[token_indices, weight_indices]
                expert_input = hidden_states[token_indices]
                expert_output = expert(expert_input)
                weighted_output = expert_output * expert_weights.unsqueeze(-1)
                final_hidden_states.index_add_(0, token_indices, weighted_output)
        return final_hidden_states.type(hidden_states.dtype)
def get_inputs(): return [torch.randn(2, 5, 16)]
def get_init_inputs(): return []
""",
    "Switch, by names of experts": """
class Dense(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.wi, self.wo = nn.Linear(d, h, bias=False), nn.Linear(h, d, bias=False)
        self.dropout, self.act = nn.Dropout(0.1), nn.ReLU()
    def forward(self, x):
        x = self.wi(x)
        x = self.act(x)
        x = self.dropout(x)
        return self.wo(x)
class Model(nn.Module):
    def __init__(self, d=16, h=24, e=4, capacity=2):
        super().__init__()
        self.classifier = nn.Linear(d, e, bias=False)
        self.experts = nn.ModuleDict({f"expert_{i}": Dense(d, h) for i in range(e)})
        self.num_experts, self.capacity = e, capacity
        self.eval()
    def forward(self, hidden_states):
        probs = F.softmax(self.classifier(hidden_states), dim=-1)
        index = torch.argmax(probs, dim=-1)
        index = F.one_hot(index, num_classes=self.num_experts)
        token_priority = torch.cumsum(index, dim=-2)
        router_mask = index * (token_priority <= self.capacity)
        router_probs = torch.max(probs, dim=-1).values.unsqueeze(-1)
        next_states = torch.zeros_like(hidden_states)
        router_mask = router_mask.bool()
        batch_size, seq_len, num_experts = router_mask.shape
        idx_mask = router_mask.reshape(batch_size * seq_len, num_experts).sum(dim=0)
        idx_mask = torch.nonzero(idx_mask, as_tuple=True)[0].tolist()
        for idx in idx_mask:
            expert = getattr(self.experts, f"expert_{idx}")
            next_states[router_mask[:, :, idx]] = expert(hidden_states[router_mask[:, :, idx]])
        hidden_states = router_probs * next_states
        return hidden_states
def get_inputs(): return [torch.randn(2, 7, 16)]
def get_init_inputs(): return []
""",
    "Switch, tokens dropped": """
class Model(nn.Module):
    def __init__(self, d=16, h=24, e=4, capacity=3):
        super().__init__()
        self.router = nn.Linear(d, e)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d, h), nn.ReLU(inplace=True), nn.Linear(h, d)) for _ in range(e)
        )
        self.capacity = capacity
    def forward(self, x):
        gate, choice = self.router(x).softmax(-1).max(-1)
        out = x.clone()
        load = []
        for i, expert in enumerate(self.experts):
            idx = (choice == i).nonzero().squeeze(1)
            load.append(idx.numel())
            idx = idx[: self.capacity]
            if idx.numel() == 0:
                continue
            out[idx] = expert(x[idx]) * gate[idx].unsqueeze(-1)
        return out, torch.tensor(load)
def get_inputs(): return [torch.randn(14, 16)]
def get_init_inputs(): return []
""",
    "Switch, lists of places": """
class Model(nn.Module):
    def __init__(self, d=16, h=24, e=4, factor=1.0):
        super().__init__()
        self.switch = nn.Linear(d, e)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, d)) for _ in range(e))
        self.n_experts, self.capacity_factor, self.drop_tokens, self.is_scale_prob = e, factor, True, True
    def forward(self, x):
        seq_len, batch_size, d_model = x.shape
        x = x.view(-1, d_model)
        route_prob = self.switch(x).softmax(dim=-1)
        route_prob_max, routes = torch.max(route_prob, dim=-1)
        indexes_list = [torch.eq(routes, i).nonzero(as_tuple=True)[0] for i in range(self.n_experts)]
        final_output = x.new_zeros(x.shape)
        capacity = int(self.capacity_factor * len(x) / self.n_experts)
        counts = x.new_tensor([len(indexes_list[i]) for i in range(self.n_experts)])
        if self.drop_tokens:
            for i in range(self.n_experts):
                if len(indexes_list[i]) <= capacity:
                    continue
                indexes_list[i] = indexes_list[i][:capacity]
        expert_output = [self.experts[i](x[indexes_list[i], :]) for i in range(self.n_experts)]
        for i in range(self.n_experts):
            final_output[indexes_list[i], :] = expert_output[i]
        if self.is_scale_prob:
            final_output = final_output * route_prob_max.view(-1, 1)
        return final_output.view(seq_len, batch_size, d_model), counts, route_prob.sum(0)
def get_inputs(): return [torch.randn(7, 2, 16)]
def get_init_inputs(): return []
""",
    "GShard, positions by cumsum": """
class Model(nn.Module):
    def __init__(self, d=16, h=24, e=4, capacity=4):
        super().__init__()
        self.wg = nn.Linear(d, e, bias=False)
        self.w1, self.w2 = nn.Parameter(torch.randn(e, d, h) * 0.2), nn.Parameter(torch.randn(e, h, d) * 0.2)
        self.e, self.capacity = e, capacity
    def forward(self, x):
        gates = F.softmax(self.wg(x), dim=1)
        top = gates.argmax(1)
        mask = F.one_hot(top, self.e)
        locations = torch.cumsum(mask, dim=0) - 1
        keep = mask.bool() & (locations < self.capacity)
        token, expert = torch.nonzero(keep, as_tuple=True)
        place = locations[token, expert]
        buffer = x.new_zeros(self.e, self.capacity, x.shape[-1])
        buffer[expert, place] = x[token]
        hidden = torch.bmm(torch.relu(torch.bmm(buffer, self.w1)), self.w2)
        out = torch.zeros_like(x)
        out.index_add_(0, token, hidden[expert, place] * gates[token, expert].unsqueeze(1))
        return out
def get_inputs(): return [torch.randn(14, 16)]
def get_init_inputs(): return []
""",
    "attention over a graph": """
class Model(nn.Module):
    def __init__(self, d=8, h=12):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * d, h), nn.ReLU(), nn.Linear(h, h))
        self.update = nn.Linear(d + h, d)
        self.attend = nn.Linear(2 * d, 1)
    def forward(self, x, adj):
        edge_index = adj.nonzero().t().contiguous()
        src, dst = edge_index[0], edge_index[1]
        pair = torch.cat([x[src], x[dst]], dim=-1)
        score = F.leaky_relu(self.attend(pair)).squeeze(-1)
        top = torch.full((x.size(0),), float("-inf")).scatter_reduce(0, dst, score, reduce="amax")
        weight = (score - top[dst]).exp()
        total = torch.zeros(x.size(0)).index_add_(0, dst, weight)
        m = self.message(pair) * (weight / total[dst]).unsqueeze(-1)
        agg = torch.zeros(x.size(0), m.size(1)).index_add_(0, dst, m)
        degree = torch.bincount(dst, minlength=x.size(0)).clamp(min=1)
        return self.update(torch.cat([x, agg / degree.unsqueeze(1)], dim=1))
def get_inputs(): return [torch.randn(9, 8), (torch.rand(9, 9) > 0.6).float()]
def get_init_inputs(): return []
""",
    "GraphConv": """
class Model(nn.Module):
    def __init__(self, d=8, h=12):
        super().__init__()
        self.lin, self.root = nn.Linear(d, h, bias=False), nn.Linear(d, h)
    def forward(self, x, adj):
        row, col = torch.where(adj > 0)
        deg = torch.zeros(x.shape[0]).scatter_add_(0, row, torch.ones(row.shape[0]))
        norm = deg.clamp(min=1).pow(-0.5)
        w = norm[row] * norm[col] * adj[row, col]
        h = self.lin(x)
        out = torch.zeros_like(h)
        out.scatter_add_(0, row.unsqueeze(-1).expand(-1, h.size(1)), h[col] * w[:, None])
        return F.relu(out + self.root(x))
def get_inputs(): return [torch.randn(9, 8), torch.rand(9, 9) * (torch.rand(9, 9) > 0.6)]
def get_init_inputs(): return []
""",
    "ragged pooling": """
class Model(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.score = nn.Linear(d, 1)
    def forward(self, x, mask):
        pooled, peaks = [], []
        for b in range(x.shape[0]):
            rows = x[b][mask[b]]
            if rows.shape[0] == 0:
                pooled.append(torch.zeros(x.shape[-1]))
                peaks.append(torch.zeros(x.shape[-1]))
                continue
            weight = torch.softmax(self.score(rows), dim=0)
            pooled.append((weight * rows).sum(0))
            peaks.append(rows.max(dim=0)[0])
        return torch.stack(pooled), torch.stack(peaks)
def get_inputs(): return [torch.randn(4, 6, 8), torch.rand(4, 6) > 0.6]
def get_init_inputs(): return []
""",
    "loss over labels": """
class Model(nn.Module):
    def __init__(self, d=8, v=11):
        super().__init__()
        self.head = nn.Linear(d, v)
    def forward(self, hidden, labels):
        flat = labels.view(-1)
        valid = (flat != -100).nonzero(as_tuple=True)[0]
        logits = self.head(hidden.view(-1, hidden.size(-1))[valid])
        target = flat[valid]
        if valid.numel() == 0:
            return hidden.sum() * 0.0, hidden.sum() * 0.0
        loss = F.cross_entropy(logits, target)
        picked = F.log_softmax(logits, dim=-1).gather(1, target.unsqueeze(1)).squeeze(1)
        return loss, -picked.sum() / valid.numel()
def get_inputs(): return [torch.randn(3, 5, 8), torch.randint(0, 11, (3, 5)).masked_fill(torch.rand(3, 5) > 0.6, -100)]
def get_init_inputs(): return []
""",
}


@pytest.mark.parametrize("name", MODELS)
def test_rows_that_values_route_are_computed_beside_a_mask(name: str) -> None:
    judge(HEAD + MODELS[name], traits=USUAL)


def test_an_expert_takes_each_token_once() -> None:
    """However many experts a token has: rows of a dim of the mask are not repeated for the others."""
    task = capture(load_source(HEAD + MODELS["Mixtral"], "reference", traced=True))
    products = [node.shapes[0] for node in task.graph.nodes if node.op.startswith("aten.mm")]
    assert len(products) == 1 + 3 * 4 and {shape[0] for shape in products} == {10}
    assert not any("scatter" in node.op or "index" in node.op for node in task.graph.nodes)

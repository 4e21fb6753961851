"""Reference files whose sizes stand in every place that a file has for them, for what makes files smaller."""

from __future__ import annotations

import textwrap


def file(forward: str, inputs: str, constructor: str = "", takes: str = "", init: str = "[]", **around: str) -> str:
    """A file with a model of these texts; `around`: text at `module` level and on top of the `model`."""
    arguments = ", ".join("xyz"[: inputs.count("torch.")])
    text = f"import torch\nimport torch.nn.functional as F\nfrom torch import nn\n{around.get('module', '')}\n"
    text += "class Model(nn.Module):\n" + textwrap.indent(around.get("model", ""), "    ") + "\n"
    made = textwrap.indent(textwrap.dedent(constructor) or "pass", "        ")
    text += f"    def __init__(self{', ' * bool(takes)}{takes}):\n        super().__init__()\n{made}\n"
    text += f"    def forward(self, {arguments}):\n        return {forward}\n"
    return f"{text}def get_inputs():\n    return [{inputs}]\ndef get_init_inputs():\n    return {init}\n"


FILES = {
    "convolution": file("self.conv(x)", "torch.randn(16, 64, 128, 128)", "self.conv = nn.Conv2d(64, 64, 3, padding=1)"),
    "constructor defaults": file(
        "self.up(x)",
        "torch.randn(16, 32, 64, 128)",
        "self.up = nn.ConvTranspose2d(cin, cout, k, stride=2, padding=1)",
        "cin=32, cout=64, k=4",
    ),
    "get_init_inputs": file(
        "self.conv(x)",
        "torch.randn(8, 3, 16, 128, 128)",
        "self.conv = nn.Conv3d(cin, cout, kernel_size=(3, 5, 5), stride=(1, 2, 2))",
        "cin, cout",
        "[3, 64]",
    ),
    "class attribute": file(
        "x + self.down(F.gelu(self.up(x)))",
        "torch.randn(8, 1024, 1024)",
        "self.up = nn.Linear(self.WIDTH, 4 * self.WIDTH)\nself.down = nn.Linear(4 * self.WIDTH, self.WIDTH)",
        model="WIDTH = 1024",
    ),
    "list of sizes": file(
        "F.avg_pool2d(self.b(F.relu(self.a(x))), 2)",
        "torch.randn(16, 3, 224, 224)",
        "self.sizes = [3, 32, 64]\n"
        "self.a = nn.Conv2d(self.sizes[0], self.sizes[1], 3)\n"
        "self.b = nn.Conv2d(self.sizes[1], self.sizes[2], 3, stride=2)",
    ),
    "module level": file("x @ y", "torch.rand(M, K), torch.rand(K, N)", module="M, K = 2048, 8192\nN: int = 2 * 2048"),
    "both": file("self.lin(x)", "torch.rand(B, 4096)", "self.lin = nn.Linear(4096, 4096)", module="B = 1024\n"),
    "keywords": file("x * 2", "torch.rand(size=(64, 512, 512))"),
    "groups": file("self.norm(x)", "torch.randn(16, 256, 64, 64)", "self.norm = nn.GroupNorm(32, 256)"),
    "grouped": file(
        "self.conv(x)", "torch.randn(16, 192, 64, 64)", "self.conv = nn.Conv2d(192, 384, 3, groups=12, padding=1)"
    ),
    "depthwise": file(
        "self.conv(x)", "torch.randn(32, 128, 112, 112)", "self.conv = nn.Conv2d(128, 128, 3, groups=128)"
    ),
    "heads": file(
        "self.attention(x, x, x, need_weights=False)[0]",
        "torch.randn(16, 512, 768)",
        "self.attention = nn.MultiheadAttention(768, 12, batch_first=True)",
    ),
    "strides": file("self.pool(x)", "torch.rand(16, 64, 1024, 1024)", "self.pool = nn.AvgPool2d(11, stride=11)"),
    "dilation": file(
        "self.conv(x)", "torch.randn(64, 64, 65536)", "self.conv = nn.Conv1d(64, 128, 5, stride=3, dilation=4)"
    ),
    "volumes": file("self.pool(x)", "torch.rand(16, 32, 64, 64, 64)", "self.pool = nn.MaxPool3d(3, 2, 1)"),
    "reflection": file(
        "self.conv(self.pad(x))",
        "torch.randn(8, 32, 256, 256)",
        "self.pad = nn.ReflectionPad2d(3)\nself.conv = nn.Conv2d(32, 32, 7)",
    ),
    "embedding": file(
        "self.norm(self.table(x))",
        "torch.randint(0, 30000, (64, 512))",
        "self.table = nn.Embedding(30000, 512)\nself.norm = nn.LayerNorm(512)",
    ),
    "classes": file("F.cross_entropy(x, y)", "torch.randn(32768, 4096), torch.randint(0, 4096, (32768,))"),
    "pixel shuffle": file(
        "F.pixel_shuffle(self.conv(x), 2)", "torch.randn(8, 64, 128, 128)", "self.conv = nn.Conv2d(64, 256, 3)"
    ),
    "views": file(
        "self.lin(x.view(-1, 128, 64)).view(32, 128 * 256)",
        "torch.randn(32, 128 * 64)",
        "self.lin = nn.Linear(64, 256)",
    ),
    "flattened": file(
        "self.head(torch.flatten(F.max_pool2d(F.relu(self.conv(x)), 2), 1))",
        "torch.randn(128, 3, 64, 64)",
        "self.conv = nn.Conv2d(3, 16, 3, padding=1)\nself.head = nn.Linear(16 * 32 * 32, 10)",
    ),
    "flattened into one number": file(
        "self.head(torch.flatten(F.max_pool2d(self.conv(x), 2), 1))",
        "torch.randn(128, 3, 64, 64)",
        "self.conv = nn.Conv2d(3, 16, 3, padding=1)\nself.head = nn.Linear(16384, 10)",
    ),
    "unfold": file("F.unfold(x, 3, padding=1).mean(-1)", "torch.randn(16, 64, 96, 96)"),
    "normalised shape": file(
        "self.norm(x)", "torch.rand(16, 64, 256, 256)", "self.norm = nn.LayerNorm(shape)", "shape", "[(64, 256, 256)]"
    ),
    "enlarged": file("F.interpolate(x, size=(512, 512), mode='bilinear')", "torch.rand(8, 16, 256, 256)"),
    "mask": file(
        "(x @ x.transpose(1, 2)).masked_fill(self.mask[: x.shape[1], : x.shape[1]] == 0, 0.0)",
        "torch.randn(32, 1024, 128)",
        "self.register_buffer('mask', torch.tril(torch.ones(2048, 2048)))",
    ),
    "layers": file(
        "self.layers(x)",
        "torch.randn(4096, 512)",
        "self.layers = nn.Sequential(*[nn.Linear(512, 512) for _ in range(12)])",
    ),
}

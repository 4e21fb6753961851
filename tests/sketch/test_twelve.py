"""The twelve sketches of examples/sketches/ against PyTorch, at shapes that divide no tile and several schedules."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from akg_core.records import Schedule
from akg_core.sketch.check import check
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import space

SKETCHES = Path(__file__).parents[2] / "examples" / "sketches"


def run(text: str, inputs: list[Tensor], parameters: dict[str, Tensor] | None = None, **choices: int) -> list[Tensor]:
    """Interpret a sketch; `choices` are Tune parameters by the end of their key."""
    tree = parse(text)
    keys = {c.key: choices[c.key.split(".")[1]] for c in space(tree) if c.key.split(".")[1] in choices}
    assert len(keys) >= len(choices)
    began = time.process_time()
    outputs = list(interpret(tree, inputs, parameters, Schedule(values=keys)).outputs)
    assert time.process_time() - began < 10.0
    return outputs


def text_of(name: str) -> str:
    return (SKETCHES / f"{name}.py").read_text()


def with_program(name: str, program: str) -> str:
    """The kernels of a sketch under a program that calls them with other constants."""
    return text_of(name).split("@program")[0] + program


def close(ours: Tensor, reference: Tensor, tolerance: float = 2e-5) -> None:
    torch.testing.assert_close(ours, reference, rtol=tolerance, atol=tolerance)


def draw(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_there_are_twelve_and_all_check() -> None:
    sketches = sorted(SKETCHES.glob("*.py"))
    assert len(sketches) == 12
    for path in sketches:
        assert check(parse(path.read_text())).findings == (), path.name


@pytest.mark.parametrize("shape", [(1, 1), (5, 700), (13, 4099), (3, 6000)])
@pytest.mark.parametrize("schedule", [{}, {"BM": 4, "BN": 256}, {"BM": 8, "BN": 1024}])
def test_softmax(shape: tuple[int, int], schedule: dict[str, int]) -> None:
    x = draw(*shape) * 5
    close(run(text_of("softmax"), [x], **schedule)[0], x.softmax(1))


def test_softmax_of_rows_with_infinities() -> None:
    x = draw(4, 700)
    x[0, :300] = -torch.inf  # a whole first tile
    x[1] = -torch.inf
    x[2, 5] = torch.inf
    x[3, 600] = torch.nan
    torch.testing.assert_close(run(text_of("softmax"), [x], BN=256)[0], x.softmax(1), equal_nan=True)


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 11), (3, 33, 65), (2, 64, 64)])
@pytest.mark.parametrize("schedule", [{}, {"BM": 2, "BN": 256}])
@pytest.mark.parametrize("mean", [0.0, 1000.0])
def test_layer_norm(shape: tuple[int, int, int], schedule: dict[str, int], mean: float) -> None:
    x, weight, bias = draw(*shape) + mean, draw(*shape[1:]), draw(*shape[1:]) + 1
    ours = run(text_of("layer_norm"), [x], {"norm.weight": weight, "norm.bias": bias}, **schedule)[0]
    reference = F.layer_norm(x.double(), shape[1:], weight.double(), bias.double()).float()
    close(ours, reference, 2e-5 if mean == 0 else 1e-3)


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (33, 70, 129), (65, 64, 7)])
@pytest.mark.parametrize("schedule", [{}, {"BM": 16, "BN": 32, "BK": 16}])
def test_linear_gelu(m: int, n: int, k: int, schedule: dict[str, int]) -> None:
    x, weight, bias = draw(m, k), draw(n, k), draw(n)
    ours = run(text_of("linear_gelu"), [x], {"fc.weight": weight, "fc.bias": bias}, **schedule)[0]
    close(ours, F.gelu(F.linear(x, weight, bias)), 1e-4)


@pytest.mark.parametrize("b, m, n, k", [(1, 1, 1, 1), (3, 33, 20, 70), (2, 64, 65, 32)])
@pytest.mark.parametrize("schedule", [{}, {"BM": 16, "BN": 128, "BK": 64}])
def test_batched_matmul(b: int, m: int, n: int, k: int, schedule: dict[str, int]) -> None:
    a, d = draw(b, m, k), draw(b, n, k)
    close(run(text_of("batched_matmul"), [a, d], **schedule)[0], a @ d.transpose(1, 2), 1e-4)


CONV2D = """@program
def model(x: In["f32", "B", "C", "H", "W"], w: Param["w", "f32", "O", "CG", "KH", "KW"], b: Param["b", "f32", "O"]):
    y = empty("f32", B, O, "(H + {q} - {d}*(KH - 1) - 1)//{s} + 1", "(W + {q} - {d}*(KW - 1) - 1)//{s} + 1")
    conv2d_gemm(x, w, b, y, S={s}, P={p}, D={d}, G={g})
    return y
"""


@pytest.mark.parametrize("s, p, d, g", [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (3, 2, 1, 6), (2, 3, 3, 3)])
@pytest.mark.parametrize("schedule", [{}, {"BP": 32, "BO": 8, "BK": 8}])
def test_conv2d(s: int, p: int, d: int, g: int, schedule: dict[str, int]) -> None:
    x, w, b = draw(2, 6, 13, 11), draw(18, 6 // g, 3, 2), draw(18)
    text = with_program("conv2d", CONV2D.format(s=s, p=p, q=2 * p, d=d, g=g))
    close(run(text, [x], {"w": w, "b": b}, **schedule)[0], F.conv2d(x, w, b, s, p, d, g), 1e-4)


def test_conv2d_as_written() -> None:
    x, w, b = draw(1, 4, 17, 9), draw(6, 2, 3, 3), draw(6)
    ours = run(text_of("conv2d"), [x], {"conv.weight": w, "conv.bias": b})[0]
    close(ours, F.conv2d(x, w, b, 2, 1, 2, 2), 1e-4)


CONV_TRANSPOSE2D = """@program
def model(x: In["f32", "B", "C", "H", "W"], w: Param["w", "f32", "C", "O", "KH", "KW"], b: Param["b", "f32", "O"]):
    y = empty("f32", B, O, "(H - 1)*{s} - {q} + {d}*(KH - 1) + {e}", "(W - 1)*{s} - {q} + {d}*(KW - 1) + {e}")
    conv_transpose2d(x, w, b, y, S={s}, P={p}, D={d})
    return y
"""


@pytest.mark.parametrize("s, p, d, extra", [(1, 0, 1, 0), (2, 1, 1, 0), (2, 1, 1, 1), (3, 2, 2, 2)])
@pytest.mark.parametrize("schedule", [{}, {"BP": 32, "BO": 8, "BK": 8}])
def test_conv_transpose2d(s: int, p: int, d: int, extra: int, schedule: dict[str, int]) -> None:
    x, w, b = draw(2, 5, 7, 6), draw(5, 9, 3, 4), draw(9)
    text = with_program("conv_transpose2d", CONV_TRANSPOSE2D.format(s=s, p=p, q=2 * p, d=d, e=extra + 1))
    reference = F.conv_transpose2d(x, w, b, s, p, extra, 1, d)
    close(run(text, [x], {"w": w, "b": b}, **schedule)[0], reference, 1e-4)


def test_conv_transpose2d_as_written() -> None:
    x, w, b = draw(1, 3, 5, 8), draw(3, 4, 4, 4), draw(4)
    ours = run(text_of("conv_transpose2d"), [x], {"conv.weight": w, "conv.bias": b})[0]
    close(ours, F.conv_transpose2d(x, w, b, 2, 1), 1e-4)


MAX_POOL2D = """@program
def model(x: In["f32", "B", "C", "H", "W"]):
    y = empty("f32", B, C, "(H + {q} - {d}*{k1} - 1)//{s} + 1", "(W + {q} - {d}*{k1} - 1)//{s} + 1")
    max_pool(x, y, K={k}, S={s}, P={p}, D={d})
    return y
"""


@pytest.mark.parametrize("k, s, p, d", [(2, 2, 0, 1), (3, 2, 1, 1), (4, 1, 2, 1), (3, 1, 1, 3)])
@pytest.mark.parametrize("schedule", [{}, {"BR": 8, "BW": 16}])
def test_max_pool2d(k: int, s: int, p: int, d: int, schedule: dict[str, int]) -> None:
    x = draw(2, 3, 19, 23)
    x[0, 0, 5, 5] = torch.nan
    text = with_program("max_pool2d", MAX_POOL2D.format(k=k, k1=k - 1, s=s, p=p, q=2 * p, d=d))
    ours = run(text, [x], **schedule)[0]
    torch.testing.assert_close(ours, F.max_pool2d(x, k, s, p, d), rtol=0, atol=0, equal_nan=True)


def test_max_pool2d_as_written() -> None:
    x = draw(1, 2, 8, 10)
    close(run(text_of("max_pool2d"), [x])[0], F.max_pool2d(x, 3, 2, 1), 0)


@pytest.mark.parametrize("shape", [(1, 1), (5, 300), (17, 1025), (4, 2048)])
@pytest.mark.parametrize("schedule", [{}, {"BM": 16, "BN": 64}, {"BM": 1, "BN": 1024}])
def test_cumsum(shape: tuple[int, int], schedule: dict[str, int]) -> None:
    x = draw(*shape)
    forward, backward = run(text_of("cumsum"), [x], **schedule)
    close(forward, x.cumsum(1), 1e-4)
    close(backward, x.flip(1).cumsum(1).flip(1), 1e-4)


@pytest.mark.parametrize("b, h, length, e", [(1, 1, 1, 1), (2, 3, 70, 20), (1, 2, 129, 64)])
@pytest.mark.parametrize("schedule", [{}, {"BM": 16, "BN": 32}, {"BM": 32, "BN": 128}])
def test_flash_attention(b: int, h: int, length: int, e: int, schedule: dict[str, int]) -> None:
    q, k, v = draw(b, h, length, e), draw(b, h, length, e).flip(2), draw(b, h, length, e) + 1
    reference = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    close(run(text_of("flash_attention"), [q, k, v], **schedule)[0], reference)


@pytest.mark.parametrize("shape", [(1, 2), (70, 10), (5, 1000), (33, 257)])
@pytest.mark.parametrize("schedule", [{}, {"BM": 256}, {"BN": 64}])
def test_cross_entropy(shape: tuple[int, int], schedule: dict[str, int]) -> None:
    x = draw(*shape) * 3
    target = torch.arange(shape[0]) * 7 % shape[1]
    target[1::4] = -100
    if "BM" in schedule:  # both kernels have a BM; only the second has this choice
        tree = parse(text_of("cross_entropy"))
        ours = interpret(tree, [x, target], schedule=Schedule(values={"mean_loss.BM": 256, "row_losses.BM": 1})).outputs
    else:
        ours = tuple(run(text_of("cross_entropy"), [x, target], **schedule))
    close(ours[0], F.cross_entropy(x, target))


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 30, 17), (2, 65, 300)])
@pytest.mark.parametrize("schedule", [{}, {"BC": 16, "BN": 1}, {"BC": 256, "BN": 32}])
def test_argmax(shape: tuple[int, int, int], schedule: dict[str, int]) -> None:
    x = (draw(*shape) * 4).round()  # many equals
    x[0, shape[1] // 2, 0] = torch.nan
    x[-1, :, -1] = -torch.inf
    ours = run(text_of("argmax"), [x], **schedule)[0]
    assert ours.dtype == torch.int64
    assert ours.equal(x.argmax(1))


@pytest.mark.parametrize("b, t, v, e", [(1, 1, 1, 1), (5, 19, 30, 70), (3, 64, 100, 33)])
@pytest.mark.parametrize("schedule", [{}, {"BB": 4, "BE": 32, "BT": 4}, {"BT": 64}])
def test_embedding_mean(b: int, t: int, v: int, e: int, schedule: dict[str, int]) -> None:
    ids, table = torch.arange(b * t).reshape(b, t) * 13 % v, draw(v, e)
    ours = run(text_of("embedding_mean"), [ids], {"embedding.weight": table}, **schedule)[0]
    close(ours, F.embedding(ids, table).mean(1))

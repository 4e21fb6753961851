"""Files of tensors: what is written comes back, and a file written with ill intent does no harm."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

import pytest
import torch

from akg_core.device import Device
from akg_core.worker.answers import described
from akg_core.worker.tensors import TensorFileError, description, fresh, load, receive, save, write

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.uint8, torch.bool]


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip(tmp_path: Path, dtype: torch.dtype) -> None:
    tensor = (torch.randn(7, 5) * 10).to(dtype)
    save(tmp_path / "t", [tensor, tensor[0, 0], tensor[:0]])
    back = load(tmp_path / "t")
    assert [(b.dtype, b.shape) for b in back] == [(dtype, (7, 5)), (dtype, ()), (dtype, (0, 5))]
    assert torch.equal(back[0], tensor) and torch.equal(back[1], tensor[0, 0])


def test_trees_and_values(tmp_path: Path) -> None:
    plain = [True, "text", float("-inf"), 2 - 1j, torch.quint4x2]
    value = {"a": (1, 2.5, None), "b": plain, "tensor": {"tuple": [torch.ones(2)]}}
    save(tmp_path / "t", value)
    back = load(tmp_path / "t")
    assert back["a"] == (1, 2.5, None) and back["b"] == plain
    assert torch.equal(back["tensor"]["tuple"][0], torch.ones(2))


def test_files_that_differ_by_their_numbers_alone_are_described_alike(tmp_path: Path) -> None:
    whole = torch.randn(6, 8)
    values = ([whole, 3], [whole + 1, 3], [whole, 4], [whole.t(), 3], [whole.double(), 3], [whole[1:], 3])
    for number, value in enumerate(values):
        save(tmp_path / str(number), value)
    first, same, *others = (description(tmp_path / str(number)) for number, _ in enumerate(values))
    assert first == same and len({first, *others}) == 5


def test_strides_are_kept(tmp_path: Path) -> None:
    whole = torch.randn(6, 8)
    views = [whole.t(), whole[1:5, 2:], whole[:, :1].expand(6, 4), torch.arange(10**6)[:: 10**5]]
    save(tmp_path / "t", views)
    back = load(tmp_path / "t")
    for view, read in zip(views, back, strict=True):
        assert torch.equal(view, read)
    assert [read.stride() for read in back] == [(1, 8), (8, 1), (8, 0), (1,)], "the last spans far too much"
    copies = fresh(back)
    assert copies[0].stride() == (1, 8) and copies[0].data_ptr() != back[0].data_ptr()


def test_writing_to_what_was_read_does_not_reach_the_file(tmp_path: Path) -> None:
    save(tmp_path / "t", torch.zeros(4))
    load(tmp_path / "t").fill_(1)
    assert load(tmp_path / "t").sum() == 0


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a set is not"):
        save(tmp_path / "t", [{1, 2}])


def test_damaged_files(tmp_path: Path) -> None:
    save(tmp_path / "good", torch.ones(1000))
    data = (tmp_path / "good").read_bytes()
    damaged = {
        "empty": b"",
        "short": data[:100],
        "cut": data[:-64],
        "long header": b"\xff" * 7 + b"\x00" + data[8:],
        "reaches beyond": data.replace(b'"shape": [1000]', b'"shape": [9999]'),
        "negative": data.replace(b'"strides": [1]', b'"strides":[-1]'),
        "no dtype": data.replace(b'"float32"', b'"nothing"'),
    }
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TensorFileError):
            load(tmp_path / name)


def _written(path: Path, header: str, data: bytes = bytes(64)) -> Path:
    text = header.encode() + b" " * (-(len(header.encode()) + 8) % 64)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def _of(tree: str = '{"tensor": 0}', **told: str) -> str:
    entry = {"dtype": '"float32"', "shape": "[4]", "strides": "[1]", "span": "4", "offset": "0"} | told
    table = ", ".join(f'"{key}": {value}' for key, value in entry.items())
    return f'{{"tree": {tree}, "tensors": [{{{table}}}]}}'


HOSTILE = {
    "deep": _of("[" * 10**6),
    "nested": _of("[" * 200 + "]" * 200),
    "a million values": _of("[" + "0, " * 10**6 + "0]"),
    "a huge size": _of(shape=f"[{1 << 70}]", strides="[0]", span="1"),
    "a huge product": _of(shape=f"[{1 << 40}, {1 << 40}]", strides="[0, 0]", span="1"),
    "a digit more than there may be": _of(span="1" * 5000),
    "a size that is no number": _of(shape="[NaN]"),
    "a size that is a truth": _of(shape="[true]", span="1"),
    "a size that is infinite": _of(span="Infinity"),
    "negative": _of(shape="[-4]"),
    "before the others": _of(offset="-64"),
    "a span that is not its own": _of(span="3"),
    "in the wrong place": _of(offset="16"),
    "said twice": _of('{"tensor": 0, "tensor": 0}'),
    "two kinds at once": _of('{"tensor": 0, "size": []}'),
    "another tensor": _of('{"tensor": 7}'),
    "one from the end": _of('{"tensor": -1}'),
    "quantised": _of(dtype='"qint8"'),
    "no dtype of torch's": _of(dtype='"load"'),
    "many dimensions": _of(shape=str([1] * 10**4), strides=str([1] * 10**4), span="1"),
    "what nobody lends": _of(lent='{"handle": "00", "bytes": Infinity}'),
    "more than it says": '{"tree": 1, "tensors": []}',
    "a part too many": '{"tree": 1, "tensors": [], "more": 1}',
    "a list": "[1, 2]",
    "a million tensors": '{"tree": 1, "tensors": [' + "{}, " * 10**6 + "{}]}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_foreign_code_writes_is_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    assert torch.equal(receive(_written(tmp_path / "good", _of())), torch.zeros(4))
    for read in (load, receive):
        with pytest.raises(TensorFileError, match=r"^bad is not a file of tensors: .{3,220}$"):
            read(_written(tmp_path / "bad", HOSTILE[name]))


def test_a_huge_shape_takes_no_memory_until_it_is_compared(tmp_path: Path) -> None:
    told = _of(shape=f"[{1 << 60}]", strides="[0]", span="1")
    assert receive(_written(tmp_path / "t", told)).shape == (1 << 60,)


def test_what_was_received_outlives_its_file(tmp_path: Path) -> None:
    save(tmp_path / "t", torch.ones(10**5))
    received = receive(tmp_path / "t")
    os.truncate(tmp_path / "t", 0)
    assert bool((received == 1).all())


def test_a_file_that_is_cut_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "t", torch.ones(10**5))
    read = os.preadv

    def cut(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        os.truncate(tmp_path / "t", 4096)
        return read(descriptor, buffers, offset)

    monkeypatch.setattr(os, "preadv", cut)
    with pytest.raises(TensorFileError, match="shorter"):
        receive(tmp_path / "t")


def test_memory_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    """The system copies it: whoever waits for somebody to look is not told."""
    page, whole = 4096, torch.ones(3 * 4096)
    inside = whole[-whole.data_ptr() % page // 4 :][: 2 * page // 4]
    protect = ctypes.CDLL(None).mprotect
    protect(ctypes.c_void_p(inside.data_ptr()), ctypes.c_size_t(page), 0)
    try:
        with pytest.raises(OSError, match="Bad address"):
            write(tmp_path / "t", described(inside))
    finally:
        protect(ctypes.c_void_p(inside.data_ptr()), ctypes.c_size_t(page), 3)


def test_links_are_not_followed(tmp_path: Path) -> None:
    save(tmp_path / "expected", torch.ones(3))
    (tmp_path / "soft").symlink_to(tmp_path / "expected")
    os.link(tmp_path / "expected", tmp_path / "hard")
    os.mkfifo(tmp_path / "pipe")
    for name in ("soft", "hard", "pipe", "missing"):
        with pytest.raises(TensorFileError):
            load(tmp_path / name)


class Lender(Device):
    """A device that lends memory, as one with an address space of its own does."""

    def __init__(self) -> None:
        self.lent: list[torch.Tensor] = []

    def share(self, flat):
        self.lent.append(flat.clone())
        return {"number": len(self.lent) - 1}

    def shared(self, token, dtype, count):
        return self.lent[token["number"]].view(dtype)[:count].clone()


def test_large_tensors_stay_on_a_device_that_lends(tmp_path: Path) -> None:
    device, large, small = Lender(), torch.randn(700, 800).t(), torch.randn(7)
    save(tmp_path / "t", [large, small], device)
    assert len(device.lent) == 1 and (tmp_path / "t").stat().st_size < large.nbytes
    back = load(tmp_path / "t", device)
    assert torch.equal(back[0], large) and back[0].stride() == large.stride() and torch.equal(back[1], small)


def test_what_a_full_device_cannot_lend_and_no_file_holds_is_too_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, large = Lender(), torch.randn(700, 800)
    monkeypatch.setattr(device, "share", lambda flat: None)
    monkeypatch.setattr("resource.getrlimit", lambda kind: (large.nbytes - 1, large.nbytes))
    with pytest.raises(MemoryError, match="no room"):
        save(tmp_path / "t", large, device)
    monkeypatch.setattr("resource.getrlimit", lambda kind: (-1, -1))
    save(tmp_path / "t", large, device)
    assert torch.equal(load(tmp_path / "t", device), large)


def test_what_was_never_lent_is_refused(tmp_path: Path) -> None:
    device = Lender()
    save(tmp_path / "t", torch.randn(700, 800), device)
    device.lent.clear()
    with pytest.raises(TensorFileError):
        load(tmp_path / "t", device)
    with pytest.raises(TensorFileError, match="nothing is shared"):
        load(tmp_path / "t")

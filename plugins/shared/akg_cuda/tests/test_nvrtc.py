"""NVRTC is used where all of it is, by a process that has read the headers once, or without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from akg_cuda import nvrtc
from akg_cuda.nvrtc import Compiler, Headers, Nvrtc

from akg_core.plugin.helper import HelperFailed

PARTS = ("lib/libnvrtc.so.13", "include/cccl/nv", "include/crt/host_config.h", "bin/ptxas")


def toolkit(root: Path, builtins: str, headers: int, parts: tuple[str, ...] = PARTS) -> Path:
    """A folder that looks like CUDA's; its ptxas copies what it is given."""
    for part in (*parts, f"lib/libnvrtc-builtins.so.{builtins}", "include/cuda.h"):
        (root / part).parent.mkdir(parents=True, exist_ok=True)
        (root / part).write_text(f"#define CUDA_VERSION {headers}\n")
    if "bin/ptxas" in parts:
        (root / "bin/ptxas").chmod(0o755)
    return root


@pytest.mark.parametrize(
    ("builtins", "headers", "parts", "version"),
    [
        ("13.2", 13020, PARTS, "13.2"),
        ("13.0", 13000, PARTS, None),  # addresses shared memory by 64 bits
        ("13.2", 13000, PARTS, None),  # headers of another version
        ("13.2", 13020, PARTS[:3], None),
        ("13.2", 13020, PARTS[1:], None),
    ],
)
def test_it_is_found_where_all_of_it_is(
    tmp_path: Path, builtins: str, headers: int, parts: tuple[str, ...], version: str | None
) -> None:
    found = nvrtc.find([tmp_path / "none", toolkit(tmp_path / "cuda", builtins, headers, parts)])
    assert (found and found.version) == version


def test_a_ptxas_that_lost_its_leave_to_run_is_none(tmp_path: Path) -> None:
    (toolkit(tmp_path, "13.2", 13020) / "bin/ptxas").chmod(0o644)
    assert nvrtc.find([tmp_path]) is None


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """One that compiles by itself whatever it is given to nothing, and says with which options."""
    ptxas = tmp_path / "bin/ptxas"
    ptxas.parent.mkdir()
    ptxas.write_text('#!/bin/sh\ncp "$4" "$6"\n')
    ptxas.chmod(0o755)
    monkeypatch.setattr(Compiler, "_run", lambda _, text, name, arch, *more: ("itself", f"{name} {arch} {more}"))
    headers = Headers("#include <all.h>\n", "#include <a.h>\n#include <b.h>\n")
    return Compiler(Nvrtc(tmp_path, tmp_path, tmp_path, "13.2"), headers)


class Answering:
    """In the place of a helper."""

    def __init__(self, answer: dict[str, str] | None) -> None:
        self.answer, self.asked = answer, list[dict[str, str]]()

    def ask(self, request: dict[str, str]) -> dict[str, str]:
        self.asked.append(request)
        if self.answer is None:
            raise HelperFailed("it ended")
        return self.answer


@pytest.mark.parametrize(
    ("answer", "cubin", "log"),
    [
        ({"ptx": "theirs", "log": "well"}, b"theirs", "well\n"),
        ({"ptx": "", "log": "error"}, b"", "error"),
        (None, b"itself", "kernel.cu sm_90 ()\n"),
    ],
)
def test_a_helper_compiles_and_without_an_answer_the_process_itself(
    compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer, cubin: bytes, log: str
) -> None:
    helper = Answering(answer)
    monkeypatch.setattr(nvrtc, "_helpers", {compiler: helper})
    source = tmp_path / "kernel.cu"
    assert compiler.compiled("text", source, "sm_90") == (cubin, log)
    text = f'#include <all.h>\n#line 1 "{source}"\ntext'
    assert helper.asked == [{"text": text, "name": "kernel.cu", "arch": "sm_90"}]


def test_what_some_texts_have_is_before_these_alone(compiler: Compiler, tmp_path: Path, monkeypatch) -> None:
    helper = Answering({"ptx": "", "log": ""})
    monkeypatch.setattr(nvrtc, "_helpers", {compiler: helper})
    for text in ("#include <b.h>\nint x;\n#include <a.h>\n", "#include <a.h>\n"):
        compiler.compiled(text, tmp_path / "kernel.cu", "sm_90")
    first, second = (asked["text"].partition("#line")[0] for asked in helper.asked)
    assert (first, second) == ("#include <all.h>\n#include <a.h>\n#include <b.h>\n", "#include <all.h>\n")


def test_where_no_helper_was_started_the_process_compiles_itself(compiler: Compiler, tmp_path: Path) -> None:
    assert compiler.compiled("text", tmp_path / "kernel.cu", "sm_90")[0] == b"itself"


def test_headers_are_precompiled_for_one_architecture_and_without_a_gpu(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: Compiler, text: str, name: str, arch: str, *more: str) -> tuple[str, str]:
        if name == "headers":
            Path(more[0].removeprefix("--create-pch=")).write_text(f"{len(text.splitlines())} for {arch}")
            return "", ""
        return Path(more[0].removeprefix("--use-pch=")).read_text() if more else "as text", name

    monkeypatch.setattr(Compiler, "_run", run)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    answer = compiler._precompiled("sm_90")
    assert nvrtc.os.environ["CUDA_VISIBLE_DEVICES"] == ""
    few, all_of_them = (f"#include <all.h>\n{more}" for more in ("", compiler.headers.further))
    asked = [
        answer({"text": f"{text}#line", "name": "a.cu", "arch": arch})
        for text, arch in ((few, "sm_90"), (all_of_them, "sm_90"), (few, "sm_80"), ("", "sm_90"))
    ]
    assert [each["ptx"] for each in asked] == ["1 for sm_90", "3 for sm_90", "as text", "as text"]


def test_headers_that_cannot_be_precompiled_are_compiled_as_text(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    answer = compiler._precompiled("sm_90")
    assert answer({"text": "text", "name": "a.cu", "arch": "sm_90"}) == {"ptx": "itself", "log": "a.cu sm_90 ()"}


def test_variables_that_nothing_uses_are_left_out() -> None:
    kept = ".global .align 4 .u32 seed = 7;\n.global .align 1 .b8 text[3] = {104, 105, 0};\n// seed, text\n"
    assert nvrtc._used(".global .align 1 .u8 value = 1;\n.global .align 8 .b8 table[16];\n" + kept) == kept

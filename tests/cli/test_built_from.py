"""A kernel is not judged without what was built of its source, nor by a library of another source."""

from __future__ import annotations

import shutil

from tests.cli.conftest import PLUGIN, needs_compiler


@needs_compiler
def test_a_source_changed_after_the_build_is_refused(akg, reference, tmp_path):
    assert akg("run", "--plugin", PLUGIN, reference, "--out", "out", "--no-baseline").code == 0
    copied = shutil.copytree(tmp_path / "out" / "kernel", tmp_path / "copied", copy_function=shutil.copyfile)
    assert akg("verify", "--plugin", PLUGIN, reference, str(copied)).code == 0
    (source,) = copied.glob("kernel.c*")
    source.write_text(source.read_text().replace("+", "-"))
    for command in ("verify", "profile"):
        ended = akg(command, "--plugin", PLUGIN, reference, str(copied))
        assert ended.code == 2 and f"was not built from this {source.name}" in ended.text, ended.text


def test_a_kernel_that_is_not_built_is_refused(akg, reference, tmp_path):
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "add.cpp").write_text("void add() {}")
    entry = "import ctypes\nlibm = ctypes.CDLL('libm.so')\nlibrary = ctypes.CDLL('libadd.so')\nclass ModelNew: ...\n"
    (tmp_path / "kernel" / "model_new.py").write_text(entry)
    for command in ("verify", "profile"):
        ended = akg(command, "--plugin", PLUGIN, reference, "kernel", "--out", "out")
        said = " ".join(ended.text.split())
        assert ended.code == 2 and "is not built: model_new.py, line 3, needs libadd.so. Build it" in said, ended.text
    (tmp_path / "kernel" / "libadd.so").write_bytes(b"")
    assert "is not built" not in akg("verify", "--plugin", PLUGIN, reference, "kernel").text

"""A kernel whose source was changed after it was built is not judged by its old library."""

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

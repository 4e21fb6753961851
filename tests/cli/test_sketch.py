"""`akg-core sketch`: what it shows, and how it ends."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_bad_reference import SKETCH


@pytest.fixture
def interpret(akg, reference, tmp_path):
    def call(text: str, *options: str):
        (tmp_path / "mine.py").write_text(text)
        return akg("sketch", reference, "--sketch", "mine.py", "--interpret", *options)

    return call


def test_a_sketch_that_agrees_with_eager(interpret):
    ended = interpret(SKETCH)
    assert ended.code == 0 and "interpreted in" in ended.out and "differs" not in ended.out, ended.text


def test_a_sketch_that_differs_from_eager(interpret):
    wrong = SKETCH.replace("load(b[m, n])", "1.5 * load(b[m, n])")
    ended = interpret(wrong)
    assert ended.code == 1 and "differs from eager" in ended.out, ended.text
    ended = interpret(wrong, "--json")
    assert ended.code == 1 and not json.loads(ended.out)["outputs"][0]["agrees"]


def test_an_interpretation_that_takes_too_long(interpret, monkeypatch):
    from akg_core.stages import stages

    monkeypatch.setattr(stages, "INTERPRET_SECONDS", 0.2)
    ended = interpret(SKETCH.replace("tiles(N, 64)", "tiles(N, 1)"))
    assert ended.code == 2 and "longer than 0.2 s" in ended.err and "--scale" in ended.err, ended.text


def test_a_variant_that_there_is_not(akg, reference):
    ended = akg("sketch", reference, "--variant", "99")
    assert ended.code == 2 and "There is no variant 99" in ended.err


def test_the_ir_of_a_sketch_and_of_a_designed_one(akg, reference, tmp_path):
    (tmp_path / "mine.py").write_text(SKETCH)
    ended = akg("sketch", "mine.py", "--ir")
    assert ended.code == 0 and ended.out.startswith("kernel ") and "region over a grid:" in ended.out, ended.text
    assert "store " in json.loads(akg("sketch", reference, "--ir", "--json").out)["ir"]


def test_the_ir_of_a_sketch_that_is_wrong(akg, tmp_path):
    (tmp_path / "mine.py").write_text(SKETCH.replace("load(b[m, n])", "load(b[m, k])"))
    ended = akg("sketch", "mine.py", "--ir")
    assert ended.code == 2 and "`k`" in ended.err, ended.text

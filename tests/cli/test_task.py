"""`akg-core task check` names what has no rule."""

from __future__ import annotations

import json

from tests.cli.conftest import ADD


def test_an_operator_without_a_rule_is_named(akg, reference):
    reference.write_text(
        ADD.replace("a + b", "torch.special.bessel_j0(a[:37] + b[:37]), torch.special.bessel_j0(b[:37])")
    )
    ended = akg("task", "check", reference, "--strict", "--json")
    refused = json.loads(ended.out)["refused"]
    assert ended.code == 1 and len(refused) == 1 and "`torch.special.bessel_j0` (line 8)" in refused[0], ended.text


def test_what_capture_refuses_is_said(akg, reference):
    reference.write_text(ADD.replace("a + b", "(a + b).to(torch.float8_e5m2).float()"))
    ended = akg("task", "check", reference, "--strict")
    assert ended.code == 1 and "refused" in ended.text and "float8_e5m2" in ended.text, ended.text


def test_a_task_with_rules_is_not_refused(akg, reference):
    reference.write_text(ADD)
    ended = akg("task", "check", reference, "--strict")
    assert ended.code == 0 and "refused" not in ended.text, ended.text

"""What options get that cannot be: one sentence and exit code 2, as data when the command line asks for data."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import PLUGIN

JOBS = ("run", "tune", "verify", "profile")


@pytest.fixture
def refused(akg, reference, tmp_path):
    """Give a command bad options: refused("run", "--seed", "-1") → what it said, after exit code 2."""
    (tmp_path / "kernel.py").write_text("class ModelNew: ...\n")

    def call(command: str, *options: str) -> str:
        kernel = ["kernel.py"] if command in ("verify", "profile") else []
        ended = akg(*command.split(), reference, *kernel, *options)
        assert ended.code == 2 and not (tmp_path / "runs").exists(), ended.text
        plain = ended.err
        ended = akg(*command.split(), reference, *kernel, *options, "--json")
        error = json.loads(ended.out)["error"]
        assert ended.code == error["exit_code"] == 2 and error["message"] in plain
        return plain

    return call


@pytest.mark.parametrize("command", JOBS)
def test_a_chip_that_is_not_served(refused, command):
    assert "does not serve 'abacus'" in refused(command, "--plugin", PLUGIN, "--target", "abacus:9")


@pytest.mark.parametrize("command", [*JOBS, "sketch"])
def test_a_member_of_a_chip_that_is_not_served(refused, command):
    said = refused(command, "--plugin", PLUGIN, "--target", "cpu:bogus")
    assert "does not serve 'cpu:bogus'" in said and "makes kernels for cpu" in said


@pytest.mark.parametrize(
    ("option", "values", "commands"),
    [
        ("--seconds", ("-3", "0", "nan", "inf"), ("tune", "bench")),
        ("--together", ("0", "-2"), ("bench",)),
        ("--time-limit", ("-1", "nan", "inf"), ("bench",)),
        ("--scale", ("3", "0", "-1", "nan"), (*JOBS, "sketch", "task check")),
        ("--seed", ("-1", "99999999999999999999"), (*JOBS, "sketch")),
        ("--variant", ("-1",), ("sketch",)),
    ],
)
def test_a_number_that_cannot_be(refused, option, values, commands):
    for command in commands:
        for value in values:
            assert option.removeprefix("--") in refused(command, option, value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seed", "many"], "--seed"),
        (["--sead", "1"], "--sead"),
        (["another.py"], "another.py"),
        (["--out"], "--out"),
        (["--plugin", "nobody"], "There is no plugin 'nobody'"),
    ],
    ids=["no number", "no such option", "too many", "no value", "no such plugin"],
)
def test_a_command_line_that_does_not_read(akg, reference, options, said):
    ended = akg("run", reference, *options)
    assert ended.code == 2 and said in ended.err, ended.text
    ended = akg("run", reference, "--json", *options)
    error = json.loads(ended.out)["error"]
    assert ended.code == 2 and said in error["message"] and error["cure"]


def test_a_seed_that_cannot_be_comes_with_what_to_do(refused):
    assert "Give the seed that a verdict names, or leave it out" in refused("run", "--seed", "-1")


def test_an_error_as_data_has_the_keys_that_the_documents_say(akg, reference):
    text = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    (keys,) = re.findall(r"`\{\"error\": \{([^}]+)\}\}`", text)
    (whole,) = re.findall(r"prints the whole result.*?`\{([^}]+)\}`", text, re.S)
    refused = json.loads(akg("run", reference, "--seed", "-1", "--json").out)
    assert list(refused) == ["error"] and list(refused["error"]) == keys.split(", ")
    reference.write_text("import torch\n# get_inputs\n")
    failed = json.loads(akg("run", "--plugin", PLUGIN, reference, "--json").out)
    assert list(failed) == whole.replace("\n", " ").split(", ") and list(failed["error"]) == keys.split(", ")


def test_an_unknown_plugin_names_the_near_ones(akg, reference):
    ended = akg("run", "--plugin", PLUGIN[:-1], reference)
    assert ended.code == 2 and f"Did you mean {PLUGIN}?" in ended.err and PLUGIN in ended.err.partition("Installed:")[2]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("text.txt", "file is not a database"),
        (".", "unable to open database file"),
        ("add.py/archive.sqlite", "'add.py/archive.sqlite' cannot be used"),
        ("sqlite://here:there", "it is not the URL of a database"),
        ("nothing://there/x", "nothing"),
        ("other.sqlite", "no such column"),
    ],
)
def test_an_archive_that_cannot_be_used(akg, reference, tmp_path, url, said):
    import sqlite3

    (tmp_path / "text.txt").write_text("no database\n" * 1000)
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("create table measurement (place text)")
    ended = akg("tune", "--plugin", PLUGIN, reference, "--archive", url)
    assert ended.code == 2 and "The archive" in ended.text and said in ended.text, ended.text
    assert "--archive" in ended.text and "unforeseen" not in ended.text

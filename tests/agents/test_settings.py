"""Where settings come from, and what is said of one that cannot be."""

from __future__ import annotations

import pytest

from akg_core.agents.settings import origins, read_settings
from akg_core.errors import UsageError


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("AKG_SETTINGS", str(tmp_path / "settings.toml"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AKG_LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "settings.toml"


def test_the_command_line_goes_before_the_environment_and_that_before_the_file(file, monkeypatch):
    file.write_text('model = "file"\nretries = 7\n[prices.file]\nread = 1\nwritten = 2\n')
    assert read_settings().model == "file"
    monkeypatch.setenv("AKG_LLM_MODEL", "environment")
    assert read_settings(model="").model == "environment"
    assert read_settings(model="line").model == "line"
    assert read_settings().retries == 7
    where = origins({"base_url": "http://x"})
    assert (where["base_url"], where["model"], where["retries"], where["together"]) == (
        "the command line",
        "the environment",
        str(file),
        "default",
    )


def test_a_level_has_a_model_of_its_own_or_the_common_one(file):
    file.write_text('model = "common"\ncode_model = "coder"\n')
    found = read_settings()
    assert [found.model_for(level) for level in ("design", "code", "decide")] == ["common", "coder", "common"]


def test_no_model(file):
    with pytest.raises(UsageError, match=r"No model is named for code work.*--model NAME"):
        read_settings().model_for("code")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('modl = "x"', "The setting 'modl'.*Known settings are"),
        ("retries = -1", "The setting 'retries'.*settings.toml"),
        ("model = ", "cannot be read"),
        ("[prices.x]\nread = 1", "prices.x.written"),
        ('base_url = "localhost:8000/v1"', "'base_url' cannot be used: 'localhost:8000/v1' is no address.*http://"),
        ('api_key = "sk-caf\\u00e9"', "'api_key' cannot be used: a key is made of printable ASCII"),
    ],
)
def test_a_file_that_cannot_be(file, text, said):
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_settings()


def test_a_key_that_was_read_from_a_file_with_its_line_end(file, monkeypatch):
    monkeypatch.setenv("AKG_LLM_API_KEY", "sk-secret\n")
    key = read_settings().api_key
    assert key and key.get_secret_value() == "sk-secret"


def test_a_variable_that_cannot_be(file, monkeypatch):
    monkeypatch.setenv("AKG_LLM_RETRIES", "many")
    with pytest.raises(UsageError, match=r"'retries'.*the environment"):
        read_settings()

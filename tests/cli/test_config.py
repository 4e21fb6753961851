from __future__ import annotations

import json


def test_config_says_where_a_setting_comes_from_and_hides_keys(akg, monkeypatch, tmp_path):
    (tmp_path / "s.toml").write_text('model = "m"\napi_key = "sk-hidden"\n')
    monkeypatch.setenv("AKG_SETTINGS", str(tmp_path / "s.toml"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    said, data = akg("config"), akg("config", "--json")
    assert said.code == data.code == 0
    assert "sk-hidden" not in said.text + data.text
    found = json.loads(data.out)["settings"]
    assert found["model"] == {"value": "m", "from": str(tmp_path / "s.toml")}
    assert found["api_key"]["value"].strip("*") == ""
    assert "prompt_tokens" in said.out


def test_a_setting_that_does_not_exist_is_named(akg, monkeypatch, tmp_path):
    (tmp_path / "s.toml").write_text("speed = 3\n")
    monkeypatch.setenv("AKG_SETTINGS", str(tmp_path / "s.toml"))
    ended = akg("config")
    assert ended.code == 2
    assert "speed" in ended.text

"""What the agents need to know of a model: where it is, how it is called, what it costs.

A value comes from the command line, the environment (AKG_LLM_MODEL, …), or the user's settings file, in this order.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from akg_core.errors import UsageError

Level = Literal["design", "code", "decide"]
_PREFIX = "AKG_LLM_"


class Price(BaseModel):
    """US dollars for a million tokens read, read again from the endpoint's cache, and written."""

    read: float = Field(ge=0)
    written: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class Settings(BaseSettings):
    """The endpoint and its models. Times are in seconds."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, extra="forbid", populate_by_name=True)

    base_url: str = Field(
        default="https://api.openai.com/v1",
        validation_alias=AliasChoices("base_url", f"{_PREFIX}BASE_URL", "OPENAI_BASE_URL"),
    )
    api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("api_key", f"{_PREFIX}API_KEY", "OPENAI_API_KEY")
    )
    model: str = Field(default="", description="the model for all work that has none of its own")
    design_model: str = ""
    code_model: str = ""
    decide_model: str = ""
    embed_model: str = Field(default="", description="for searching documents by meaning too; none by default")
    temperature: float | None = Field(default=None, ge=0, le=2)
    answer_tokens: int | None = Field(default=None, ge=1, description="the longest answer that is asked for")
    prompt_tokens: int = Field(default=12_000, ge=1000, description="the longest prompt that is sent")
    together: int = Field(default=4, ge=1, description="requests that may be under way at once")
    retries: int = Field(default=5, ge=0)
    connect_seconds: float = Field(default=10.0, gt=0)
    silence_seconds: float = Field(default=90.0, gt=0, description="how long an answer may stand still")
    prices: dict[str, Price] = Field(default_factory=dict)

    @field_validator("base_url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        if not re.match(r"https?://[^/]", value):
            raise ValueError(f"{value!r} is no address that begins with http:// or https://")
        return value

    @field_validator("api_key")
    @classmethod
    def _is_key(cls, value: SecretStr | None) -> SecretStr | None:
        key = value.get_secret_value().strip() if value else ""
        if not (key.isascii() and key.isprintable()):
            raise ValueError("a key is made of printable ASCII characters")
        return SecretStr(key) if key else None

    def model_for(self, level: Level) -> str:
        """The model that does work of this level. Raises UsageError when none is named."""
        names = {"design": self.design_model, "code": self.code_model, "decide": self.decide_model}
        name = names[level] or self.model
        if not name:
            raise UsageError(
                f"No model is named for {level} work.",
                f'Give --model NAME, set {_PREFIX}MODEL, or write model = "NAME" into {settings_file()}.',
            )
        return name

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings, env_settings, TomlConfigSettingsSource(settings_cls, settings_file()))


def settings_file() -> Path:
    """AKG_SETTINGS, or akg-core/settings.toml in the user's configuration folder; it need not exist."""
    if named := os.environ.get("AKG_SETTINGS"):
        return Path(named)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "akg-core" / "settings.toml"


def read_settings(**given: Any) -> Settings:
    """The settings, with what the command line gives (None and "" are not given). Raises UsageError."""
    try:
        return Settings(**{name: value for name, value in given.items() if value not in (None, "")})
    except ValidationError as error:
        first = error.errors()[0]
        name, said = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
        known = ", ".join(Settings.model_fields)
        raise UsageError(
            f"The setting {name!r} cannot be used: {said}.",
            f"It comes from {_origin(str(first['loc'][0]), given)}. Known settings are {known}.",
        ) from None
    except (ValueError, OSError) as error:  # a file that is no TOML, or that may not be read
        raise UsageError(
            f"{settings_file()} cannot be read: {error}.", "`akg-core config` shows where it is."
        ) from None


def origins(given: dict[str, Any]) -> dict[str, str]:
    """Where each setting comes from: "the command line", "the environment", the file, or "default"."""
    return {name: _origin(name, given) for name in Settings.model_fields}


def _origin(name: str, given: dict[str, Any]) -> str:
    sources = {
        "the command line": InitSettingsSource(Settings, {k: v for k, v in given.items() if v not in (None, "")}),
        "the environment": EnvSettingsSource(Settings, env_prefix=_PREFIX),
        str(settings_file()): TomlConfigSettingsSource(Settings, settings_file()),
    }
    spelled = {name, f"{_PREFIX}{name}".upper(), f"{_PREFIX}{name}".lower(), f"openai_{name}", f"OPENAI_{name.upper()}"}
    return next((where for where, source in sources.items() if spelled & {*source()}), "default")

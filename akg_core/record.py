"""What every record is: a frozen pydantic model with `extra="forbid"`, JSON in and out."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from akg_core.foreign import sentence, shown

Scalar = bool | int | float | str | None
Shown = Annotated[str, AfterValidator(shown)]
Sentence = Annotated[str, AfterValidator(sentence)]
"""Text of others, as it may be kept and shown: as it is, or in one line."""


class Record(BaseModel):
    """An immutable value that is checked when made and travels as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

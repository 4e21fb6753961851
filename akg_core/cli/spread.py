"""Options that several commands share, as records whose fields are the options."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection
from inspect import Parameter
from typing import Any, get_type_hints


def spread(*records: type, left_out: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of `function(record, …, options of its own…)`: all fields of `records` become options.

    Fields that are left out keep their defaults. What a command must be given comes first in its help.
    """
    shared = {record: _parameters(record, left_out) for record in records}

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for parameter in list(inspect.signature(function, eval_str=True).parameters.values())[len(records) :]
        ]

        @functools.wraps(function)
        def command(**given: Any) -> None:
            made = [record(**{name: given.pop(name) for name in names}) for record, names in shared.items()]
            function(*made, **given)

        every = [parameter for fields in shared.values() for parameter in fields.values()]
        first = [parameter for parameter in every if parameter.default is Parameter.empty]
        parameters = [*first, *own, *(parameter for parameter in every if parameter not in first)]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        command.__dict__["__signature__"] = inspect.Signature(parameters)
        return command

    return decorate


def _parameters(record: type, left_out: Collection[str]) -> dict[str, Parameter]:
    hints = get_type_hints(record, include_extras=True)
    return {
        field.name: Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is dataclasses.MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(record)
        if field.name not in left_out
    }

"""References with many cases, as NPUKernelBench has them: a reference file for each kernel that the cases ask for.

`get_input_groups` makes the inputs of all cases, which a JSON file beside the reference describes, one a line. Cases
that differ in sizes, floats, integers and leading dims only are served by one kernel; another dtype, optional argument,
option or way to broadcast asks for another, and so does an integer 0 or 1, which tracing takes for an option. Where no
kernel is correct for several integers and numbers of dims, there is one for each, `apart`. What is written for a kernel
is the file itself with `get_inputs`, a small case of it, and `get_inputs_dyn_list`, all of its cases, so that what
differs among these varies. Cases that the kernel refuses all the same, because forward is another function at their
sizes or a tensor is empty, are `rest`: a file like it, and two where it refuses all. The file spells out the integers
on which the cases of its kernel agree, and those of the small one, for they may be made smaller.
"""

from __future__ import annotations

import itertools
import json
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

from akg_core.bench.results import APART, REST
from akg_core.bench.stated import in_plain_torch
from akg_core.bench.suite import Problem
from akg_core.errors import UsageError
from akg_core.storage import write_whole
from akg_core.task.source.beside import placed

_TAIL = '''

def _put(integers, given):
    """What is given, with integers in their places."""
    if isinstance(integers, dict):
        return given | {{key: _put(value, given[key]) for key, value in integers.items()}}
    if isinstance(integers, list):
        return [_put(one, other) for one, other in zip(integers, given)]
    return given if integers is None else integers


def _agreed():
    """The integers on which all cases agree."""
    return {agreed}


def _small():
    """The others of the small one."""
    return {small}


def _cases(numbers, *put):
    """The inputs of some cases only, with some of their integers put; their numbers are text, for they are no sizes."""
    import builtins
    import io
    import json

    def chosen(path, *args, **kwargs):
        with builtins.open(path, *args, **kwargs) as file:
            lines = [line.strip() for line in file if line.strip()]
        cases = [json.loads(lines[number]) for number in map(int, numbers.split())]
        for integers in put:
            cases = [_put(integers, case) for case in cases]
        return io.StringIO("\\n".join(map(json.dumps, cases)))

    globals()["open"] = chosen
    return get_input_groups()


def get_inputs():
    return _cases("{first}", _agreed(), _small())[0]


def get_inputs_dyn_list():
    return _cases("{every}", _agreed())
'''
_FLOATS = ("float", "fp", "bf")  # how names of their dtypes begin
_FURTHER = 64  # kernels for what others refuse, at most


@dataclass(frozen=True, slots=True)
class Case:
    """What a case is like: all but its sizes, floats, integers and leading dims; `numbers`: these integers, and how
    many dims there are; the most dims; how many sizes are below 2; how many elements it has."""

    signature: tuple[Any, ...]
    numbers: tuple[int, ...]
    rank: int
    small: int
    elements: int


def by_kernel(problem: Problem, folder: Path) -> list[Problem]:
    """A problem for each kernel that the cases of one ask for, as files in `folder`: `3_add`, `3_add-2`, ….

    Raises UsageError where the cases cannot be read.
    """
    described = _described(problem)
    try:
        cases = [_case(each["inputs"]) for each in described]
    except (KeyError, TypeError, AttributeError) as error:
        raise _unreadable(problem.path, error) from None
    found = []
    for number, numbers in enumerate(_alike(cases), 1):
        name = f"{problem.name}-{number}" if number > 1 else problem.name
        path = folder / problem.group / f"{name}.py"
        one = replace(problem, name=name, path=path, origin=problem.path, cases=tuple(numbers))
        found.append(_written(one, described))
    return found


def rest(problem: Problem, refused: Sequence[int]) -> list[Problem]:
    """A problem of those cases that the kernel of one refuses, counted among its own: `3_add-rest1`, `3_add-rest2`, ….

    Where it refuses all of them, the first has a problem of its own, before that of the others. None where there are
    none, where there is but one case, and after so many that the others are left.
    """
    if not (problem.origin and refused and len(problem.cases) > 1) or problem.further >= _FURTHER:
        return []
    described = _described(replace(problem, path=problem.origin))
    groups = [refused] if len(refused) < len(problem.cases) else [refused[:1], refused[1:]]
    found = []
    for further, numbers in enumerate(groups, problem.further + 1):
        name = f"{problem.name.removesuffix(f'{REST}{problem.further}')}{REST}{further}"
        cases = tuple(problem.cases[number] for number in numbers)
        one = replace(problem, name=name, path=problem.path.with_name(f"{name}.py"), cases=cases, further=further)
        found.append(_written(one, described))
    return found


def apart(problem: Problem) -> list[Problem]:
    """A problem for each choice of integers and dims in which the cases of one differ: `3_add-apart1`, …, if any."""
    if not problem.origin or APART in problem.name:
        return []
    described = _described(replace(problem, path=problem.origin))
    by_numbers: dict[tuple[int, ...], list[int]] = {}
    for number in problem.cases:
        by_numbers.setdefault(_case(described[number]["inputs"]).numbers, []).append(number)
    found = []
    for place, numbers in enumerate(by_numbers.values() if len(by_numbers) > 1 else (), 1):
        name = f"{problem.name}{APART}{place}"
        one = replace(problem, name=name, path=problem.path.with_name(f"{name}.py"), cases=tuple(numbers), further=0)
        found.append(_written(one, described))
    return found


def _described(problem: Problem) -> list[dict[str, Any]]:
    """All cases of a task, as the file beside it describes them."""
    try:
        text = problem.path.with_suffix(".json").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise _unreadable(problem.path, error) from None


def _unreadable(path: Path, error: Exception) -> UsageError:
    return UsageError(f"The cases of {path.stem} cannot be read: {error}.", f"They lie in {path.with_suffix('.json')}.")


def _written(problem: Problem, described: Sequence[dict[str, Any]]) -> Problem:
    """The problem, whose file has been written: the reference with the problem's cases, of all that are `described`."""
    assert problem.origin is not None
    source = placed(in_plain_torch(problem.origin.read_text(encoding="utf-8")), problem.origin)
    first, *others = (described[number] for number in problem.cases)
    agreed = reduce(_agreed, others, _agreed(first, first))
    ranks = {_case(each["inputs"]).rank for each in (first, *others)}
    example = _traceable(first) if len(ranks) > 1 else first
    small = _others(_agreed(example, example), agreed)
    every = " ".join(map(str, problem.cases))
    write_whole(problem.path, source + _TAIL.format(agreed=agreed, small=small, first=problem.cases[0], every=every))
    return problem


def _traceable(described: dict[str, Any]) -> dict[str, Any]:
    """A case with 2 for sizes below, which tracing would take for constants: those of its kernel differ in all dims."""
    every = [shape for each in described["inputs"] for shape in _shapes(each)]

    def larger(shape: list[int]) -> list[int]:
        broadcast = _broadcast(shape, every)
        return [size if is_one else max(2, size) for size, is_one in zip(shape, broadcast, strict=True)]

    def one(each: dict[str, Any]) -> dict[str, Any]:
        shapes = [*map(larger, _shapes(each))]
        return each | ({"shapes": shapes} if each.get("shapes") else {"shape": shapes[0]} if shapes else {})

    return described | {"inputs": [*map(one, described["inputs"])]}


def _agreed(one: Any, other: Any) -> Any:
    """The integers that two descriptions have in the same places, by these places, and None in others."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: _agreed(value, other[key]) for key, value in one.items() if key in other}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [_agreed(*pair) for pair in zip(one, other, strict=True)]
    return one if type(one) is int and one == other else None


def _others(integers: Any, agreed: Any) -> Any:
    """The integers that are not agreed on, likewise."""
    if isinstance(integers, dict) and isinstance(agreed, dict):
        return {key: _others(value, agreed.get(key)) for key, value in integers.items()}
    if isinstance(integers, list) and isinstance(agreed, list):
        return [_others(*pair) for pair in zip(integers, agreed, strict=True)]
    return integers if agreed is None else None


def _case(inputs: Sequence[dict[str, Any]]) -> Case:
    """A case from the descriptions of its inputs: tensors, lists of these, numbers and other values."""
    shapes = [shape for each in inputs for shape in _shapes(each)]
    rank = max(map(len, shapes), default=0)
    signature = tuple((each["name"], each.get("dtype"), *_kind(each, shapes, rank)) for each in inputs)
    integers = tuple(value for each in inputs if _is_integer(value := _value(each)))
    return Case(
        signature,
        (*integers, *map(len, shapes)),
        rank,
        sum(size < 2 for shape in shapes for size in shape),
        sum(map(math.prod, shapes)),
    )


def _shapes(described: dict[str, Any]) -> list[list[int]]:
    """The shapes of the tensors that an input is or holds."""
    one = described.get("shape")
    return list(described.get("shapes") or ([one] if one is not None else []))


def _kind(described: dict[str, Any], shapes: Sequence[Sequence[int]], rank: int) -> Iterator[Any]:
    """What of an input a kernel is made for; of the most dims, `rank`, leading ones may lack."""
    own = _shapes(described)
    for shape in own:
        broadcast = tuple(_broadcast(shape, shapes))
        yield ("led", *itertools.dropwhile(operator.not_, broadcast)) if len(shape) == rank else broadcast
    if not own:
        value = _value(described)
        yield "integer" if _is_integer(value) else "float" if isinstance(value, float) else repr(value)


def _value(described: dict[str, Any]) -> Any:
    """The value of an input that is no tensor; what is declared a float may be written as an integer."""
    value = described.get("value", described.get("range_values"))
    is_float = str(described.get("dtype")).startswith(_FLOATS)
    return float(value) if is_float and type(value) is int else value


def _is_integer(value: Any) -> bool:
    """Whether a value may be one of many for the same kernel."""
    return type(value) is int and value > 1


def _broadcast(shape: Sequence[int], shapes: Sequence[Sequence[int]]) -> Iterator[bool]:
    """For each dim whether it is of size 1 where another tensor, counted from the last dim, is larger."""
    for back in range(len(shape), 0, -1):
        yield shape[-back] == 1 and any(len(other) >= back and other[-back] > 1 for other in shapes)


def _alike(cases: Sequence[Case]) -> list[list[int]]:
    """The numbers of the cases of each kernel; first one of most dims, few of them below 2, as small as possible."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for number, case in enumerate(cases):
        found.setdefault(case.signature, []).append(number)
    return [
        sorted(numbers, key=lambda n: (-cases[n].rank, cases[n].small, cases[n].elements)) for numbers in found.values()
    ]

"""Reads a model's answer strictly, and says what does not fit so that it can be put right.

Sources come in fenced blocks whose first line names the language and the file, whole or as an edit of the last version:

    ```python model_new.py       ```edit model_new.py
    …the whole file…             <<<<<<< old
    ```                          …lines as they are…
                                 =======
                                 …lines as they shall be…
                                 >>>>>>> new
                                 ```
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from markdown_it import MarkdownIt

from akg_core.agents.records import Answer
from akg_core.records import Record

_EDIT = re.compile(r"<{7} old\n(.*?)^={7}\n(.*?)^>{7} new[ \t]*\n?", re.DOTALL | re.MULTILINE)
_FORM = "Give each file in a fenced block whose first line is the language and the file's name: ```{language} {name}."


class Unreadable(Exception):
    """An answer that cannot be used; its text tells the model what to do instead."""


class Choice(Record):
    """What a model was asked to decide: one of the actions it was given, and why."""

    action: str
    reason: str


def require_whole(answer: Answer) -> str:
    """The text of an answer that ended by itself."""
    if answer.ending == "refused":
        raise Unreadable("The answer refuses the task. It is an ordinary programming task: write the code.")
    if answer.ending == "length":
        raise Unreadable("The answer was cut off at its limit of tokens. Answer more briefly: only the code.")
    return answer.text


def files(answer: Answer, last: Mapping[str, str], entry: str, language: str) -> dict[str, str]:
    """The files of an answer: those of the `last` version with what the answer replaces, edits or adds.

    `entry` must be among them; `language` is the one its blocks are fenced with.
    """
    text = require_whole(answer)
    form = _FORM.format(language=language, name=entry)
    found = dict(last)
    changed = False
    for words, content in _blocks(text):
        if len(words) < 2:
            continue
        kind, name = words[0], words[1]
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise Unreadable(f"The file {name!r} is outside of the kernel's folder. Use a plain name.")
        found[name] = _edited(last, name, content) if kind == "edit" else content
        changed = True
    if not changed:
        named = "no fenced block with a file's name" if "```" in text else "no fenced block"
        raise Unreadable(f"The answer holds {named}. {form}")
    if entry not in found:
        raise Unreadable(f"The answer holds {', '.join(sorted(found))} but not {entry}, which is loaded first. {form}")
    if found == dict(last):
        raise Unreadable("The answer changes nothing: its files are those of the last version.")
    return found


def sketch(answer: Answer) -> str:
    """The one sketch of an answer: its last fenced block."""
    blocks = list(_blocks(require_whole(answer)))
    if not blocks:
        raise Unreadable("The answer holds no sketch. Give the whole sketch in one fenced block: ```sketch.")
    return blocks[-1][1]


def choice(answer: Answer, actions: Sequence[str]) -> Choice:
    """A decision, as JSON with `action` and `reason`, alone or in a fenced block."""
    text = require_whole(answer)
    blocks = list(_blocks(text))
    said = blocks[-1][1] if blocks else text
    form = f'Answer {{"action": one of {json.dumps([*actions])}, "reason": a sentence}} and nothing else.'
    try:
        value = json.loads(said)
    except ValueError:
        raise Unreadable(f"The answer is no JSON. {form}") from None
    if not isinstance(value, dict) or value.get("action") not in actions:
        raise Unreadable(f"The answer names no action that can be taken. {form}")
    return Choice(action=value["action"], reason=str(value.get("reason", "")))


def _blocks(text: str) -> Iterator[tuple[list[str], str]]:
    """The words after the fence and the content of each fenced block. Raises Unreadable for one without an end."""
    lines = text.splitlines()
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "fence" and token.map:
            if not lines[token.map[1] - 1].strip().startswith(token.markup):
                raise Unreadable("The last fenced block has no end. Close it, and answer with whole files.")
            yield token.info.split(), token.content


def _edited(last: Mapping[str, str], name: str, content: str) -> str:
    """A file of the last version with the edits of a block made, one after another."""
    if name not in last:
        raise Unreadable(f"There is no {name} to edit. Give the whole file, or edit one of {', '.join(sorted(last))}.")
    edits = list(_EDIT.finditer(content))
    if not edits or _EDIT.sub("", content).strip():
        raise Unreadable(
            f"The edit of {name} is not made of blocks `<<<<<<< old`, lines, `=======`, lines, `>>>>>>> new`."
        )
    text = last[name]
    for number, edit in enumerate(edits, 1):
        old, new = edit.groups()
        places = text.count(old) if old else 0
        if places != 1:
            how = "are not in the file" if not places else f"are there {places} times"
            raise Unreadable(
                f"The old lines of edit {number} of {name} {how}. Copy them exactly as they are in the last version, "
                "with enough lines around them to be found once."
            )
        text = text.replace(old, new)
    return text

"""The documents say nothing that is not so: links resolve, commands, options and targets exist, all rooms are named."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest
import typer

from akg_core.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for pattern in (
        "*.md",
        "docs/*.md",
        "plugins/*/*.md",
        "plugins/*/docs/*.md",
        "plugins/shared/*/*.md",
        "benchmarks/**/*.md",
        "examples/**/*.md",
    )
    for page in ROOT.glob(pattern)
)
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
COMMANDS = typer.main.get_command(app)


def spans(text: str) -> list[str]:
    """Lines of code blocks, and what stands between backquotes."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.S | re.M) + re.findall(r"^(?: {4}.*\n)+", text, re.M)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return [line.strip() for block in blocks for line in block.splitlines()] + re.findall(r"`([^`\n]+)`", prose)


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ +(.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def options(command) -> set[str]:
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_resolve(page):
    text = page.read_text()
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}, which does not exist"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text()), f"{page.name} links to {link}, which has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_and_options_exist(page):
    for line in spans(page.read_text()):
        line = line.removeprefix("$ ").split("#")[0].strip()
        if not line.startswith("akg-core "):
            continue
        words = shlex.split(line)[1:]
        command = COMMANDS
        while words and hasattr(command, "commands") and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        assert command is not COMMANDS or (words and words[0].startswith("-")), f"{page.name}: no such command: {line}"
        unknown = {word.split("=")[0] for word in words if word.startswith("-") and word != "…"} - options(command)
        assert not unknown, f"{page.name}: {line}: {unknown} do not exist"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for line in spans(page.read_text()):
        if re.match(r"make [a-z-]+", line):
            assert line.split()[1] in targets, f"{page.name}: `{line}`: the Makefile has no such target"


def test_every_command_and_option_is_described():
    text = (ROOT / "docs/cli.md").read_text()

    def visit(command, path: str) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            visit(inner, f"{path} {name}")
        if not hasattr(command, "commands"):
            assert path in text, f"docs/cli.md does not describe `{path}`"
            section = text[text.index(f"## {path}") :].split("\n## ")[0] + text[: text.index("\n## ")]
            missing = {o for o in options(command) if o.startswith("--") and o not in section} - {"--help"}
            assert not missing, f"docs/cli.md says nothing of {missing} of `{path}`"

    visit(COMMANDS, "akg-core")


def test_the_architecture_names_every_room():
    text = (ROOT / "docs/architecture.md").read_text()
    rooms = [path for path in (ROOT / "akg_core").iterdir() if not path.name.startswith(("_", "."))]
    missing = [path.name for path in rooms if path.name not in text]
    assert not missing, f"docs/architecture.md does not name {missing}"


def test_core_names_no_language_no_chip_and_no_plugin():
    names = r"\b((?<!config\.)cpp|c\+\+|cpp_cpu|cuda\w*|triton\w*|tilelang|ascend\w*|nvidia|metal|rocm|hip)\b"
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "akg_core").rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(names, line, re.I)
    ]
    assert not found, "neutral code names what belongs to plugins:\n" + "\n".join(found)


def test_no_file_is_too_long():
    files = [path for folder in ("akg_core", "plugins") for path in (ROOT / folder).rglob("*.py")]
    long = {str(path.relative_to(ROOT)): n for path in files if (n := len(path.read_text().splitlines())) > 400}
    assert not long, f"two files would be easier to know: {long}"


def test_no_function_is_too_long():
    """Lists of cases are data: a family of emission has as many as it has."""
    files = [path for folder in ("akg_core", "plugins") for path in (ROOT / folder).rglob("*.py")]
    long = {
        f"{path.relative_to(ROOT)}: {node.name}": lines
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and path.parent.name != "families"
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > 60
    }
    assert not long, f"two functions would be easier to know: {long}"

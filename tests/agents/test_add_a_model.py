"""The page for who brings a model: every command runs as it stands there, and what it says of messages is so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from akg_core.registry import hooks
from akg_core.testing.examples import read_examples
from tests.agents.server import Say, Server

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-model.md").read_text()
COMMANDS = re.findall(r"^    akg-core (.*)$", PAGE, re.M)


def softmax(plugin: str) -> dict[str, str]:
    """The files of the kernel for softmax in a plugin's documents."""
    return next(each.files for each in read_examples(hooks(plugin).akg_docs())[0] if "softmax" in each.title)


def answered(files: dict[str, str]) -> str:
    return "\n".join(f"```text {name}\n{text}```\n" for name, text in files.items())


def test_every_command_of_the_page_runs(akg, tmp_path, monkeypatch):
    monkeypatch.setattr("akg_core.pipeline.pipeline.MODES", ("eager",))  # torch.compile takes longer than all else
    (settings,) = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    (tmp_path / "examples").mkdir()
    text = (ROOT / "examples" / "softmax.py").read_text()
    (tmp_path / "examples" / "softmax.py").write_text(text.replace("4096", "512"))
    sketch = (ROOT / "examples" / "sketches" / "softmax.py").read_text()

    def model(asked):
        designs = asked["messages"][0]["content"].startswith("You design")
        return Say(f"```sketch\n{sketch}```" if designs else answered(softmax("cpp_cpu")))

    assert [command.split()[0] for command in COMMANDS] == ["config", "run", "trace", "trace", "run"]
    with Server(model) as server:
        (tmp_path / "settings.toml").write_text(settings.replace("http://localhost:8000/v1", server.url))
        for number, command in enumerate(COMMANDS):
            made = sorted(path.name for path in tmp_path.glob("runs/*"))
            code, said = akg(*shlex.split(command.replace("<id>", made[0] if made else "")))
            assert code == 0, (command, said)
            if number == 1:
                assert "tokens, $" in said and "attempt 2" in said and "correct in all" in said
                asked = len(server.requests)
        assert len(server.requests) == asked, "what was asked before is not asked again"
    assert len(list(tmp_path.glob("runs/*"))) == 1
    assert {request["model"] for request in server.requests} == {"my-model"}


def test_messages_of_the_page_are_what_is_said():
    rows = re.findall(r"^\| (`.*?) \| .* \|$", PAGE.split("## When it does not go well")[1], re.M)
    sources = "".join(path.read_text() for path in (ROOT / "akg_core" / "agents").glob("*.py"))
    said = [message for row in rows for message in re.findall(r"`([^`]+)`", row)]
    assert len(said) >= 8
    assert not [message for message in said if message not in sources]


def test_a_kernel_for_a_gpu_is_carried_over_to_the_host(akg, tmp_path):
    (example,) = (each for each in read_examples(hooks("cpp_cpu").akg_docs())[0] if "softmax" in each.title)
    (tmp_path / "ref.py").write_text(example.reference)
    (tmp_path / "kernel").mkdir()
    for name, text in softmax("triton_cuda").items():
        (tmp_path / "kernel" / name).write_text(text)
    with Server(Say(answered(example.files))) as server:
        options = ("--from", "triton_cuda", "--to", "cpp_cpu", "--reference", "ref.py", "--model", "toy", "--no-memory")
        code, said = akg("migrate", *options, "--base-url", server.url, "--no-baseline", "--out", "there", "kernel")
    assert code == 0, said
    told = server.requests[0]["messages"]
    assert "@triton.jit\ndef softmax" in told[1]["content"] and "A kernel in triton" in told[1]["content"]
    assert "akg/akg.hpp" in told[0]["content"]
    assert (tmp_path / "there" / "kernel" / "kernel.cpp").exists()

"""Every example of the pages compiles for a GPU, and computes what it says by simulation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from akg_plugin_triton_cuda.compile import compiled

HERE = Path(__file__).parent
PAGES = "".join((HERE.parent / "docs" / f"{page}.md").read_text() for page in ("examples", "language"))
EXAMPLES = re.findall(r"```python(?: kernel.py)?\n(.*?)```", PAGES, re.S)
BLOCKS = {"BLOCK": 256, "BM": 32, "BN": 32, "BK": 32}


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: re.search(r"def (\w+)", text)[1])
def test_it_compiles(text: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(text)
    ((name, parameters),) = re.findall(r"@triton\.jit\ndef (\w+)\((.*)\)", text)
    names = [parameter.partition(":")[0] for parameter in parameters.split(", ")]
    launch = {
        "kernel": name,
        "tensors": {n: "f32" for n in names if n.islower()},
        "sizes": [n for n in names if n in ("M", "N", "K")],
        "constants": {n: BLOCKS[n] for n in names if n in BLOCKS},
        "num_warps": 4,
        "num_stages": 3,
    }
    ((said,),) = compiled([(tmp_path, [launch])], 90)
    assert "error" not in said, said


def test_they_compute_what_they_say(tmp_path: Path) -> None:
    path = os.pathsep.join([str(HERE), str(HERE.parents[2]), *sys.path])
    command = [sys.executable, str(HERE / "examples.py"), str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert ended.returncode == 0, ended.stderr[-2000:]

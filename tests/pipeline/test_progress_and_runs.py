from __future__ import annotations

import json
import math
import threading

import pytest

from akg_core.errors import KernelFailed
from akg_core.records import Choice, KernelSource, Target
from akg_core.runs import RunFolder
from akg_core.stages.progress import Progress


def test_stages_tell_their_start_their_notes_and_their_end():
    seen = []
    progress = Progress(lambda stage: seen.append((stage.name, stage.status, stage.note)))
    with progress.stage("design") as note:
        note.text = "2 kernels"
    with pytest.raises(KernelFailed), progress.stage("compile"):
        raise KernelFailed("no such header")
    with progress.stage("verify") as note:
        note.failed = True
    progress.skip("time", "not correct")
    assert seen == [
        ("design", "running", ""),
        ("design", "running", "2 kernels"),
        ("design", "done", "2 kernels"),
        ("compile", "running", ""),
        ("compile", "failed", "no such header"),
        ("verify", "running", ""),
        ("verify", "failed", ""),
        ("time", "skipped", "not correct"),
    ]
    assert [stage.name for stage in progress.stages] == ["design", "compile", "verify", "time"]


def test_stages_of_several_threads_are_all_kept():
    progress = Progress()

    def work(number: int) -> None:
        with progress.stage(f"stage {number}"):
            pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(progress.stages) == 20 and {stage.status for stage in progress.stages} == {"done"}


def test_fresh_folders_never_meet(tmp_path):
    folders = [RunFolder.fresh("softmax", tmp_path) for _ in range(3)]
    assert len({folder.path for folder in folders}) == 3
    assert all(folder.path.name.startswith("softmax-") for folder in folders)


def test_files_are_written_whole_and_leave_nothing_beside_them(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.write("deep/choice.json", Choice(key="a", choices=(1, 2), default=1))
    folder.write("deep/choice.json", Choice(key="b", choices=(1, 2), default=1))
    assert json.loads((folder.path / "deep" / "choice.json").read_text())["key"] == "b"
    assert [path.name for path in (folder.path / "deep").iterdir()] == ["choice.json"]


def test_infinities_survive_in_json(tmp_path):
    from akg_core.records import Graph, Node

    node = Node(name="f", op="aten.full.default", args=([2], -math.inf), dtypes=("f32",), shapes=((2,),))
    file = RunFolder(tmp_path).write("graph.json", Graph(values={}, nodes=(node,), outputs=("%f",)))
    assert Graph(**json.loads(file.read_text())).nodes[0].args[1] == -math.inf


def test_a_folder_used_again_forgets_the_earlier_results(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write("verdict.json", "{}")
    (tmp_path / "mine.txt").write_text("not ours")
    RunFolder(tmp_path)
    assert not (tmp_path / "verdict.json").exists() and (tmp_path / "mine.txt").exists()


def test_a_source_is_written_with_its_reference(tmp_path):
    source = KernelSource(plugin="toy", target=Target(backend="cpu"), files={"model_new.py": "a", "sub/k.toy": "b"})
    RunFolder(tmp_path).write_source(source, "class Model: ...")
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert written == {"kernel/model_new.py", "kernel/sub/k.toy", "kernel/reference.py"}

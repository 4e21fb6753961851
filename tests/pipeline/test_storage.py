"""The user's cache folder, also where the user has none that can be written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from akg_core import storage


def test_the_cache_is_where_the_user_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert storage.cache_folder() == tmp_path / "cache" / "akg-core" and storage.cache_folder().is_dir()


def test_a_home_that_nobody_can_write_to_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(storage.tempfile, "gettempdir", lambda: str(tmp_path))
    assert storage.cache_folder() == tmp_path / f"akg-core-{os.getuid()}" and storage.cache_folder().is_dir()


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    for text in ("first", "second"):
        storage.write_whole(tmp_path / "a" / "file", text)
    assert (tmp_path / "a" / "file").read_text() == "second" and len(list((tmp_path / "a").iterdir())) == 1


def test_what_a_killed_process_has_begun_goes_with_the_next_file(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    for name in (f".file.{ended.pid}", ".file.1", f".other.{ended.pid}"):
        (tmp_path / name).touch()
    storage.write_whole(tmp_path / "file", "text")
    assert {path.name for path in tmp_path.iterdir()} == {"file", ".file.1", f".other.{ended.pid}"}

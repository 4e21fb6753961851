"""What of the user's environment a job sees."""

from __future__ import annotations

from akg_core.worker.pool import Pool


def test_no_job_gets_a_key(monkeypatch):
    hidden = {"OPENAI_API_KEY": "k", "MY_TOKEN": "t", "db_password": "p", "AWS_SECRET": "s"}
    for name, value in {**hidden, "PLAIN": "seen"}.items():
        monkeypatch.setenv(name, value)
    with Pool(warm=()) as pool:
        found = pool.call("tests.worker.jobs:environment", {}).unwrap()
    assert found["PLAIN"] == "seen"
    assert not hidden.keys() & found.keys()

from __future__ import annotations

import json


def test_a_search_shows_sections_of_the_plugins_documents(akg):
    said, data = (
        akg("docs", "search", "--plugin", "cpp_cpu", "masked load"),
        akg("docs", "search", "--plugin", "cpp_cpu", "masked load", "--json", "--most", "2"),
    )
    assert said.code == data.code == 0
    found = json.loads(data.out)
    assert len(found) == 2
    assert any("mask" in one["section"]["text"] for one in found)
    assert found[0]["section"]["path"][-1] in said.out


def test_a_search_without_an_answer_says_so(akg):
    ended = akg("docs", "search", "--plugin", "cpp_cpu", "zebras")
    assert ended.code == 0
    assert "say nothing of that" in ended.out

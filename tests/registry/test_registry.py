from __future__ import annotations

import sys

import pytest

import akg_core
from akg_core.errors import PluginError, Unsupported
from akg_core.records import Target
from akg_core.registry import Registry, installed
from akg_core.stages.pools import here
from tests.registry.distributions import good, install

TARGET = Target(backend="cpu")


def only(registry: Registry):
    (plugin,) = registry.plugins()
    return plugin


def test_a_good_plugin_is_loaded_and_answers(site):
    install(site, "toy")
    registry = Registry()
    plugin = only(registry)
    assert (plugin.state, plugin.distribution, plugin.version) == ("loaded", "akg-plugin-toy", "0.7")
    assert registry.hooks("toy").akg_probe(target=TARGET).details == {"who": "toy"}


def test_plugins_come_sorted_and_hooks_reach_one_plugin_only(site):
    for name in ("zeta", "alpha", "mid"):
        install(site, name)
    registry = Registry()
    assert [plugin.name for plugin in registry.plugins()] == ["alpha", "mid", "zeta"]
    assert registry.hooks("mid").akg_probe(target=TARGET).details == {"who": "mid"}


def test_a_plugin_that_does_not_import_is_listed_with_the_reason(site):
    install(site, "toy", "import a_package_that_nobody_has\n")
    plugin = only(Registry())
    assert plugin.state == "import-failed"
    assert "a_package_that_nobody_has" in plugin.reason and "akg-plugin-toy" in plugin.cure


def test_a_plugin_that_exits_at_import_does_not_end_the_process(site):
    install(site, "toy", "raise SystemExit(3)\n")
    assert only(Registry()).state == "import-failed"


@pytest.mark.parametrize(
    ("core", "said"),
    [
        ("akg-core==99.0", "requires akg-core==99.0"),
        ("akg-core<0.0.1", "requires akg-core<0.0.1"),
        ("", "does not say"),
    ],
)
def test_a_skewed_plugin_is_refused_before_import(site, core, said):
    module = install(site, "toy", core=core)
    plugin = only(Registry())
    assert plugin.state == "skewed" and said in plugin.reason and akg_core.__version__ in plugin.cure
    assert module not in sys.modules


@pytest.mark.parametrize(
    ("here", "said"),
    [("1.0", ""), ("0.9", "requires akg-common==1.0, and this is akg-common 0.9"), ("", "which is not installed")],
)
def test_a_plugin_without_what_it_shares_is_skewed(site, here, said):
    install(site, "toy", core=f"akg-core=={akg_core.__version__}\nRequires-Dist: akg-common==1.0\nRequires-Dist: numpy")
    if here:
        (info := site / f"akg_common-{here}.dist-info").mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: akg-common\nVersion: {here}\n")
    plugin = only(Registry())
    assert plugin.state == ("skewed" if said else "loaded") and said in plugin.reason
    assert not said or "pip install --upgrade akg-plugin-toy" in plugin.cure


def test_a_blocked_plugin_is_not_imported(site):
    module = install(site, "toy")
    plugin = only(Registry(blocked=["toy"]))
    assert plugin.state == "blocked" and "AKG_BLOCK" in plugin.reason
    assert module not in sys.modules


def test_the_environment_variable_blocks(site, monkeypatch):
    from akg_core import registry

    install(site, "toy")
    monkeypatch.setenv("AKG_BLOCK", "other, toy")
    assert only(registry.installed()).state == "blocked"
    with pytest.raises(PluginError, match="blocked"):
        registry.hooks("toy")


def test_a_clash_refuses_the_second_and_names_both(site):
    install(site, "toy", distribution="akg-plugin-aaa")
    install(site, "toy", distribution="akg-plugin-bbb")
    registry = Registry()
    first, second = registry.plugins()
    assert (first.state, first.distribution) == ("loaded", "akg-plugin-aaa")
    assert second.state == "invalid" and "akg-plugin-aaa" in second.reason and "akg-plugin-bbb" in second.reason
    assert registry.select("toy").distribution == "akg-plugin-aaa"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (good("toy", "@hookimpl\ndef akg_emitt(sketch): ...\n"), "akg_emitt, which is no hook (did it mean akg_emit?)"),
        (good("toy", "@hookimpl\ndef akg_docs(language): ...\n"), "language"),
        (good("other"), "installed as 'toy' but calls itself 'other'"),
        ("", "no akg_plugin_info"),
        (
            "from akg_core.hookspecs import hookimpl\n@hookimpl\ndef akg_plugin_info(): return {'name': 'toy'}\n",
            "returned dict where PluginInfo is due",
        ),
        (
            "from akg_core.hookspecs import hookimpl\n@hookimpl\ndef akg_plugin_info(): raise RuntimeError('bad')\n",
            "raised RuntimeError: bad",
        ),
    ],
)
def test_a_plugin_that_breaks_the_contract_is_invalid(site, source, said):
    install(site, "toy", source)
    install(site, "sound")
    registry = Registry()
    sound, toy = registry.plugins()
    assert toy.state == "invalid" and said in toy.reason
    assert sound.state == "loaded", "one broken plugin must not touch another"


def test_selecting_an_unknown_plugin_names_near_ones_and_what_there_is(site):
    install(site, "toy_cpu")
    with pytest.raises(PluginError, match=r"no plugin 'toy_cpp'.*Did you mean toy_cpu.*Installed: toy_cpu"):
        Registry().select("toy_cpp")


def test_selecting_says_why_not_and_the_cure(site):
    install(site, "toy", core="akg-core==99.0")
    with pytest.raises(
        PluginError, match=r"toy \(akg-plugin-toy 0.7\) is skewed.*requires akg-core==99.0.*pip install"
    ):
        Registry().select("toy")


def test_an_absent_hook_is_unsupported(site):
    install(site, "toy")
    hooks = Registry().hooks("toy")
    assert hooks.has("akg_probe") and not hooks.has("akg_docs")
    with pytest.raises(Unsupported, match=r"toy \(akg-plugin-toy 0.7\) has no akg_docs"):
        hooks.akg_docs()


def test_a_deferred_hook_is_imported_when_it_is_called_and_takes_what_it_names(site):
    place = (
        "from akg_core import hookspecs\nakg_explain = hookspecs.deferred(hookspecs.akg_explain, 'explaining:said')\n"
    )
    install(site, "toy", good("toy", place))
    hooks = Registry().hooks("toy")
    assert hooks.has("akg_explain") and "explaining" not in sys.modules
    text = "from akg_core.records import Advice\ndef said(log): return (Advice(problem=log, advice='none'),)\n"
    (site / "explaining.py").write_text(text)
    assert [each.problem for each in hooks.akg_explain(target=TARGET, log="the log")] == ["the log"]


def test_a_wrong_return_type_names_plugin_and_version(site):
    install(site, "toy", good("toy", "@hookimpl\ndef akg_docs(): return ['a page']\n"))
    with pytest.raises(PluginError, match=r"akg_docs of the plugin toy \(akg-plugin-toy 0.7\) returned list"):
        Registry().hooks("toy").akg_docs()


def test_an_error_of_a_hook_names_plugin_and_version(site):
    install(site, "toy", good("toy", "@hookimpl\ndef akg_docs(): return 1 / 0\n"))
    with pytest.raises(
        PluginError, match=r"akg_docs of the plugin toy \(akg-plugin-toy 0.7\) raised ZeroDivisionError"
    ):
        Registry().hooks("toy").akg_docs()


def test_trace_reports_hook_calls(site, monkeypatch, capsys):
    install(site, "toy")
    hooks = Registry().hooks("toy")
    monkeypatch.setenv("AKG_TRACE", "1")
    hooks.akg_probe(target=TARGET)
    assert "akg: toy.akg_probe(target) " in capsys.readouterr().err


def test_what_works_here_is_told_of_every_plugin_whatever_its_probe_does(site):
    install(site, "toy")
    probing = "@hookimpl\ndef akg_probe(target): raise SystemExit(3)\n"
    broken = good("broken").replace("@hookimpl\ndef akg_probe(target):", "def unused(target):") + probing
    install(site, "broken", broken)
    broken, toy = installed().plugins()
    assert here(toy)["cpu"].can_compile and here(toy)["cpu"].reason == "no device"
    found = here(broken)["cpu"]
    assert (
        not found.can_compile
        and "akg_probe of the plugin broken (akg-plugin-broken 0.7) raised SystemExit" in found.reason
    )


def test_metadata_that_was_left_behind_without_a_name_is_listed(site):
    install(site, "toy")
    (site / "left-1.dist-info").mkdir()
    (site / "left-1.dist-info" / "entry_points.txt").write_text("[akg]\ntoy = nobody\nleft = nobody\n")
    left, first, second = Registry().plugins()
    assert (left.distribution, left.version, left.state) == ("nobody", "?", "skewed")
    assert {first.state, second.state} == {"loaded", "invalid"}

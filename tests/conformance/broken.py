"""Copies of the toy plugin, each broken in one place, with the test that must find it and what it must say."""

from __future__ import annotations

from dataclasses import dataclass

from tests.conformance.toy import Edits

PLUGIN, EMIT, EXAMPLES = "akg_plugin_toy/plugin.py", "akg_plugin_toy/emit.py", "docs/examples.md"
RUN = "    return run_cases(lambda: load_entry(artifact), cases)\n"
PROFILE = "    return profile_case(lambda: load_entry(artifact), case, plan)\n"
# A harness of one's own: no guard, nothing taken away, and whatever `model` gives is the answer.
UNGUARDED = """\
    import torch
    from akg_core.judge.candidate.subject import construct
    from akg_core.records import CaseReport, RunReport
    from akg_core.task.source.load import load_source
    from akg_core.device import HOST
    from akg_core.worker.tensors import load, save

    for case in (case for case in cases if case.inputs):
        model = {model}
        if case.state:
            model.load_state_dict(load(case.state, HOST))
        for call, which in enumerate(case.order or (0,)):
            inputs = case.series[which] if case.series else case.inputs
            with torch.no_grad():
                save(case.outputs_of(call), {{"result": model(*load(inputs, HOST)), "changed": {{}}}}, HOST)
    return RunReport(cases=tuple(CaseReport(name=case.name, finished=True) for case in cases))
"""
REFERENCE = 'load_source(case.reference.read_text(), "reference").model()'


@dataclass(frozen=True)
class Broken:
    """`only` chooses the test by pytest's -k, `test` is its name in words, `said` a part of what it fails with."""

    name: str
    edits: Edits
    only: str
    test: str
    said: str


COPIES = (
    Broken(
        "says_ok",
        {
            PLUGIN: (
                RUN,
                "    report = run_cases(lambda: load_entry(artifact), cases)\n"
                '    ok = {"finished": True, "error": "", "forbidden_calls": (), "broken_rules": ()}\n'
                "    cases = tuple(case.model_copy(update=ok) for case in report.cases)\n"
                '    return report.model_copy(update={"cases": cases})\n',
            )
        },
        "caught and library and not library_",
        "a cheat is caught (library)",
        "is judged incorrect (In 8 of 8 cases",
    ),
    Broken(
        "has_no_guard",
        {PLUGIN: (RUN, UNGUARDED.format(model="construct(load_entry(artifact), case, HOST)"))},
        "caught and library and not library_",
        "a cheat is caught (library)",
        "is judged correct (All 8 cases are right.), and cheating or library call is due",
    ),
    Broken(
        "runs_the_reference",
        {PLUGIN: (RUN, UNGUARDED.format(model=REFERENCE))},
        "caught and zeros",
        "a cheat is caught (zeros)",
        "is judged correct (All 8 cases are right.), and incorrect is due",
    ),
    Broken(
        "leaves_a_case_out",
        {PLUGIN: (RUN, "    return run_cases(lambda: load_entry(artifact), [*cases[:1], *cases[2:]])\n")},
        "judged_correct and add",
        "a kernel is judged correct (add)",
        "it was not run",
    ),
    Broken(
        "takes_times_itself",
        {
            PLUGIN: (
                PROFILE,
                "    from akg_core.judge.candidate.harness import run_cases\n"
                "    from akg_core.records import ProfileReport\n\n"
                "    report = run_cases(lambda: load_entry(artifact), [case])\n"
                '    return ProfileReport(samples=(0.1,) * plan.samples, timer="its own", error=report.error)\n',
            )
        },
        "timed or sample",
        "each sample is a call of its own",
        "took no turns to be timed",
    ),
    Broken(
        "has_a_stub_emitter",
        {
            EMIT: (
                '    text, origin = annotated(lines.flat(), "#")\n',
                '    text, origin = "# one for all\\n", {1: 1}\n',
            )
        },
        "own_source",
        "each sketch has its own source",
        "it does not read the sketch",
    ),
    Broken(
        "emits_the_reference",
        {EMIT: ("write_module(sketch, tree, launch, PRELUDE)", '"from reference import Model as ModelNew\\n"')},
        "emitted and add",
        "sketches are emitted (add)",
        "defines no class ModelNew",
    ),
    Broken(
        "forgets_the_lines",
        {EMIT: ("for line, place in origin.items()", "for line, place in ()")},
        "emitted and add",
        "sketches are emitted (add)",
        "no message leads back to the sketch",
    ),
    Broken(
        "reads_nothing",
        {PLUGIN: ('    return tuple(python_findings(source, "TOY"))\n', "    return ()\n")},
        "forbidden and try",
        "what is forbidden is found by reading (a library that stands behind a try block)",
        "finds no error",
    ),
    Broken(
        "compiles_anything",
        {
            PLUGIN: (
                "        except SyntaxError as error:\n",
                "        except SyntaxError as error:\n            continue\n",
            )
        },
        "compile_error",
        "a compile error is a result",
        "does not look at it",
    ),
    Broken(
        "raises_at_errors",
        {PLUGIN: ("        except SyntaxError as error:\n", "        except KeyError as error:\n")},
        "compile_error",
        "a compile error is a result",
        "raised SyntaxError",
    ),
    Broken(
        "explains_nothing",
        {PLUGIN: ("for problem, advice in advice_on(log, rules))", "for problem, advice in ())")},
        "compile_error",
        "a compile error is a result",
        "no advice on a syntax error, whose log is: kernels.tiles:",
    ),
    Broken(
        "refines_away",
        {PLUGIN: ("    return (sketch,)\n", "    return ()\n")},
        "refined and add",
        "refined sketches hold (add)",
        "leaves no sketch",
    ),
    Broken(
        "serves_everything",
        {PLUGIN: ('    if str(target) != "cpu":\n', "    if not target.backend:\n")},
        "cannot_be_served",
        "it says why a chip cannot be served",
        "which does not exist",
    ),
    Broken(
        "imports_numpy",
        {PLUGIN: ("import time\n", "import time\n\nimport numpy\n")},
        "heavy",
        "it is asked who it is without loading anything heavy",
        "imports numpy, which every command would pay for",
    ),
    Broken(
        "forgets_the_tail",
        {
            EMIT: (
                'f"{self.value(node.extent)}, {self.value(node.step)}{more}"',
                "f\"{self.value(node.extent)}{' // 16 * 16' * ('unroll' in dict(node.hints))}, "
                '{self.value(node.step)}{more}"',
            )
        },
        "emission and hints",
        "emission keeps to sketches (hints)",
        "1 of 3 kernels are wrong. persistent_rows_dynamic: output 0: ",
    ),
    Broken(
        "has_a_rotten_example",
        {EXAMPLES: ("load(x, (n,)) * 2)", "load(x, (n,)) * 3)")},
        "examples and judged_correct",
        "the examples are judged correct",
        "The example 'Twice each element' is judged incorrect",
    ),
    Broken(
        "has_an_example_that_nobody_runs",
        {EXAMPLES: ("```python kernels.tiles\n", "```python\n")},
        "examples and can_be_judged",
        "its examples can be judged",
        "a block of python without a file's name",
    ),
)

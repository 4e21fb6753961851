"""From a compiler's or the runtime's message to what must change, for people and for models that write such code."""

from __future__ import annotations

import re

from akg_core.plugin import Advice, advice_on

# `kernel.cpp:12:5 (sketch line 7): error: …`, as akg_plugin_cpp_cpu.compile writes it.
_PLACED = re.compile(
    r"(?m)^(?P<file>[\w./-]+):(?P<line>\d+)(?::\d+)?(?: \(sketch line (?P<sketch>\d+)\))?: "
    r"(?:fatal )?error: (?P<message>.*)$"
)
_LINKED = re.compile(r"undefined (?:reference to|symbol:?) [`']?(?P<name>[^'`\n]+)")


# Patterns of messages, and the advice that helps; groups of the pattern may stand in the advice.
_COMPILER = {
    r"'(?P<name>\w+)' (was not declared in this scope|has not been declared)": (
        "Declare {name} first. The headers' functions are in namespace akg: put the kernel inside it."
    ),
    r"call of overloaded '(?P<name>\w+)\(.*' is ambiguous": (
        "Give {name} arguments of one type: a literal with the tile's type (2.0f for f32), or convert<T>(…)."
    ),
    r"'(?P<name>\w+)' is not a member of 'std'": (
        "Use the headers' {name}, without std::, for vectors and scalars alike."
    ),
    r"no match for 'operator\[\]'": "A vector's elements are lane(v, i) and with_lane(v, i, x).",
    r"no match for call to .*<lambda": "The body of parallel_for takes one i64: derive coordinates by division.",
    r"invalid operands of types .* to binary 'operator(?P<op>[^']+)'": "`{op}` exists for integers only.",
    r"no match for 'operator(?P<op>[^']+)' \(operand types are '(?P<a>[^']+)' and '(?P<b>[^']+)'": (
        "{a} and {b} do not combine: convert one by convert<T>(…); `%`, `&`, `|` and `<<` exist for integers only."
    ),
    r"no matching function for call to '(?P<name>[\w:]+)[(<]": (
        "No form of {name} takes these arguments: see the api page; convert<T>(…) brings operands to one type."
    ),
    r"(could not|cannot) convert|conversion from .* (is ambiguous|to non-scalar)|invalid (conversion|static_cast)": (
        "Types do not agree: vectors change type only by convert<T>(v); a mask becomes numbers by select(mask, a, b)."
    ),
    r"expected '?(?P<what>[;)}\],])'?": "There is a missing `{what}` at or just before this place.",
    r"static assertion failed: (?P<why>.*)": "{why}.",
    r"(?P<file>\S+): No such file or directory": (
        "Only the headers akg/*.hpp and the C++ library are there: do not include {file}."
    ),
    r"redefinition of|redeclared|conflicting declaration": (
        "This name exists already in this scope: choose another, or wrap the block in braces."
    ),
    r"lvalue required|read-only|discards qualifiers": (
        "The target is const: drop the const, or write to a new variable."
    ),
    r"internal compiler error": "The compiler itself failed: split the expression or the loop into smaller parts.",
}
_RUNTIME = {
    r"SIGSEGV|[Ss]egmentation fault|signal 11": (
        "The kernel touched memory outside of its tensors: guard partial tiles with load(p, n) and store(p, v, n), "
        "and check the strides."
    ),
    r"SIGILL|[Ii]llegal instruction|signal 4": (
        "The library was built for another processor: compile again on this machine."
    ),
    r"SIGABRT|[Aa]borted|signal 6": (
        "The kernel gave up: there was no scratch memory, or a cooperative group got fewer threads than members."
    ),
    r"SIGFPE|signal 8": "An integer was divided by zero: use floor_div and floor_mod, which then give 0.",
    r"timed out|took more than": "It ran too long: look for a loop whose counter does not advance.",
    r"has no function (?P<name>\w+)": 'Define extern "C" void {name}(void* const* tensors, const std::int64_t* sizes).',
    r"ImportError|OSError: .*\.so": (
        "The library did not load: every file of the kernel folder must stay beside model_new.py."
    ),
}


def explain(log: str) -> tuple[Advice, ...]:
    """Advice for each compiler error in `log`, else for undefined symbols, else for what the runtime said."""
    found = [_compiled(match) for match in _PLACED.finditer(log)]
    if not found:
        found = [_linked(match["name"]) for match in _LINKED.finditer(log)]
    if not found:
        found = [Advice(problem=problem, advice=advice) for problem, advice in advice_on(log, _RUNTIME)][:1]
    unique = {(advice.problem, advice.source_line): advice for advice in found}
    return tuple(unique.values())


def _compiled(match: re.Match[str]) -> Advice:
    # Quotes are typographic or plain by the locale.
    message = re.sub("[‘’`]", "'", match["message"])
    advice = next((text for _, text in advice_on(message, _COMPILER)), "Correct the generated line.")
    return Advice(
        problem=f"{match['file']}: {message}",
        advice=advice,
        source_line=int(match["line"]),
        sketch_line=int(match["sketch"] or 0),
    )


def _linked(name: str) -> Advice:
    return Advice(
        problem=f"{name.strip()} is declared but nowhere defined",
        advice="Define it in a .cpp file of the kernel, or drop it: only the C++ library and OpenMP are linked.",
    )

"""Truth values: combined, compared, chosen among, cast, reduced, scanned, and reached in every way."""

from __future__ import annotations

import torch

from akg_core.sketch.interpret.tiles import TORCH
from akg_core.testing.emission.form import Cases, ints

A = 'a: In["bool", "M", "N"]'
B = 'b: In["bool", "M", "N"]'


def _outs(names: str, dtype: str = "bool", dims: str = '"M", "N"') -> str:
    return ", ".join(f'{name}: Out["{dtype}", {dims}]' for name in names.split())


def _stores(place: str, values: dict[str, str], ending: str = "") -> str:
    return "\n".join(f"store({name}[{place}], {value}{ending})" for name, value in values.items())


def cases() -> Cases:
    found = Cases()
    a, b = (ints(7, 37, low=low, high=2).bool() for low in (0, -1))
    both = "p = load(a[m, n])\nq = load(b[m, n])\n"

    logic = {"c": "p and q", "d": "p or not q", "e": "p ^ q", "f": "~p & q | p == q", "g": "where(p, q, not q)"}
    for name, ending in (("logic", ""), ("logic_streamed", ", stream=True")):
        found.rows(f"bool_{name}", f"{A}, {B}", _outs("c d e f g"), both + _stores("m, n", logic, ending), a, b)
    whole = {"c": "p and q", "d": "p ^ True", "e": "where(q, False, p)"}
    found.rows(
        "bool_logic_in_lines",  # rows are whole lines of memory
        f"{A}, {B}",
        _outs("c d e"),
        both + _stores("m, n", whole, ", stream=True"),
        *(ints(8, 128, low=low, high=2).bool() for low in (0, -1)),
        n=64,
    )
    found.rows(
        "bool_order",
        f"{A}, {B}",
        _outs("c d e f g h"),
        both
        + _stores(
            "m, n",
            {"c": "p < q", "d": "p <= q", "e": "p > q", "f": "p >= q", "g": "maximum(p, q) != p"}
            | {"h": "minimum(p, q) or isnan(p)"},
        ),
        a,
        b,
    )
    found.rows(
        "bool_of_a_number_for_all",  # what one number of a row says, beside what each of the row's says
        'x: In["i32", "M", "N"], r: In["f32", "M"]',
        _outs("c d"),
        _stores(
            "m, n", {"c": "load(x[m, n]) != 0 and load(r[m]) != 0.0", "d": "load(r[m]) > 0.5 or load(x[m, n]) == 1"}
        ),
        ints(7, 37, low=0, high=3).int(),
        ints(7, low=0, high=2).float(),
    )
    found.rows(
        "bool_with_one_for_all",  # a truth value that is one for a row, for a column, for the launch
        f'{A}, r: In["bool", "M"], s: In["bool", "N"], u: In["bool"]',
        _outs("c d e"),
        "p = load(a[m, n])\n"
        + _stores(
            "m, n",
            {"c": "p == load(r[m]) or p < load(u)", "d": "where(load(r[m]), p, load(s[n]))"}
            | {"e": "maximum(load(u), load(r[m])) and load(s[n]) > load(r[m])"},
        ),
        a,
        ints(7, low=0, high=2).bool(),
        ints(37, low=0, high=2).bool(),
        torch.tensor(True),
    )
    for name in ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"):
        found.rows(
            f"bool_to_{name}",
            f'{A}, {B}, x: In["{name}", "M", "N"]',
            f"{_outs('c d', name)}, {_outs('e f')}",
            both
            + _stores("m, n", {"c": f"{name}(p) * 2", "d": "where(q, load(x[m, n]), 3) + p", "e": "load(x[m, n])"})
            + '\nstore(f[m, n], load(x[m, n]) > p or cast(load(x[m, n]), "bool"))',
            a,
            b,
            ints(7, 37, low=0, high=3).to(TORCH[name]),
        )
    found.rows("bool_in_maths", f"{A}, {B}", _outs("c d", "f32"), both + _stores("m, n", _MATHS), a, b)

    reduced = {"c": "reduce_any(p and q, n)", "d": "reduce_all(p or q, n)", "e": "reduce_max(p, n)"}
    reduced |= {"f": "reduce_min(p, n)", "g": "first(p, n) and last(q, n)"}
    counted = {"h": "reduce_sum(p, n)", "i": "reduce_prod(p or q, n)", "j": "argmax(p, n)", "k": "argmin(q, n)"}
    results = f"{_outs('c d e f g', dims=chr(34) + 'M' + chr(34))}, {_outs('h i j k', 'i64', chr(34) + 'M' + chr(34))}"
    for name, step, (ones, others) in (
        ("rows", 3, (a, b)),
        ("few", 3, (a & False, b | True)),
    ):
        found.whole_rows(
            f"bool_reduced_{name}", f"{A}, {B}", results, both + _stores("m", reduced | counted), ones, others, m=step
        )
    columns = both.replace("[m, n]", "[n, m]")
    for step in (1, 40):
        found.whole_rows(
            f"bool_reduced_columns_{step}",
            f"{A}, {B}".replace('"M", "N"', '"N", "M"'),
            results,
            columns + _stores("m", reduced | counted),
            a,
            b,
            m=step,
        )
    scans = {"c": "scan_sum(p, n)", "d": "scan_prod(p or q, n, reverse=True)", "e": "scan_max(i32(q), n)"}
    outs = f"{_outs('c d', 'i64')}, {_outs('e', 'i32')}"
    found.whole_rows("bool_scanned", f"{A}, {B}", outs, both + _stores("m, n", scans), a, b)
    turned = f"{A}, {B}, {outs}".replace('"M", "N"', '"N", "M"').split(", c: Out")
    found.whole_rows(
        "bool_scanned_columns", turned[0], f"c: Out{turned[1]}", columns + _stores("n, m", scans), a, b, m=40
    )

    found.rows(
        "bool_places",
        f'{A}, w: In["bool", "M", "2*N"], i: In["i64", "N"]',
        f'{_outs("c d e f")}, t: Out["bool", "N", "M"]',
        "store(c[m, n], load(a[m, N - 1 - n]))\n"
        "store(d[m, n], load(w[m, 2 * n + 1]))\n"
        "store(e[m, n], load(a[m, n - 5], other=True))\n"
        "store(f[m, n], load(a[m, load(i[n])]))\n"
        "store(t[n, m], not load(a[m, n]))",
        a,
        ints(7, 74, low=0, high=2).bool(),
        ints(37, low=-2, high=40),
    )
    found.rows(
        "bool_transposed",
        f"{A}, {B}",
        'c: Out["bool", "N", "M"]',
        both + "store(c[n, m], p ^ q)",
        *(ints(45, 70, low=low, high=2).bool() for low in (0, -1)),
        m=32,
        n=32,
    )
    found.add(
        "bool_scattered",
        """
@kernel
def k(i: In["i64", "N"], a: In["bool", "N"], c: Out["bool", "N"]):
    for n in grid(N, 24):
        store(c[load(i[n])], not load(a[n]))
""",
        torch.randperm(37, generator=torch.Generator().manual_seed(1)),
        a[0].clone(),
    )
    found.add(
        "bool_carried",
        """
@kernel
def k(a: In["bool", "M", "N"], c: Out["bool", "M"], d: Out["bool", "N"]):
    for m in grid(M, 3):
        some = full([m], False, "bool")
        for n in tiles(N, 16):
            some = some or reduce_any(load(a[m, n]), n)
        store(c[m], some)
    for n in grid(N, 16):
        all = full([n], True, "bool")
        for m in tiles(M, 2):
            all = all and reduce_all(load(a[m, n]), m)
        store(d[n], all)
""",
        a,
    )
    return found


_MATHS = {"c": "exp(p) + p / (q + 1.0)", "d": "where(isfinite(p), f32(q), 0.5) * p"}

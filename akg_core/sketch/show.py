"""A tree back to text, laid out for reading. `parse(show(tree)) == tree`."""

from __future__ import annotations

import math
import re
from bisect import bisect_left

from akg_core.sketch import ast

WIDTH = 110
_LOOSEST, _NOT, _COMPARE, _UNARY, _POWER, _ATOM = 0, 3, 4, 11, 12, 13
_PRECEDENCE = {
    "or": 1, "and": 2, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "|": 5, "^": 6, "&": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10, "**": _POWER,
}  # fmt: skip
_OPERATOR = re.compile(r"(\*\*?|//?|<<?|>>?|[<>=!]=|[-+%&|^]|and|or) ")


def show(tree: ast.SketchFile) -> str:
    """The text of a sketch."""
    lines: list[str] = []
    if tree.doc:
        lines += [*_docstring(tree.doc, ""), "", ""]
    for kernel in tree.kernels:
        lines += [*show_kernel(kernel), "", ""]
    if tree.program:
        lines += [*_program(tree.program), "", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def show_kernel(kernel: ast.Kernel) -> list[str]:
    """The lines of one kernel."""
    constants = [_with_default(f"{c.name}: Const", c.default) for c in kernel.constants]
    tunes = [_with_default(f"{t.name}: Tune[{_literals(t.choices)}]", t.default) for t in kernel.tunes]
    tensors = [_tensor(t) for t in kernel.tensors]
    # Python wants parameters with defaults last.
    ordered = sorted(constants, key=lambda text: "=" in text)
    head = _wrap(f"def {kernel.name}({', '.join(tensors + ordered + tunes)}):", "")
    return ["@kernel", *head, *_docstring(kernel.doc, "    "), *_block(kernel.body, "    ", not kernel.doc)]


def show_expression(node: ast.Expr) -> str:
    """The text of an expression, on one line."""
    return _expression(node, _LOOSEST)


def _program(program: ast.Program) -> list[str]:
    head = _wrap(f"def {program.name}({', '.join(_tensor(t) for t in program.tensors)}):", "")
    return ["@program", *head, *_docstring(program.doc, "    "), *_block(program.body, "    ", not program.doc)]


def _docstring(doc: str, indent: str) -> list[str]:
    if not doc:
        return []
    text = doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    text = text[:-1] + '\\"' if text.endswith('"') else text
    lines = text.split("\n")
    if len(lines) == 1:
        return [f'{indent}"""{text}"""']
    return [f'{indent}"""{lines[0]}', *(indent + line if line else "" for line in lines[1:]), f'{indent}"""']


def _tensor(tensor: ast.TensorParameter) -> str:
    dims = [str(d.value) if isinstance(d, ast.Number) else f'"{show_expression(d)}"' for d in tensor.dims]
    head = [_literal(tensor.source)] if tensor.role == "Param" else []
    return f"{tensor.name}: {tensor.role}[{', '.join([*head, _literal(tensor.dtype), *dims])}]"


def _with_default(declaration: str, default: int | float | str | None) -> str:
    return declaration if default is None else f"{declaration} = {_literal(default)}"


def _block(body: tuple[ast.Statement, ...], indent: str, needed: bool = True) -> list[str]:
    if not body:
        return [f"{indent}pass"] if needed else []
    return [line for statement in body for line in _statement(statement, indent)]


def _statement(node: ast.Statement, indent: str) -> list[str]:
    inner = indent + "    "
    match node:
        case ast.Assign(targets=targets, value=value):
            return _simple(f"{', '.join(targets)} = ", show_expression(value), indent)
        case ast.Effect(call=call):
            return _simple("", show_expression(call), indent)
        case ast.Whole(axis=axis, extent=extent, hints=hints):
            return _simple(f"{axis} = ", f"whole({', '.join([show_expression(extent), *_keywords(hints)])})", indent)
        case ast.Grid() | ast.Tiles() | ast.Range():
            return [*_wrap(_loop_header(node), indent), *_block(node.body, inner)]
        case ast.If(condition=condition, body=body, orelse=orelse):
            return _if("if", condition, body, orelse, indent)
        case ast.Allocate():
            made = show_expression(node.fill) if isinstance(node.fill, ast.Expr) else _literal(node.fill or 0)
            fill = [] if node.fill is None or node.fill == 0 else [made]
            name = "full" if fill else "empty" if node.fill is None else "zeros"
            parts = [f'"{node.dtype}"', *fill, *map(show_expression, node.dims)]
            return _simple(f"{node.target} = ", f"{name}({', '.join(parts)})", indent)
        case ast.View():
            parts = [node.tensor, *map(show_expression, node.args)]
            return _simple(f"{node.target} = ", f"{node.op}({', '.join(parts)})", indent)
        case ast.Launch():
            parts = [*node.tensors, *_keywords(node.constants), *(["once=True"] if node.once else [])]
            return _simple("", f"{node.kernel}({', '.join(parts)})", indent)
        case ast.Return(tensors=tensors):
            return _simple("return ", ", ".join(tensors), indent)
    raise TypeError(f"no statement: {node!r}")


def _if(
    word: str, condition: ast.Expr, body: tuple[ast.Statement, ...], orelse: tuple[ast.Statement, ...], indent: str
) -> list[str]:
    lines = [*_simple(f"{word} ", show_expression(condition), indent, ":"), *_block(body, indent + "    ")]
    match orelse:
        case ():
            return lines
        case (ast.If() as other,):
            return [*lines, *_if("elif", other.condition, other.body, other.orelse, indent)]
    return [*lines, f"{indent}else:", *_block(orelse, indent + "    ")]


def _loop_header(node: ast.Grid | ast.Tiles | ast.Range) -> str:
    if isinstance(node, ast.Range):
        bounds = [node.start, node.stop, node.step]
        if node.step == ast.Number(1):
            bounds.pop()
            if node.start == ast.Number(0):
                bounds.pop(0)
        parts = [*map(show_expression, bounds), *_keywords(node.hints)]
        return f"for {node.variable} in range({', '.join(parts)}):"
    parts = [show_expression(node.extent), show_expression(node.step)]
    if isinstance(node, ast.Tiles):
        parts += [f"start={show_expression(node.start)}"] if node.start is not None else []
        parts += [f"stop={show_expression(node.stop)}"] if node.stop is not None else []
        parts += ["reverse=True"] if node.reverse else []
    word = "grid" if isinstance(node, ast.Grid) else "tiles"
    return f"for {node.axis} in {word}({', '.join([*parts, *_keywords(node.hints)])}):"


def _keywords(pairs: tuple[tuple[str, ast.Expr], ...]) -> list[str]:
    return [f"{name}={show_expression(value)}" for name, value in pairs]


def _literals(values: tuple[int | str, ...]) -> str:
    return ", ".join(map(_literal, values))


def _literal(value: int | float | str) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return repr(value)


def _expression(node: ast.Expr, tightness: int) -> str:
    """`node` in a place that takes an operator of at least `tightness` without parentheses."""
    match node:
        case ast.Number(value=value):
            text = _literal(value)
            return f"({text})" if text.startswith("-") and tightness >= _UNARY else text
        case ast.Text(value=value):
            return _literal(value)
        case ast.Name(id=name):
            return name
        case ast.Unary(op=op, operand=operand):
            own = _NOT if op == "not" else _UNARY
            inner = _expression(operand, own)
            # A minus before a literal would be read as one negative literal.
            inner = f"({inner})" if op == "-" and inner[:1].isdigit() else inner
            return _enclose(f"not {inner}" if op == "not" else f"{op}{inner}", own, tightness)
        case ast.Binary(op=op, left=left, right=right):
            own = _PRECEDENCE[op]
            if op == "**":
                text = f"{_expression(left, _ATOM)} ** {_expression(right, _UNARY)}"
            else:  # left-associative, and comparisons not at all
                text = f"{_expression(left, own + (own == _COMPARE))} {op} {_expression(right, own + 1)}"
            return _enclose(text, own, tightness)
        case ast.Call(op="cast", args=(tile, ast.Text(value=dtype)), keywords=()):
            return f"{dtype}({show_expression(tile)})"
        case ast.Call(op=op, args=args, keywords=keywords):
            return f"{op}({', '.join([*map(show_expression, args), *_keywords(keywords)])})"
        case ast.Element(tensor=tensor, indices=()):
            return tensor
        case ast.Element(tensor=tensor, indices=indices):
            return f"{tensor}[{', '.join(map(show_expression, indices))}]"
        case ast.AxisList(axes=axes):
            return f"[{', '.join(axes)}]"
        case ast.Group(items=items):
            return f"({', '.join(map(show_expression, items))}{',' if len(items) == 1 else ''})"
        case ast.Tune(choices=choices):
            return f"Tune[{_literals(choices)}]"
    raise TypeError(f"no expression: {node!r}")


def _enclose(text: str, own: int, tightness: int) -> str:
    return f"({text})" if own < tightness else text


def _simple(head: str, value: str, indent: str, tail: str = "") -> list[str]:
    """A statement on one line, or wrapped inside brackets; parentheses are added where there are none to break in."""
    line = f"{head}{value}{tail}"
    if len(indent) + len(line) <= WIDTH:
        return [indent + line]
    lines = _wrap(line, indent)
    if max(map(len, lines)) > WIDTH or (value[:1] != "(" and _breaks_outside(value)):
        lines = _wrap(f"{head}({value}){tail}", indent)
    return lines


def _breaks_outside(text: str) -> bool:
    return any(depth == 0 and character == " " for character, depth, _ in _scan(text))


def _scan(text: str) -> list[tuple[str, int, int]]:
    """Each character with how many brackets are open before it and the column after the innermost one."""
    result: list[tuple[str, int, int]] = []
    opened: list[int] = []
    quoted = escaped = False
    for column, character in enumerate(text):
        inside = quoted
        if quoted:
            quoted, escaped = character != '"' or escaped, character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in ")]":
            opened.pop()
        result.append(("x" if inside else character, len(opened), opened[-1] if opened else 0))
        if not inside and character in "([":
            opened.append(column + 1)
    return result


def _wrap(line: str, indent: str) -> list[str]:
    """`line` cut after commas or before operators in its outermost brackets, continued under the bracket."""
    text = indent + line
    if len(text) <= WIDTH:
        return [text]
    marks = _scan(text)
    lines: list[str] = []
    start = under = 0  # the line at hand is text[start:], `under` columns from the left
    cuts, shifts = list[int](), [0]  # where text was cut, and how far what follows each cut has moved to the right
    while under + len(text) - start > WIDTH:
        first = start + len(text[start : start + WIDTH]) - len(text[start : start + WIDTH].lstrip())
        spots: list[tuple[int, bool, int]] = []
        for place in range(first + 1, min(WIDTH - shifts[-1], len(text) - 1) + 1):
            character, depth, _ = marks[place]
            after_comma = text[place - 1] == ","
            if character == " " and depth and (after_comma or _OPERATOR.match(text, place + 1)):
                spots.append((depth, not after_comma, -place))
        if not spots:
            break
        place = -min(spots)[2]
        lines.append(" " * under + text[start:place])
        bracket = marks[place][2]
        column = bracket + shifts[bisect_left(cuts, bracket)]
        start, under = place + 1, column if column <= WIDTH // 2 else len(indent) + 8
        cuts.append(place)
        shifts.append(under - start)
    return [*lines, " " * under + text[start:]]

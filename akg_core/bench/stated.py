"""References that call what is not here, a chip's own library above all, in plain PyTorch instead.

NPUKernelBench calls `torch_npu` where PyTorch has no such operator. What a call means is among the `meanings`; or the
docstring of `Model` says so, which holds a `forward` in PyTorch, a function of the same arguments, with what these
call, or what stands in one.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import inspect
import textwrap

from akg_core.bench import meanings
from akg_core.python_text import module_of

_LIBRARY = "torch_npu"
_OPERATORS = "torch.ops.aten"
_FORWARD = "forward"


def in_plain_torch(source: str) -> str:
    """`source` without the library, where its calls have meanings or the docstring states forward; else as it is."""
    try:
        module = module_of(source)
    except (SyntaxError, ValueError):
        return source  # which is said when it is run
    named = _Named()
    module = named.visit(module)
    model = next((each for each in module.body if isinstance(each, ast.ClassDef) and each.name == "Model"), None)
    forward = _method(model) if model else None
    if model is None or forward is None or not (named.found or _mentions(module)):
        return source
    if _uses(forward):
        stated = _stated(inspect.cleandoc(ast.get_docstring(model) or ""), forward)
        if not stated:
            return source
        model.body = [each for each in model.body if each is not forward] + stated
    elif named.found:
        _by_place(forward.args)
        module.body[module.body.index(model) : 0] = meanings.stated(named.found)
    return ast.unparse(ast.fix_missing_locations(_WithoutImports().visit(module))) + "\n"


class _Named(ast.NodeTransformer):
    """Calls functions that have a meaning by their names alone."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if meanings.is_stated(node.attr) and ast.unparse(node.value) in (_LIBRARY, _OPERATORS):
            self.found.add(node.attr)
            return ast.Name(node.attr)
        return self.generic_visit(node)


class _WithoutImports(ast.NodeTransformer):
    """Does not import the library."""

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        return None if _imports(node) else node


def _by_place(arguments: ast.arguments) -> None:
    """Arguments that are given by name alone may be given by place, too, as the inputs of a case are."""
    arguments.args += arguments.kwonlyargs
    arguments.defaults += [each or ast.Constant(None) for each in arguments.kw_defaults]
    arguments.kwonlyargs, arguments.kw_defaults = [], []


def _stated(text: str, forward: ast.FunctionDef) -> list[ast.stmt]:
    """The methods that a docstring holds, with one that is called as `forward` is; none where it holds no such."""
    stated = _functions(text)
    for method in stated:
        if not isinstance(method, ast.FunctionDef):
            continue
        names = [argument.arg for argument in method.args.args]
        if method.name == _FORWARD and names[:1] == ["self"]:
            return stated
        if names == [argument.arg for argument in forward.args.args[1:]]:
            method.name, method.args.args = _FORWARD, [forward.args.args[0], *method.args.args]
            method.args.defaults = forward.args.defaults
            return stated
    inside = [] if stated else _inside(text)
    if inside:
        method = copy.deepcopy(forward)
        method.body = inside
        return [method]
    return []


def _inside(text: str) -> list[ast.stmt]:
    """What stands in a function, where a text ends with it: all after the last line that is none, with a result.

    The shallowest of its lines may have lost the depth that the others have.
    """
    lines = text.splitlines()
    first = max((number for number, line in enumerate(lines) if line.endswith(":") and line[:1].isupper()), default=-1)
    block = [line for line in lines[first + 1 :] if line.strip()]
    depths = sorted({_depth(line) for line in block})
    deeper = [" " * max(0, depths[1] - _depth(line)) + line for line in block] if depths[1:] else block
    for each in (block, deeper):
        with contextlib.suppress(SyntaxError):
            body = textwrap.indent(textwrap.dedent("\n".join(each)), " ")
            (function,) = module_of(f"def {_FORWARD}():\n{body}").body
            if isinstance(function, ast.FunctionDef) and isinstance(function.body[-1], ast.Return) and first >= 0:
                return function.body
    return []


def _functions(text: str) -> list[ast.stmt]:
    """The functions that a text holds one below the other, as far as it is Python."""
    lines = text.splitlines()
    first = next((number for number, line in enumerate(lines) if line.lstrip().startswith("def ")), len(lines))
    block: list[str] = []
    depth = _depth(lines[first]) if first < len(lines) else 0
    for line in lines[first:]:
        if line.strip() and (_depth(line) < depth or (_depth(line) == depth and not line.lstrip().startswith("def "))):
            break
        block.append(line)
    try:
        return module_of(textwrap.dedent("\n".join(block))).body
    except SyntaxError:
        return []


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _method(model: ast.ClassDef) -> ast.FunctionDef | None:
    methods = [each for each in model.body if isinstance(each, ast.FunctionDef)]
    return next((each for each in methods if each.name == _FORWARD), None)


def _imports(node: ast.AST) -> bool:
    return isinstance(node, ast.Import) and [alias.name for alias in node.names] == [_LIBRARY]


def _uses(node: ast.AST) -> bool:
    """Whether a part of the source uses the library."""
    return any(isinstance(each, ast.Name) and each.id == _LIBRARY for each in ast.walk(node))


def _mentions(node: ast.AST) -> bool:
    """Whether a part of the source uses the library, or imports it."""
    return _uses(node) or any(_imports(each) for each in ast.walk(node))

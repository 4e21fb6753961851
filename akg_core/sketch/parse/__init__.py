"""Text of a sketch to its tree. The text is Python's syntax, read with `ast` and never executed.

`statement` reads kernels and programs, `expression` what stands in them.
"""

from __future__ import annotations

import ast as python

from akg_core.dtypes import DTYPES
from akg_core.sketch import ast
from akg_core.sketch.codes import near
from akg_core.sketch.parse.statement import StatementParser

_ROLES = {"kernel": ("In", "Out", "InOut", "Scratch"), "program": ("In", "Param")}
_DECLARATIONS = {
    "kernel": 'A kernel declares `x: In["f32", "M"]`, Out, InOut, Scratch, `S: Const = 1` and `BM: Tune[1, 2] = 1`.',
    "program": 'A program declares `x: In["f32", "M"]` and `w: Param["fc.weight", "f32", "N", "K"]`.',
}
_TOP = "A sketch holds functions under @kernel and at most one under @program."


def parse(text: str, filename: str = "<sketch>") -> ast.SketchFile:
    """The tree of a sketch's text.

    Raises SketchError at the first place that does not fit: its message has file, line, column, what was found
    and its code; its cure what is allowed there.
    """
    reader = _FileParser(filename)
    try:
        module = python.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        lines = text.splitlines()
        found = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        message = f"Not Python syntax ({getattr(error, 'msg', None) or error}): `{found}`."
        reader.fail(ast.Place(line, column), "SK101", message, "A sketch is written in Python's syntax.")
    try:
        return reader.file(module)
    except RecursionError:
        reader.fail(ast.Place(1, 1), "SK105", "An expression nests too deeply.", "Assign its parts to variables.")


class _FileParser(StatementParser):
    def file(self, module: python.Module) -> ast.SketchFile:
        doc = python.get_docstring(module) or ""
        kernels: list[ast.Kernel] = []
        programs: list[python.FunctionDef] = []
        for node in module.body[1 if _has_doc(module.body) else 0 :]:
            if not isinstance(node, python.FunctionDef):
                first = python.unparse(node).splitlines()[0]
                self.fail(node, "SK102", f"`{first}` stands outside every kernel.", _TOP)
            if self._role(node) == "kernel":
                kernels.append(self._kernel(node))
            else:
                programs.append(node)
        if not kernels and not programs:
            self.fail(ast.Place(1, 1), "SK102", "There is no kernel here.", _TOP)
        if len(programs) > 1:
            self.fail(programs[1], "SK102", "There is a second program.", _TOP)
        names = tuple(kernel.name for kernel in kernels)
        for index, kernel in enumerate(kernels):
            if kernel.name in names[:index]:
                self.fail(kernel.place, "SK203", f"A second kernel is called `{kernel.name}`.", "Give it another name.")
        program = self._program(programs[0], names) if programs else None
        return ast.SketchFile(tuple(kernels), program, doc)

    def _role(self, node: python.FunctionDef) -> str:
        match node.decorator_list:
            case [python.Name(id="kernel" | "program" as role)]:
                return role
        self.fail(
            node, "SK102", f"`{node.name}` is neither a kernel nor a program.", "Put @kernel or @program above it."
        )

    def _kernel(self, node: python.FunctionDef) -> ast.Kernel:
        self.kernel = node.name
        tensors: list[ast.TensorParameter] = []
        constants: list[ast.ConstParameter] = []
        tunes: list[ast.TuneParameter] = []
        for argument, default in self._parameters(node):
            match argument.annotation:
                case python.Name(id="Const"):
                    constants.append(self._const(argument, default))
                case python.Subscript(value=python.Name(id="Tune")) as annotation:
                    tunes.append(self._tune(argument, annotation, default))
                case annotation:
                    tensors.append(self._tensor(argument, annotation, default, "kernel"))
        return ast.Kernel(
            node.name,
            tuple(tensors),
            tuple(constants),
            tuple(tunes),
            self.body(self._statements(node)),
            python.get_docstring(node) or "",
            place=self.place(node),
        )

    def _program(self, node: python.FunctionDef, kernels: tuple[str, ...]) -> ast.Program:
        self.kernel = node.name
        tensors = tuple(self._tensor(a, a.annotation, default, "program") for a, default in self._parameters(node))
        body = tuple(self.program_statement(statement, kernels) for statement in self._statements(node))
        return ast.Program(node.name, tensors, body, python.get_docstring(node) or "", place=self.place(node))

    def _statements(self, node: python.FunctionDef) -> list[python.stmt]:
        return node.body[1:] if _has_doc(node.body) else node.body

    def _parameters(self, node: python.FunctionDef) -> list[tuple[python.arg, python.expr | None]]:
        given = node.args
        if given.vararg or given.kwarg or node.returns or given.posonlyargs:
            self.fail(node, "SK103", "Parameters are written one by one, and nothing is said of a result.")
        missing: list[python.expr | None] = [None] * (len(given.args) - len(given.defaults))
        parameters = list(
            zip([*given.args, *given.kwonlyargs], [*missing, *given.defaults, *given.kw_defaults], strict=True)
        )
        for index, (argument, _) in enumerate(parameters):
            if argument.arg in (other.arg for other, _ in parameters[:index]):
                self.fail(argument, "SK203", f"`{argument.arg}` is declared twice.", "Give it another name.")
        return parameters

    def _const(self, argument: python.arg, default: python.expr | None) -> ast.ConstParameter:
        value = None if default is None else self.literal(default)
        if isinstance(value, str):
            self.fail(default, "SK103", "A Const is a number.", "Write `S: Const = 1`.")
        return ast.ConstParameter(argument.arg, value, place=self.place(argument))

    def _tune(self, argument: python.arg, node: python.Subscript, default: python.expr | None) -> ast.TuneParameter:
        choices = self.choices(node)
        value = choices[0] if default is None else self.literal(default)
        if value not in choices or isinstance(value, float):
            listed = ", ".join(map(repr, choices))
            self.fail(
                default, "SK204", f"The default {value!r} of `{argument.arg}` is not a choice.", f"Choices: {listed}."
            )
        return ast.TuneParameter(argument.arg, choices, value, place=self.place(argument))

    def _tensor(
        self, argument: python.arg, annotation: python.expr | None, default: python.expr | None, where: str
    ) -> ast.TensorParameter:
        name, usage = argument.arg, _DECLARATIONS[where]
        if not isinstance(annotation, python.Subscript) or not isinstance(annotation.value, python.Name):
            found = f"as `{python.unparse(annotation)}`" if annotation else "without a type"
            self.fail(argument, "SK103", f"`{name}` is declared {found}.", usage)
        role = annotation.value.id
        if role not in _ROLES[where]:
            self.fail(
                annotation, "SK103", f"A {where} has no parameter of kind `{role}`.", near(role, _ROLES[where], usage)
            )
        if default is not None:
            self.fail(default, "SK103", f"The tensor `{name}` has a default.", "Only Const and Tune have one.")
        items = annotation.slice.elts if isinstance(annotation.slice, python.Tuple) else [annotation.slice]
        strings = [item.value if isinstance(item, python.Constant) else None for item in items]
        head = 2 if role == "Param" else 1
        if len(items) < head or not all(isinstance(s, str) for s in strings[:head]):
            self.fail(annotation, "SK103", f"`{python.unparse(annotation)}` lacks its dtype in quotes.", usage)
        source, dtype = (str(strings[0]), str(strings[1])) if role == "Param" else ("", str(strings[0]))
        if dtype not in DTYPES:
            known = f"Dtypes: {', '.join(DTYPES)}."
            self.fail(items[head - 1], "SK401", f"{dtype!r} is not a dtype.", near(dtype, DTYPES, known))
        dims = tuple(self.dimension(item) for item in items[head:])
        return ast.TensorParameter(name, role, dtype, dims, source, place=self.place(argument))


def _has_doc(body: list[python.stmt]) -> bool:
    match body:
        case [python.Expr(value=python.Constant(value=str())), *_]:
            return True
    return False

"""Programs: what is allocated, handed to kernels, viewed and returned, and whether shapes agree.

Launches whose shapes agree come back as `Launched`, which the checks of outputs and indices go by. Which launches may
be kept between calls is a check of its own (check_kept).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from akg_core.dtypes import FLOATS
from akg_core.records import Finding
from akg_core.sketch import ast
from akg_core.sketch.check.kept import check_kept
from akg_core.sketch.check.shapes import (
    VIEW_USAGE,
    Rows,
    apart,
    elements_of_rows,
    leading_narrow,
    read_by,
    shape,
    shown_size,
    sized,
    substitute,
    viewed,
)
from akg_core.sketch.codes import finding, near
from akg_core.sketch.program import memory_orders, statements


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a program. `root`: whose memory it is (views share it). `origin`: "In", "Param" or "empty".

    `counted`: how long it is, a tensor says.
    """

    name: str
    root: str
    origin: str
    dtype: str
    dims: tuple[ast.Expr, ...] | None
    contiguous: bool
    place: ast.Place
    rows: Rows | None = None
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch: what each dimension and Const of the kernel is, in the program's sizes, and each tensor parameter.

    `unfilled`: the parameters that it updates by atomics though nothing has written them before.
    """

    launch: ast.Launch
    kernel: ast.Kernel
    values: Mapping[str, ast.Expr]
    tensors: Mapping[str, Tensor]
    unfilled: tuple[str, ...]


@dataclass(slots=True)
class ProgramCheck:
    """Walks a program; `findings`, `launched` and `tensors` hold the outcome."""

    tree: ast.SketchFile
    program: ast.Program
    findings: list[Finding] = field(default_factory=list)
    launched: list[Launched] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    ready: set[str] = field(default_factory=set)  # roots that hold values
    filled: set[str] = field(default_factory=set)  # roots that an allocation filled
    sizes: set[str] = field(default_factory=set)
    permuted: set[str] = field(default_factory=set)  # views whose dimensions lie in another order, and views of these
    ended: dict[str, Tensor] = field(default_factory=dict)  # views of loops
    updated: dict[str, set[str]] = field(default_factory=dict)  # by kernel, the tensors that atomics change

    def run(self) -> None:
        for parameter in self.program.tensors:
            self._declare(parameter)
        self._statements(self.program.body)
        roots = {name: tensor.root for name, tensor in (self.tensors | self.ended).items()}
        self.findings += check_kept(self.tree, self.program, roots)
        if not any(isinstance(statement, ast.Return) for statement in self.program.body):
            self._report("SK803", self.program.place, "The program returns nothing.", "End it with `return y`.")
        launched = {node.kernel for node in statements(self.program) if isinstance(node, ast.Launch)}
        for kernel in self.tree.kernels:
            if kernel.name not in launched:
                message = f"The kernel `{kernel.name}` is never launched."
                self._report("SK809", kernel.place, message, "Launch it in the program, or drop it.", "warning")

    def _statements(self, body: Sequence[ast.Statement]) -> None:
        for position, statement in enumerate(body):
            match statement:
                case ast.Allocate():
                    self._allocate(statement)
                case ast.View():
                    self._view(statement)
                case ast.Launch():
                    self._launch(statement)
                case ast.Range():
                    self._loop(statement)
                case ast.Return():
                    self._return(statement, position)

    def _loop(self, node: ast.Range) -> None:
        """A loop: its counter is a size inside of it, and what it names ends with it."""
        self._known((node.start, node.stop, node.step), node.place)
        if node.variable in self.tensors or node.variable in self.sizes:
            self._report("SK203", node.place, f"`{node.variable}` exists already.", "Give the loop another name.")
        if not (isinstance(node.step, ast.Number) and node.step.value > 0):
            self._report("SK506", node.place, "The step of a program's loop is a positive number.")
        before = set(self.tensors)
        self.sizes.add(node.variable)
        self._statements(node.body)
        self.sizes.remove(node.variable)
        self.ended |= {name: self.tensors.pop(name) for name in self.tensors.keys() - before}

    def _report(
        self,
        code: str,
        place: ast.Place,
        message: str,
        suggestion: str = "",
        severity: Literal["error", "warning"] = "error",
    ) -> None:
        self.findings.append(finding(code, place, message, suggestion, severity))

    # --- tensors ----------------------------------------------------------------------------------

    def _declare(self, parameter: ast.TensorParameter) -> None:
        names = {node.id for node in ast.walk(parameter.dims) if isinstance(node, ast.Name)}
        self.sizes |= {dim.id for dim in parameter.dims if isinstance(dim, ast.Name)}
        plain = {d.id for p in self.program.tensors for d in p.dims if isinstance(d, ast.Name)}
        for name in sorted(names - plain):
            message = f"Nothing says what `{name}` is."
            self._report(
                "SK806", parameter.place, message, f'Some input must have it as a dimension of its own: "{name}".'
            )
        self._add(parameter.name, parameter.name, parameter.role, parameter.dtype, parameter.dims, parameter.place)
        self.ready.add(parameter.name)

    def _add(
        self,
        name: str,
        root: str,
        origin: str,
        dtype: str,
        dims: tuple[ast.Expr, ...] | None,
        place: ast.Place,
        contiguous: bool = True,
    ) -> None:
        if name in self.tensors or name in self.sizes or name in self.ended:
            self._report("SK203", place, f"`{name}` exists already.", "Give this tensor another name.")
        self.tensors[name] = Tensor(name, root, origin, dtype, dims, contiguous, place)

    def _known(self, exprs: tuple[ast.Expr, ...], place: ast.Place, read: Collection[str] = ()) -> bool:
        """Whether all names are sizes, those left out that are `read` from tensors."""
        names = {n.id: n.place for n in ast.walk(exprs) if isinstance(n, ast.Name) and n.id not in read}
        for name in names.keys() - self.sizes:
            cure = near(name, self.sizes, f"Sizes here: {', '.join(sorted(self.sizes)) or 'none'}.")
            at = names[name] if names[name].line else place
            self._report("SK806", at, f"No input of the program has a dimension `{name}`.", cure)
        return names.keys() <= self.sizes

    def _allocate(self, node: ast.Allocate) -> None:
        dims = node.dims if self._known(node.dims, node.place) else None
        computed = isinstance(node.fill, ast.Expr)
        if computed:
            self._computed(node)
        self._add(node.target, node.target, "In" if computed else "empty", node.dtype, dims, node.place)
        if node.fill is not None:
            self.ready.add(node.target)
            self.filled.add(node.target)

    def _computed(self, node: ast.Allocate) -> None:
        """What the host computes is one f64, of float arguments."""
        inputs = {t.name for t in self.program.tensors if (t.role, t.dtype, t.dims) == ("In", "f64", ())}
        for name in {part.id for part in ast.walk(node.fill) if isinstance(part, ast.Name)} - inputs:
            cure = near(name, inputs, f"Float arguments here: {', '.join(sorted(inputs)) or 'none'}.")
            self._report("SK806", node.place, f"`{name}` is no float argument of the program.", cure)
        if node.dtype != "f64" or node.dims:
            message = f"`{node.target}` is computed of float arguments, but is no single f64."
            self._report("SK807", node.place, message, 'Write full("f64", 1 - x), without dimensions.')

    def _view(self, node: ast.View) -> None:
        source = self._tensor(node.tensor, node.place)
        if source is None:
            return
        read = read_by(node, self.tensors)
        known = self._known(node.args, node.place, read)
        dims = viewed(node, source.dims) if source.dims is not None and known else None
        if read:
            self._counts(node, source, read)
            dims = node.args if node.op == "reshape" else dims
        dtype = FLOATS.get(source.dtype, "") if node.op == "floats" else source.dtype
        if source.dims is not None and known and (dims is None or not dtype):
            message = f"{node.op} of `{source.name}` with the shape {shape(source.dims)} does not fit."
            self._report("SK807", node.place, message, VIEW_USAGE[node.op])
        contiguous = source.contiguous and (node.op == "reshape" or leading_narrow(node))
        contiguous |= node.op == "permute" and node.tensor in memory_orders(self.program)
        if node.op == "permute" or node.tensor in self.permuted:
            self.permuted.add(node.target)
        self._add(node.target, source.root, source.origin, dtype or source.dtype, dims, node.place, contiguous)
        if read or source.counted:
            self.tensors[node.target] = replace(self.tensors[node.target], counted=True)
        elif leading_narrow(node):
            rows = source.name, node.args[1], node.args[2]
            if source.contiguous and source.dims is not None and node.tensor not in self.permuted:
                rows = elements_of_rows(source.root, source.rows, source.dims, node.args[1], node.args[2])
            self.tensors[node.target] = replace(self.tensors[node.target], rows=rows)
        elif node.op == "reshape" and source.rows is not None:
            self.tensors[node.target] = replace(self.tensors[node.target], rows=source.rows)

    def _counts(self, node: ast.View, source: Tensor, read: Collection[str]) -> None:
        """Tensors that say how long a narrow is, or the parts of such a narrow."""
        if not (node.op == "narrow" and len(node.args) == 3) and not (node.op == "reshape" and source.counted):
            message = f"{node.op} of `{source.name}` takes no number from a tensor."
            self._report("SK807", node.place, message, VIEW_USAGE["narrow"])
        for count in (self.tensors[name] for name in sorted(read)):
            if (count.dtype, count.dims) != ("i64", ()):
                message = f"`{count.name}` is no i64 without dimensions, which a length is read from."
                self._report("SK807", node.place, message, VIEW_USAGE["narrow"])
            elif count.root not in self.ready:
                message = f"A length is read from `{count.name}`, but nothing has written it yet."
                self._report("SK804", node.place, message, "Launch the kernel that writes it before.")

    def _tensor(self, name: str, place: ast.Place) -> Tensor | None:
        if name not in self.tensors:
            message = f"There is no tensor `{name}` in the program."
            self._report("SK201", place, message, near(name, self.tensors, "Allocate it with empty before."))
        return self.tensors.get(name)

    # --- launches ---------------------------------------------------------------------------------

    def _launch(self, node: ast.Launch) -> None:
        try:
            kernel = self.tree.kernel(node.kernel)
        except KeyError:
            known = [k.name for k in self.tree.kernels]
            self._report("SK202", node.place, f"There is no kernel `{node.kernel}`.", near(node.kernel, known))
            return
        if len(node.tensors) != len(kernel.tensors):
            takes = ", ".join(t.name for t in kernel.tensors)
            message = f"`{kernel.name}` takes {len(kernel.tensors)} tensors ({takes}) and is given {len(node.tensors)}."
            self._report("SK802", node.place, message, "Pass one tensor for each of its tensor parameters.")
            return
        given = [self._tensor(name, node.place) for name in node.tensors]
        values = self._constants(node, kernel)
        if any(tensor is None for tensor in given):
            return
        tensors = dict(zip((t.name for t in kernel.tensors), [t for t in given if t], strict=True))
        for parameter in kernel.tensors:
            self._hand(node, kernel, parameter, tensors[parameter.name])
        self._aliases(node, kernel, tensors)
        outs = [t.name for t in kernel.tensors if t.role == "Out" and tensors[t.name].root not in self.ready]
        unfilled = tuple(name for name in outs if self._adds_to(kernel, name))
        self.ready |= {tensors[t.name].root for t in kernel.tensors if t.role != "In"}
        if self._bind(node, kernel, tensors, values):
            self.launched.append(Launched(node, kernel, values, tensors, unfilled))
        else:
            self.findings += [not_filled(node, tensors[name].name) for name in unfilled]

    def _constants(self, node: ast.Launch, kernel: ast.Kernel) -> dict[str, ast.Expr]:
        given = dict(node.constants)
        names = [constant.name for constant in kernel.constants]
        for name in given.keys() - set(names):
            if name in {tune.name for tune in kernel.tunes}:
                cure = f"`{name}` is a Tune: a schedule sets it."
            else:
                cure = near(name, names, f"Consts of `{kernel.name}`: {', '.join(names) or 'none'}.")
            self._report("SK802", node.place, f"`{kernel.name}` has no Const `{name}`.", cure)
        self._known(tuple(given.values()), node.place)
        values: dict[str, ast.Expr] = {}
        for constant in kernel.constants:
            if constant.name in given:
                values[constant.name] = given[constant.name]
            elif constant.default is not None:
                values[constant.name] = ast.Number(constant.default)
            else:
                message = f"Nothing sets the Const `{constant.name}` of `{kernel.name}`."
                self._report("SK802", node.place, message, f"Pass it by keyword: {constant.name}=1.")
        return values

    def _hand(self, node: ast.Launch, kernel: ast.Kernel, parameter: ast.TensorParameter, tensor: Tensor) -> None:
        what = f"`{kernel.name}` takes `{tensor.name}` as {parameter.role} `{parameter.name}`"
        if parameter.dtype != tensor.dtype:
            message = f"{what} of {parameter.dtype}, but it is {tensor.dtype}."
            self._report("SK802", node.place, message, "Declare both alike; a kernel can cast.")
        if tensor.counted:
            cure = "Hand over the whole tensor and the count, and leave out what lies beyond in the kernel."
            self._report("SK808", node.place, f"{what}, but a number in a tensor says how long it is.", cure)
        elif not tensor.contiguous:
            cure = "Hand over the tensor itself and index it accordingly in the kernel."
            self._report("SK808", node.place, f"{what}, but it is a view that is not contiguous.", cure)
        if parameter.role != "In" and tensor.origin == "In":
            cure = "Write to a tensor of the program's own: y = empty(…)."
            self._report("SK805", node.place, f"{what}, but an input must stay as it is.", cure)
        if parameter.role in ("In", "InOut") and tensor.root not in self.ready:
            cure = "Launch the kernel that writes it before, or allocate it with zeros."
            self._report("SK804", node.place, f"{what}, but nothing has written it yet.", cure)

    def _adds_to(self, kernel: ast.Kernel, tensor: str) -> bool:
        """Whether a kernel updates a tensor by atomics."""
        if kernel.name not in self.updated:
            calls = [n.call for n in ast.walk(kernel.body) if isinstance(n, ast.Effect) and "atomic" in n.call.op]
            self.updated[kernel.name] = {c.args[0].tensor for c in calls if isinstance(c.args[0], ast.Element)}
        return tensor in self.updated[kernel.name]

    def _aliases(self, node: ast.Launch, kernel: ast.Kernel, tensors: Mapping[str, Tensor]) -> None:
        for position, first in enumerate(kernel.tensors):
            for second in kernel.tensors[position + 1 :]:
                same = tensors[first.name].root == tensors[second.name].root
                separate = apart(tensors[first.name].rows, tensors[second.name].rows)
                if same and not separate and (first.role, second.role) != ("In", "In"):
                    message = f"`{first.name}` and `{second.name}` share memory, and one is written."
                    self._report("SK802", node.place, message, "Declare one InOut parameter, or use another tensor.")

    def _bind(
        self, node: ast.Launch, kernel: ast.Kernel, tensors: Mapping[str, Tensor], values: dict[str, ast.Expr]
    ) -> bool:
        """Bind the kernel's dimensions to the program's sizes; False when they do not agree or are unknown."""
        shapes = {name: tensor.dims for name, tensor in tensors.items()}
        good = all(dims is not None for dims in shapes.values())
        for parameter in kernel.tensors:
            dims = shapes[parameter.name]
            if dims is None:
                continue
            if len(dims) != len(parameter.dims):
                message = (
                    f"`{kernel.name}` takes `{parameter.name}` with {len(parameter.dims)} dimensions; "
                    f"`{tensors[parameter.name].name}` has {len(dims)}: {shape(dims)}."
                )
                self._report("SK807", node.place, message, "Reshape it, or declare it with that many dimensions.")
                return False
            for wanted, size in zip(parameter.dims, dims, strict=True):
                if isinstance(wanted, ast.Name):
                    values.setdefault(wanted.id, size)
        for parameter in kernel.tensors:
            for position, (wanted, size) in enumerate(zip(parameter.dims, shapes[parameter.name] or (), strict=False)):
                expected = substitute(wanted, values)
                unbound = [n.id for n in ast.walk(wanted) if isinstance(n, ast.Name) and n.id not in values]
                if unbound and good:
                    message = f"Nothing binds the dimension `{unbound[0]}` of `{kernel.name}`."
                    cure = f'Some tensor must have "{unbound[0]}" as a dimension of its own.'
                    self._report("SK806", parameter.place, message, cure)
                    return False
                if not unbound and not self._agree(node, kernel, parameter, position, expected, size):
                    good = False
        return good

    def _agree(
        self,
        node: ast.Launch,
        kernel: ast.Kernel,
        parameter: ast.TensorParameter,
        position: int,
        expected: ast.Expr,
        size: ast.Expr,
    ) -> bool:
        difference = sized(expected) + -sized(size)
        if not difference.terms:
            return True
        certain = all(isinstance(atom, ast.Name) for atom in difference.atoms())
        message = (
            f"Dimension {position} of `{parameter.name}` of `{kernel.name}` is {shown_size(parameter.dims[position])}, "
            f"which is {shown_size(expected)} here; the tensor has {shown_size(size)}."
        )
        cure = "Use one name for sizes that are equal, or two for sizes that may differ."
        self._report("SK807", node.place, message, cure, "error" if certain else "warning")
        return False

    def _return(self, node: ast.Return, position: int) -> None:
        if position != len(self.program.body) - 1:
            self._report("SK803", node.place, "Statements follow the return.", "A program ends with its one return.")
        if not node.tensors:
            self._report("SK803", node.place, "The program returns nothing.", "Return the tensors that forward gives.")
        for name in node.tensors:
            tensor = self._tensor(name, node.place)
            if tensor and tensor.root not in self.ready:
                message = f"`{name}` is returned, but nothing has written it."
                self._report("SK804", node.place, message, "Launch the kernel that writes it.")


def not_filled(launch: ast.Launch, tensor: str, why: str = "but nothing has filled it") -> Finding:
    """That a launch updates a tensor by atomics which need not hold anything."""
    cure = "Allocate it filled (zeros, full), or let each program store its own part of it before."
    return finding("SK804", launch.place, f"`{launch.kernel}` updates `{tensor}` by atomics, {why}.", cure)

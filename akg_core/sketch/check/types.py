"""Types of statements: scopes of names and axes, loop-carried variables, what a store may take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from akg_core.dtypes import is_float
from akg_core.records import Finding
from akg_core.sketch import ast
from akg_core.sketch.ast import Type
from akg_core.sketch.check.expression import SCALAR, UNIFORM, Axis, ExpressionChecker, describe
from akg_core.sketch.ops import OPERATIONS

_WEAK = Type(frozenset(), "i64", uniform=True, weak=True)
_WEAK_FLOAT = Type(frozenset(), "f32", uniform=True, weak=True)


def check_kernel(kernel: ast.Kernel, floats: frozenset[str] = frozenset()) -> tuple[ast.Kernel, list[Finding]]:
    """The kernel with every expression's type filled in, and what is wrong with its names, axes and dtypes.

    `floats` names the Consts that some launch sets to a float.
    """
    fixed: dict[str, Type | None] = dict.fromkeys(kernel.dimensions, UNIFORM)
    for constant in kernel.constants:
        fixed[constant.name] = (
            _WEAK_FLOAT if isinstance(constant.default, float) or constant.name in floats else UNIFORM
        )
    for tune in kernel.tunes:
        fixed[tune.name] = None if isinstance(tune.choices[0], str) else _WEAK
    checker = _KernelChecker(kernel, fixed)
    checker.declarations()
    body = checker.block(kernel.body)
    return replace(kernel, body=body), checker.findings


class _KernelChecker(ExpressionChecker):
    def declarations(self) -> None:
        names = set(self.kernel.dimensions)
        declared = [(tensor.name, tensor.place) for tensor in self.kernel.tensors]
        declared += [(constant.name, constant.place) for constant in self.kernel.constants]
        declared += [(tune.name, tune.place) for tune in self.kernel.tunes]
        for name, place in declared:
            if name in names:
                self.report("SK203", place, f"`{name}` is declared twice.", "Give it another name.")
            names.add(name)
        for tune in self.kernel.tunes:
            if len({type(choice) for choice in tune.choices}) > 1:
                self.report(
                    "SK107", tune.place, f"`{tune.name}` mixes numbers and strings.", "Choose between one kind."
                )
        for tensor in self.kernel.tensors:
            for dim in tensor.dims:
                self.integer(dim, scalar=True)

    # --- blocks ---------------------------------------------------------------------------------

    def block(self, statements: tuple[ast.Statement, ...]) -> tuple[ast.Statement, ...]:
        """The statements of one scope; axes and names that they introduce end with it."""
        axes, variables = dict(self.axes), set(self.variables)
        typed = tuple(self.statement(statement) for statement in statements)
        for name in self.axes.keys() - axes.keys():
            self.left[name] = "axis whose scope has ended"
        for name in self.variables.keys() - variables:
            del self.variables[name]
            self.left[name] = "assignment inside a loop or branch that has ended"
        self.axes = axes
        return typed

    def statement(self, node: ast.Statement) -> ast.Statement:
        match node:
            case ast.Assign():
                return self._assign(node)
            case ast.Effect():
                return self._effect(node)
            case ast.Whole(axis=axis):
                extent = self._launch_time(node.extent, "extent of whole")
                self._enter(axis, node)
                return replace(node, extent=extent)
            case ast.Grid():
                return self._grid(node)
            case ast.Tiles():
                return self._tiles(node)
            case ast.Range():
                start, stop, step = (self.integer(e, scalar=True) for e in (node.start, node.stop, node.step))
                if step == ast.Number(0):
                    self.report("SK506", step, "A step of 0 goes nowhere.", "Step by a number other than 0.")
                self._free(node.variable, node)
                bound: dict[str, Type | None] = {node.variable: SCALAR}
                return replace(node, start=start, stop=stop, step=step, body=self._loop(node, node.body, bound))
            case ast.If():
                condition = self.scalar(node.condition)
                if condition.type and is_float(condition.type.dtype):
                    self.report("SK404", node.condition, "The condition is a float.", "Compare it: s > 0.")
                body = self._loop(node, node.body)
                return replace(node, condition=condition, body=body, orelse=self._loop(node, node.orelse))
        self.report("SK104", node, "This statement belongs in a program, not in a kernel.")
        return node

    def _assign(self, node: ast.Assign) -> ast.Statement:
        operation = OPERATIONS.get(node.value.op) if isinstance(node.value, ast.Call) else None
        if operation and operation.kind in ("split", "split_float"):
            return self._assign_several(node)
        value = self.value(node.value)
        if len(node.targets) > 1:
            cure = "Only split and split_float give several values."
            self.report("SK110", node, f"One value for {len(node.targets)} names.", cure)
            value = replace(value, type=None)
        for target in node.targets:
            self._set(target, value.type, node)
        return replace(node, value=value)

    def _assign_several(self, node: ast.Assign) -> ast.Statement:
        call = node.value
        assert isinstance(call, ast.Call)
        kind: Type | None = None
        count, usage = 0, OPERATIONS[call.op].signature
        if len(call.args) != 2 or call.keywords:
            self.report("SK110", call, f"`{call.op}` takes two arguments.", f"Write {usage}.")
        elif call.op == "split":
            sizes = call.args[1].items if isinstance(call.args[1], ast.Group) else (call.args[1],)
            index = self.integer(call.args[0])
            typed = tuple(self.integer(size, scalar=True) for size in sizes)
            call = replace(call, args=(index, ast.Group(typed, place=call.args[1].place)))
            kind, count = index.type and replace(index.type, uniform=False, weak=False), len(sizes)
        else:
            tile, count = self.value(call.args[0]), 2
            dtype = self.text(call.args[1], ("f16", "bf16"), "SK401", "narrow dtype")
            if tile.type and not is_float(tile.type.dtype):
                self.report("SK402", call, f"`split_float` does not work on {tile.type.dtype}.", "Split a float tile.")
            elif tile.type and dtype:
                kind = Type(tile.type.axes, dtype)
            call = replace(call, args=(tile, call.args[1]))
        if count and count != len(node.targets):
            message = f"`{call.op}` gives {count} values here, for {len(node.targets)} names."
            self.report("SK110", node, message, "Name each value.")
            kind = None
        for target in node.targets:
            self._set(target, kind, node)
        return replace(node, value=replace(call, type=kind))

    def _set(self, target: str, kind: Type | None, node: ast.Statement) -> None:
        if self._taken(target, node):
            return
        self.left.pop(target, None)
        self.variables[target] = kind

    def _taken(self, name: str, node: ast.Statement) -> bool:
        what = "an axis" if name in self.axes else "a tensor" if name in self.tensors else ""
        what = what or ("a dimension or parameter of the kernel" if name in self.fixed else "")
        if what:
            self.report("SK203", node, f"`{name}` is {what} and cannot be assigned.", "Choose another name.")
        return bool(what)

    def _effect(self, node: ast.Effect) -> ast.Statement:
        call = node.call
        operation = OPERATIONS.get(call.op)
        if operation is None or operation.dtype != "none":
            self.report("SK104", node, f"The result of `{call.op}` is not used.", "Assign it, or store it.")
            return node
        if operation.kind == "barrier" and len(call.args) == 1:
            if axes := self.axis_names(call.args[0]):
                self.meets(call, axes, SCALAR)
            return node
        if len(call.args) != len(operation.parameters):
            takes = "an axis" if operation.kind == "barrier" else "an element and a value"
            self.report("SK110", node, f"`{call.op}` takes {takes}.", f"Write {operation.signature}.")
            return node
        element, kind = self.element(call.args[0])
        value = self.value(call.args[1])
        tensor = self.tensors.get(element.tensor) if isinstance(element, ast.Element) else None
        if tensor and tensor.role == "In":
            cure = f'Declare it `{tensor.name}: Out["{tensor.dtype}", …]`, or InOut if it is read too.'
            self.report("SK604", element, f"`{tensor.name}` is an In: it is read, never written.", cure)
        if tensor and operation.kind == "atomic" and tensor.dtype == "bool":
            self.report("SK402", node, f"`{call.op}` does not work on bool.", "Store a truth value instead.")
        if isinstance(element, ast.Element) and kind and value.type and not value.type.axes <= kind.axes:
            extra = ", ".join(sorted(value.type.axes - kind.axes))
            message = f"The value has the axes {extra}, which the places of `{element.tensor}` lack."
            cure = f"Reduce over {extra}, or index the tensor with it."
            self.report("SK304", node, message, cure)
        return replace(node, call=replace(call, args=(element, value)))

    # --- loops ----------------------------------------------------------------------------------

    def _grid(self, node: ast.Grid) -> ast.Statement:
        extent, step = self._launch_time(node.extent, "extent of a grid"), self._step(node.step)
        self._enter(node.axis, node)
        for name in _assigned(node.body):
            if name in self.variables:
                message = f"`{name}` is from outside the grid and assigned inside: programs run in parallel."
                cure = "Use another name inside, or reduce in a tiles loop, with atomic_add or with all_reduce_sum."
                self.report("SK503", _first_assignment(node.body, name), message, cure)
        body = self.block(node.body)
        self._leave(node.axis)
        return replace(node, extent=extent, step=step, body=body)

    def _tiles(self, node: ast.Tiles) -> ast.Statement:
        extent, step = self.integer(node.extent, scalar=True), self._step(node.step)
        start, stop = (None if e is None else self.integer(e, scalar=True) for e in (node.start, node.stop))
        self._enter(node.axis, node)
        body = self._loop(node, node.body)
        self._leave(node.axis)
        return replace(node, extent=extent, step=step, start=start, stop=stop, body=body)

    def _loop(
        self,
        node: ast.Statement,
        body: tuple[ast.Statement, ...],
        bound: dict[str, Type | None] | None = None,
    ) -> tuple[ast.Statement, ...]:
        """A body that may run any number of times: what it changes from before keeps its axes and dtype."""
        before = {name: self.variables[name] for name in _assigned(body) if name in self.variables}
        carried = {name: kind and replace(kind, uniform=False, weak=False) for name, kind in before.items()}
        self.variables.update(carried)
        self.variables.update(bound or {})
        typed = self.block(body)
        for name in bound or {}:
            self.variables.pop(name, None)
            self.left[name] = "assignment inside a loop or branch that has ended"
        for name, kind in carried.items():
            after = self.variables.get(name)
            if kind and after:
                self._compare(node, body, name, kind, after)
            self.variables[name] = kind
        return typed

    def _compare(
        self, node: ast.Statement, body: tuple[ast.Statement, ...], name: str, before: Type, after: Type
    ) -> None:
        branch = isinstance(node, ast.If)
        code = "SK504" if branch else "SK501" if before.axes != after.axes else "SK502"
        if before.axes == after.axes and before.dtype == after.dtype:
            return
        word = "branch" if branch else "loop"
        start = f'zeros([{", ".join(sorted(after.axes))}], "{after.dtype}")'
        if not after.axes and before.axes == after.axes:
            start = f'full([], value, "{after.dtype}"), or assign {before.dtype}(…) here'
        message = f"`{name}` is {describe(before)} before the {word} and becomes {describe(after)} in it."
        self.report(code, _first_assignment(body, name), message, f"Start it before the {word} as {start}.")

    def _launch_time(self, node: ast.Expr, what: str) -> ast.Expr:
        typed = self.integer(node, scalar=True)
        if typed.type and not typed.type.uniform:
            cure = "Make it of dimensions, Consts and numbers; bound a loop with tiles(N, BN, stop=…)."
            self.report("SK505", node, f"The {what} is not known at launch.", cure)
        return typed

    def _step(self, node: ast.Expr) -> ast.Expr:
        typed = self.integer(node, scalar=True)
        choices: tuple[object, ...] = ()
        match node:
            case ast.Number(value=value):
                choices = (value,)
            case ast.Tune(choices=inline):
                choices = inline
            case ast.Name(id=name):
                choices = next((t.choices for t in self.kernel.tunes if t.name == name), ())
        if any(isinstance(choice, int) and choice < 1 for choice in choices) or (typed.type and not typed.type.uniform):
            self.report("SK506", node, "A step is a positive number known at launch.", "Write a number or a Tune.")
        return typed

    def _nonempty(self, node: ast.Expr) -> None:
        if isinstance(node, ast.Number) and node.value <= 0:
            message = f"There are no positions in an extent of {node.value}: this is never done."
            self.report("SK703", node, message, "Name a dimension of a tensor as the extent.")

    def _enter(self, axis: str, node: ast.Grid | ast.Tiles | ast.Whole) -> None:
        held = self.axes[axis].loop if axis in self.axes else None
        if isinstance(held, ast.Whole) and isinstance(node, ast.Whole) and held.extent == node.extent:
            return  # the same axis, said again
        if held:
            message = f"`{axis}` is already the axis of an enclosing loop or of a whole."
            self.report("SK303", node, message, "Give the inner axis another name.")
        else:
            self._free(axis, node)
        self._nonempty(node.extent)
        self.left.pop(axis, None)
        self.axes[axis] = Axis(axis, node)

    def _free(self, name: str, node: ast.Statement) -> None:
        """A loop's own name must not hide another."""
        if not self._taken(name, node) and name in self.variables:
            self.report("SK203", node, f"`{name}` is a variable already.", "Give the loop another name.")

    def _leave(self, axis: str) -> None:
        """The axis ends, and with it every tile along it."""
        self.axes.pop(axis, None)
        self.left[axis] = "axis whose loop has ended"


def _assigned(statements: tuple[ast.Statement, ...]) -> Iterator[str]:
    for node in ast.walk(statements):
        if isinstance(node, ast.Assign):
            yield from node.targets


def _first_assignment(statements: tuple[ast.Statement, ...], name: str) -> ast.Statement:
    return next(node for node in ast.walk(statements) if isinstance(node, ast.Assign) and name in node.targets)

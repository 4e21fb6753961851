"""From TIR to the text of a function of NumPy arrays; `simulate` has what this text calls, and says what it means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tilelang import tvm  # it brings a TVM of its own

from akg_core.plugin.lower import Lines
from akg_plugin_tilelang.once import each_once

tirx = tvm.tirx

_BINARY = {
    tirx.Add: "+",
    tirx.Sub: "-",
    tirx.Mul: "*",
    tirx.FloorDiv: "//",
    tirx.FloorMod: "%",
    tirx.EQ: "==",
    tirx.NE: "!=",
    tirx.LT: "<",
    tirx.LE: "<=",
    tirx.GT: ">",
    tirx.GE: ">=",
}
_BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "shift_left": "<<", "shift_right": ">>"}
_SAME = "exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh floor ceil trunc fmod isnan"
_FUNCTIONS = {name: f"np.{name}" for name in _SAME.split()} | {"erf": "erf", "erfc": "erfc", "fabs": "np.abs"}
_FUNCTIONS |= {"round": "np.rint", "nearbyint": "np.rint", "pow": "np.power", "atan2": "np.arctan2", "abs": "np.abs"}
_FUNCTIONS |= {f"a{name}": f"np.arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
_FUNCTIONS |= {"__fsub_rn": "np.subtract", "__dsub_rn": "np.subtract", "exp2_beside_one": "np.exp2"}
_ATOMICS = {"add": "np.add", "max": "np.maximum", "min": "np.minimum"}


def translated(function: Any) -> str:
    """The text of `run`, which takes what the PrimFunc takes. Raises NotImplementedError for what it does not know."""
    return "\n".join(line.text for line in _Translator(function).top.flat(nothing="pass")) + "\n"


class _Translator:
    """`lanes`: variables of T.Parallel at hand, by name, with their extents; `spread`: what has a value for each of
    them; `guard`: which of the lanes take part; `together`: programs wait for each other, and are generators.
    """

    def __init__(self, function: Any) -> None:
        self.names: dict[Any, str] = {}
        self.lanes: dict[str, int] = {}
        self.spread: set[str] = set()
        self.guard = "None"
        self.guards = 0
        self.top = self.lines = Lines()
        buffers = dict(function.buffer_map.items())
        given = [self.name(buffers[p].data, buffers[p].name) if p in buffers else self.name(p) for p in function.params]
        self.lines.add(f"def run({', '.join(given)}):")
        self.lines = self.lines.nest()
        self.bind_shapes([buffers[param] for param in function.params if param in buffers])
        self.together = _waits(function.body)
        self.stmt(function.body)

    def name(self, var: Any, wish: str = "") -> str:
        if var not in self.names:
            base = re.sub(r"\W", "_", wish or var.name)
            self.names[var] = f"{base}_{len(self.names)}"
        return self.names[var]

    def bind_shapes(self, buffers: Sequence[Any]) -> None:
        """Sizes that only tensors say, then what all their dimensions have to be."""
        found = [(size, f"{self.name(b.data)}.shape[{number}]") for b in buffers for number, size in enumerate(b.shape)]
        for size, where in found:
            if isinstance(size, tirx.Var) and size not in self.names:
                self.lines.add(f"{self.name(size)} = {where}")
        for size, where in found:
            self.lines.add(f"equal({self.text(size)}, {where})")

    # --- statements ---

    def inside(self, head: str, body: Any) -> None:
        outside = self.lines
        self.lines.add(head)
        self.lines = outside.nest()
        self.stmt(body)
        self.lines = outside

    def stmt(self, node: Any) -> None:
        match node:
            case tirx.SeqStmt():
                for each in node.seq:
                    self.stmt(each)
            case tirx.SBlockRealize():
                self.stmt(node.block)
            case tirx.SBlock():
                for buffer in node.alloc_buffers:
                    self.allocate(buffer)
                self.stmt(node.body)
            case tirx.AllocBuffer():
                self.allocate(node.buffer)
            case tirx.AttrStmt():
                self.stmt(node.body)
            case tirx.For():
                self.loop(node)
            case tirx.IfThenElse():
                self.branch(node)
            case tirx.While():  # until others have written what it reads
                self.lines.add(f"while {self.text(node.condition)}:")
                self.lines.nest().add("yield")
            case tirx.Bind():
                self.lines.add(f"{self.name(node.var)} = {self.text(node.value)}")
                self.spread |= {self.name(node.var)} if self.lanes else set()
            case tirx.BufferStore():
                self.store(node)
            case tirx.Evaluate():
                self.evaluate(node.value)
            case _:
                raise NotImplementedError(f"the simulation knows no {type(node).__name__}")

    def allocate(self, buffer: Any) -> None:
        shape = "".join(f"{self.text(size)}, " for size in buffer.shape)
        self.lines.add(f"{self.name(buffer.data, buffer.name)} = new(({shape}), {str(buffer.dtype)!r})")

    def loop(self, node: Any) -> None:
        if self.together and node.kind == tirx.ForKind.THREAD_BINDING:
            self.inside(f"def program({self.name(node.loop_var)}):", node.body)
            self.lines.add(f"together(program, {self.text(node.extent)})")
            return
        if node.kind != tirx.ForKind.PARALLEL:
            start, extent = self.text(node.min), self.text(node.extent)
            stop = extent if start == "0" else f"{start} + {extent}"
            self.inside(f"for {self.name(node.loop_var)} in range({start}, {stop}):", node.body)
            return
        nest, body = [node], node.body
        while isinstance(body, tirx.For) and body.kind == tirx.ForKind.PARALLEL:
            nest, body = [*nest, body], body.body
        for place, each in enumerate(nest):
            name = self.name(each.loop_var)
            self.lanes[name] = int(each.extent)
            self.spread.add(name)
            self.lines.add(f"{name} = lanes({int(each.extent)}, {place}, {len(nest)})")
        self.stmt(body)
        self.lanes = {}

    def branch(self, node: Any) -> None:
        condition = self.text(node.condition)
        if not self.lanes:
            self.inside(f"if {condition}:", node.then_case)
            if node.else_case is not None:
                self.inside("else:", node.else_case)
            return
        around = self.guard
        self.guard = self.guarded(condition)
        chosen = self.guard
        self.stmt(node.then_case)
        if node.else_case is not None:
            self.guard = around
            self.guard = self.guarded(f"np.logical_not({chosen})")
            self.stmt(node.else_case)
        self.guard = around

    def guarded(self, condition: str) -> str:
        """The name of a condition under which lanes take part, besides the one at hand."""
        self.guards += 1
        name = f"guard_{self.guards}"
        condition = each_once(condition)
        both = condition if self.guard == "None" else f"np.logical_and({self.guard}, {condition})"
        self.lines.add(f"{name} = {both}")
        return name

    def part(self, buffer: Any, indices: Sequence[Any]) -> list[str]:
        """An access as slices for lanes that begin a dimension, in their order, and numbers; [] where it is none."""
        parts, order = [], []
        for index, size in zip(indices, buffer.shape, strict=True):
            lane = self.names.get(index, "") if isinstance(index, tirx.Var) else ""
            if lane in self.lanes and self.lanes[lane] <= _number(size):
                parts.append(f":{self.lanes[lane]}")
                order.append(list(self.lanes).index(lane))
            elif self.spread.isdisjoint(self.names.get(var, "") for var in _variables(index)):
                parts.append(f"inside({self.text(index)}, {self.text(size)})")
            else:
                return []
        return parts if order == sorted(set(order)) else []

    def store(self, node: Any) -> None:
        name, value = self.name(node.buffer.data), self.text(node.value)
        value = each_once(value) if self.lanes else value
        parts = self.part(node.buffer, node.indices) if self.guard == "None" else []
        if sum(each[0] == ":" for each in parts) == len(self.lanes) > 0:
            self.lines.add(f"{name}[{', '.join(parts)}] = {value}")
            return
        self.lines.add(f"store({name}, {self.guard}, {value}, {', '.join(map(self.text, node.indices))})")

    def evaluate(self, call: Any) -> None:
        name = call.op.name.rpartition(".")[2]
        match name:
            case "fill":
                self.lines.add(f"{self.region(call.args[0])}[...] = {self.text(call.args[1])}")
            case "copy":
                self.lines.add(f"copy({self.region(call.args[0])}, {self.region(call.args[1])})")
            case "reduce":
                source, target, kind, place, clear = call.args
                where = f"{self.region(source)}, {self.region(target)}"
                self.lines.add(f"reduce({where}, {kind.value!r}, {int(place)}, {bool(clear)})")
            case "gemm":
                places = ", ".join(map(self.region, call.args[:3]))
                self.lines.add(f"gemm({places}, {bool(call.args[3])}, {bool(call.args[4])}, {self.text(call.args[9])})")
            case "im2col":
                places = ", ".join([*map(self.region, call.args[:2]), *map(self.text, call.args[2:])])
                self.lines.add(f"im2col({places})")
            case _ if name.startswith("atomic_") and name.endswith("_elem_op"):
                place, value = call.args[0].args[0], call.args[1]
                function = f"{_ATOMICS[name.split('_')[1]]}, {self.name(place.buffer.data)}"
                indices = ", ".join(map(self.text, place.indices))
                self.lines.add(f"atomic({function}, {self.guard}, {self.text(value)}, {indices})")
            case "tvm_storage_sync" | "sync_threads":
                pass
            case "call_extern" if call.args[0].value == "__threadfence":
                pass
            case _:
                raise NotImplementedError(f"the simulation knows no {call.op.name}")

    def region(self, call: Any) -> str:
        """The part of a buffer that a tile operation takes."""
        first, extents = call.args[0], call.args[2:]
        parts = [f"{self.text(i)}:{self.text(i)} + {self.text(e)}" for i, e in zip(first.indices, extents, strict=True)]
        return f"{self.name(first.buffer.data)}[{', '.join(parts)}]"

    # --- expressions ---

    def text(self, node: Any) -> str:
        match node:
            case tirx.IntImm():
                kind = str(node.dtype)
                plain = kind in ("int32", "int64")
                return (
                    str(bool(node.value))
                    if kind == "bool"
                    else str(node.value)
                    if plain
                    else f"cast({node.value}, {kind!r})"
                )
            case tirx.FloatImm():
                return f"cast(float({str(node.value)!r}), {str(node.dtype)!r})"
            case tirx.Var():
                return self.name(node)
            case tirx.Cast():
                return f"cast({self.text(node.value)}, {str(node.dtype)!r})"
            case tirx.BufferLoad():
                return self.load(node)
            case tirx.And() | tirx.Or():
                word = "and" if isinstance(node, tirx.And) else "or"
                return f"np.logical_{word}({self.text(node.a)}, {self.text(node.b)})"
            case tirx.Not():
                return f"np.logical_not({self.text(node.a)})"
            case tirx.Min() | tirx.Max():
                word = "min" if isinstance(node, tirx.Min) else "max"
                function = f"np.f{word}" if "float" in str(node.dtype) else f"np.{word}imum"
                return f"{function}({self.text(node.a)}, {self.text(node.b)})"
            case tirx.Select():
                three = map(self.text, (node.condition, node.true_value, node.false_value))
                return f"np.where({', '.join(three)})"
            case tirx.Div() if "float" in str(node.dtype):
                return f"np.true_divide({self.text(node.a)}, {self.text(node.b)})"
            case tirx.Div():
                return f"truncated({self.text(node.a)}, {self.text(node.b)})"
            case tirx.Mod():
                return f"np.fmod({self.text(node.a)}, {self.text(node.b)})"
            case tirx.Call():
                return self.call(node)
        if type(node) in _BINARY:
            return f"({self.text(node.a)} {_BINARY[type(node)]} {self.text(node.b)})"
        raise NotImplementedError(f"the simulation knows no {type(node).__name__}")

    def load(self, node: Any) -> str:
        name = self.name(node.buffer.data, node.buffer.name)
        parts = self.part(node.buffer, node.indices) if self.lanes else []
        if parts and (self.guard == "None" or all(each[0] == ":" for each in parts)):
            used = {self.names.get(index) for index in node.indices if isinstance(index, tirx.Var)}
            turned = ", ".join(":" if lane in used else "None" for lane in self.lanes)
            return f"{name}[{', '.join(parts)}]" + (f"[{turned}]" if "None" in turned else "")
        return f"load({name}, {self.guard}, {', '.join(map(self.text, node.indices))})"

    def call(self, node: Any) -> str:
        name = node.op.name.rpartition(".")[2]
        arguments = list(node.args)
        if name == "if_then_else":
            return self.chosen(*arguments)
        if name in _BITS:
            return f"({self.text(arguments[0])} {_BITS[name]} {self.text(arguments[1])})"
        if name == "bitwise_not":
            return f"(~{self.text(arguments[0])})"
        if name == "reinterpret":
            return f"reinterpret({self.text(arguments[0])}, {str(node.dtype)!r})"
        if name in ("call_pure_extern", "call_extern"):
            name, arguments = arguments[0].value, arguments[1:]
            name = name if name in _FUNCTIONS else name.removesuffix("f")
        if name == "infinity":
            return f"cast(math.inf, {str(node.dtype)!r})"
        if name == "launch_thread_idx":
            return "0"
        if name == "atomic_load_elem_op":
            return self.load(arguments[0].args[0])
        if name == "rsqrt":
            return f"(1 / np.sqrt({self.text(arguments[0])}))"
        if name not in _FUNCTIONS:
            raise NotImplementedError(f"the simulation knows no {name}")
        return f"{_FUNCTIONS[name]}({', '.join(map(self.text, arguments))})"

    def chosen(self, condition: Any, first: Any, second: Any) -> str:
        """One of two values; where lanes are at hand the other is computed too, but loads nothing."""
        if not self.lanes:
            return f"({self.text(first)} if {self.text(condition)} else {self.text(second)})"
        around, test = self.guard, self.text(condition)
        self.guards += 1
        name = f"guard_{self.guards}"
        both = "" if around == "None" else f"np.logical_and({around}, {{}})"
        self.guard = both.format(name) if both else name
        one = self.text(first)
        self.guard = both.format(f"np.logical_not({name})") if both else f"np.logical_not({name})"
        other = self.text(second)
        self.guard = around
        return f"np.where(({name} := {test}), {one}, {other})"


def _waits(body: Any) -> bool:
    """Whether programs wait for each other."""
    found: list[Any] = []
    tirx.stmt_functor.post_order_visit(body, lambda each: found.append(each) if isinstance(each, tirx.While) else None)
    return bool(found)


def _number(size: Any) -> int:
    return int(size) if isinstance(size, tirx.IntImm) else -1


def _variables(node: Any) -> list[Any]:
    found: list[Any] = []
    tirx.stmt_functor.post_order_visit(node, lambda each: found.append(each) if isinstance(each, tirx.Var) else None)
    return found

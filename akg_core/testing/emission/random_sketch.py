"""Random sketches that check: tiles of random axes, mapped, reduced, scanned, contracted and stored."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import torch

from akg_core.testing.emission.running import Case

SIZES = (1, 2, 3, 5, 7, 16, 17, 33, 40)
STEPS = (1, 2, 3, 8, 16, 20, 64)
UNARY = (
    "-{}",
    "abs({})",
    "tanh({})",
    "relu({})",
    "exp(-abs({}))",
    "sqrt(abs({}))",
    "sigmoid({})",
    "{} * 0.5",
    "1 + {} / 3",
    "where({} > 0, 1.5, -0.5)",
)
BINARY = (
    "{} + {}",
    "{} - {}",
    "{} * {}",
    "maximum({}, {})",
    "minimum({}, {})",
    "where({0} > {1}, {0}, {1} * 0.5)",
    "{} / (1 + abs({}))",
)


@dataclass
class Tile:
    """A tile at hand, and the axes that it has."""

    name: str
    axes: frozenset[str]


@dataclass
class Writer:
    """Grows one kernel. Dimension D of size `sizes[D]` is walked by the axis of the same letter in lower case."""

    random: random.Random
    sizes: dict[str, int]
    lines: list[str] = field(default_factory=list)
    ins: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outs: list[str] = field(default_factory=list)
    count: int = 0

    def fresh(self, stem: str) -> str:
        """A name that nothing has yet."""
        self.count += 1
        return f"{stem}{self.count}"

    def emit(self, depth: int, text: str) -> None:
        """One more line."""
        self.lines.append("    " * depth + text)

    def load(self, depth: int, axes: list[str]) -> Tile:
        """A load along some of the axes at hand, straight, backwards, shifted or spread."""
        used = self.random.sample(axes, self.random.randint(1, len(axes)))
        tensor = self.fresh("x")
        self.ins[tensor] = tuple(a.upper() for a in used)
        indices = []
        for axis in used:
            form = self.random.choice(["{}"] * 6 + ["{1} - 1 - {0}", "{} + 1", "{} - 2", "{} // 2"])
            indices.append(form.format(axis, axis.upper()))
        other = self.random.choice(["", "", ", other=1"])
        name = self.fresh("t")
        self.emit(depth, f"{name} = load({tensor}[{', '.join(indices)}]{other})")
        return Tile(name, frozenset(used))

    def step(self, depth: int, tiles: list[Tile], axes: list[str], free: list[str]) -> None:
        """One more statement; `free` axes may be reduced."""
        choice = self.random.random()
        name = self.fresh("t")
        if choice < 0.25 or not tiles:
            tiles.append(self.load(depth, axes))
            return
        a, b = self.random.choice(tiles), self.random.choice(tiles)
        reducible = [x for x in free if x in a.axes]
        if choice < 0.40:
            self.emit(depth, f"{name} = {self.random.choice(UNARY).format(a.name)}")
            tiles.append(Tile(name, a.axes))
        elif choice < 0.62:
            self.emit(depth, f"{name} = {self.random.choice(BINARY).format(a.name, b.name)}")
            tiles.append(Tile(name, a.axes | b.axes))
        elif choice < 0.82 and reducible:
            over = self.random.sample(reducible, self.random.randint(1, len(reducible)))
            axis = over[0] if len(over) == 1 else f"({', '.join(over)})"
            op = self.random.choice(["reduce_sum", "reduce_max", "reduce_min", "reduce_sum"])
            if len(over) == 1 and self.random.random() < 0.3:
                op = self.random.choice(["first", "last", "argmax", "argmin"])
            text = f"{op}({a.name}, {axis})"
            self.emit(depth, f"{name} = {f'f32({text})' if op.startswith('arg') else text}")
            tiles.append(Tile(name, a.axes - set(over)))
        elif choice < 0.9 and reducible:
            axis = self.random.choice(reducible)
            op = self.random.choice(["scan_sum", "scan_max", "scan_min"])
            way = self.random.choice(["", ", reverse=True"])
            self.emit(depth, f"{name} = {op}({a.name}, {axis}{way}) * 0.1")
            tiles.append(Tile(name, a.axes))
        else:
            common = sorted(a.axes & b.axes & set(free))
            if common:
                self.emit(depth, f"{name} = dot({a.name}, {b.name}, over={common[0]}) * 0.1")
                tiles.append(Tile(name, (a.axes | b.axes) - {common[0]}))

    def store(self, depth: int, tile: Tile, needed: list[str]) -> None:
        """Store a tile along its axes and those of the grid, in any order, to a result of its own."""
        axes = sorted(tile.axes | set(needed))
        self.random.shuffle(axes)
        tensor = self.fresh("y")
        self.outs.append(f'{tensor}: Out["f32", {", ".join(repr(a.upper()) for a in axes)}]'.replace("'", '"'))
        self.emit(depth, f"store({tensor}[{', '.join(axes)}], {tile.name})")


def sketch(seed: int) -> Case:
    """The case of this seed: three dimensions, a grid over one or two, the rest whole or walked in tiles."""
    rng = random.Random(seed)
    sizes = {name: rng.choice(SIZES) for name in "ABC"}
    writer = Writer(rng, sizes)
    axes = list("abc")
    rng.shuffle(axes)
    grid, rest = axes[: rng.randint(1, 2)], axes[2:]
    whole = [a for a in axes if a not in grid]
    depth = 1
    for axis in grid:
        writer.emit(depth, f"for {axis} in grid({axis.upper()}, {rng.choice(STEPS)}):")
        depth += 1
    looped = whole.pop() if len(whole) > 0 and rng.random() < 0.5 else ""
    for axis in whole:
        writer.emit(depth, f"{axis} = whole({axis.upper()})")
    tiles: list[Tile] = []
    at_hand = [*grid, *whole]
    for _ in range(rng.randint(1, 6)):
        writer.step(depth, tiles, at_hand, whole)
    if looped:
        carried = Tile(writer.fresh("acc"), frozenset(rng.sample(at_hand, rng.randint(0, len(at_hand)))))
        writer.emit(depth, f"{carried.name} = full([{', '.join(sorted(carried.axes))}], 0.5)")
        writer.emit(
            depth,
            f"for {looped} in tiles({looped.upper()}, {rng.choice(STEPS)}{rng.choice(['', '', ', reverse=True'])}):",
        )
        inner = [*tiles, carried]
        for _ in range(rng.randint(2, 7)):
            writer.step(depth + 1, inner, [*at_hand, looped], [*whole, looped])
        fits = [t for t in inner if t.axes <= carried.axes and t is not carried]
        for tile in inner[len(tiles) + 1 :]:
            if looped in tile.axes and rng.random() < 0.5:
                writer.store(depth + 1, tile, [*grid, looped])
        if fits:
            writer.emit(depth + 1, f"{carried.name} = {carried.name} * 0.5 + {rng.choice(fits).name}")
        tiles.append(carried)
        for _ in range(rng.randint(0, 3)):
            writer.step(depth, tiles, at_hand, whole)
    for tile in tiles[-rng.randint(1, 3) :]:
        writer.store(depth, tile, grid)
    del rest
    for dim in sizes:  # every dimension is some tensor's
        writer.ins.setdefault(f"d{dim}", (dim,))
    ins = [
        f'{name}: In["f32", {", ".join(repr(d) for d in dims)}]'.replace("'", '"') for name, dims in writer.ins.items()
    ]
    text = f"@kernel\ndef k({', '.join([*ins, *writer.outs])}):\n" + "\n".join(writer.lines) + "\n"
    made = torch.Generator().manual_seed(seed)
    inputs = [torch.randn([sizes[d] for d in dims], generator=made) for dims in writer.ins.values()]
    return Case(f"random_{seed}", text, inputs, static=rng.random() < 0.6, tolerance=2e-5)

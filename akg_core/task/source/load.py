"""Reads a reference file in KernelBench's format and makes its module and inputs.

Worker side only: everything here runs the user's code. The file defines `Model` (a `torch.nn.Module`),
`get_inputs() -> list` and `get_init_inputs() -> list`; a file for varying sizes defines
`get_inputs_dyn_list() -> list[list]` beside or instead of `get_inputs`. Whatever the file does wrong becomes a
`TaskError` of one sentence with the line.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import linecache
import random
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.parameter import is_lazy

from akg_core.errors import OutOfMemory, TaskError, is_of_memory
from akg_core.records import HOST
from akg_core.task.argument_records import holds_records, plain, taking_records
from akg_core.task.arguments import holding
from akg_core.task.complex_border import as_pairs, real
from akg_core.task.layout import storage_of
from akg_core.task.source.attributes import moved
from akg_core.task.source.beside import placed
from akg_core.task.source.branches import NAMES
from akg_core.task.source.default_device import making_on
from akg_core.task.source.gradients import with_gradients
from akg_core.task.source.loops import RUN
from akg_core.task.source.packed_lengths import take_lengths_of_devices
from akg_core.task.source.rewritten import rewritten
from akg_core.task.source.syntax import compiled
from akg_core.task.source.uncompiled import uncompiled
from akg_core.task.tracing.turns import run
from akg_core.worker.tensors import transform

_PREFIX = "akg_reference_"  # of the names of reference files as modules
FORMAT = "A reference file defines Model, get_inputs and get_init_inputs."
CALL = "`Model(*get_init_inputs())(*get_inputs())`"


@dataclass(frozen=True, slots=True)
class ReferenceModule:
    """A loaded reference file. Its methods run the file's functions and raise TaskError for what goes wrong.

    `device` is torch's name of where modules and inputs are made. `replaced`: attributes of the module that forward
    replaces by tensors, which are buffers of the modules made. `pairs`: complex tensors are pairs of real ones, those
    at these places of the arguments too (`complex_border`); None: they are what they are. `records`: dataclasses and
    named tuples among the arguments are plain collections (`argument_records`). `plain_results`: and those among what
    forward gives. `held`: what tensors among these hold
    whatever is drawn, by their places (`arguments.holding`).
    """

    name: str
    source: str
    Model: type[nn.Module]
    get_inputs: Callable[[], Sequence[Any]]
    get_init_inputs: Callable[[], Sequence[Any]]
    get_inputs_dyn_list: Callable[[], Sequence[Sequence[Any]]] | None = None
    device: str = HOST
    replaced: tuple[str, ...] = ()
    pairs: tuple[int, ...] | None = None
    records: bool = False
    plain_results: bool = False
    held: Mapping[int, Any] = field(default_factory=dict)

    def model(self, seed: int = 0, *, eval: bool = False) -> nn.Module:
        """A new module, its parameters drawn after `sow(seed)`; `eval` switches its mode."""
        sow(seed)
        with blame(self.name, "get_init_inputs"):
            arguments = self.get_init_inputs()
        if not isinstance(arguments, (list, tuple)):
            raise TaskError(f"{self.name}: get_init_inputs returns a {type(arguments).__name__}, not a list.", FORMAT)
        with blame(self.name, "Model's constructor"):
            model = moved(self.Model(*arguments), self.device)
            _require_shapes(self.name, model)
            model = as_buffers(model, self.replaced)
            if self.records:
                model = taking_records(model, self.examples(), plain_results=self.plain_results)
            model = model if self.pairs is None else as_pairs(model, self.pairs)
            model = making_on(model, self.device, self.source)
        if self.device != HOST:
            take_lengths_of_devices()
        return model.eval() if eval else model

    def inputs(self, seed: int = 0) -> list[Any]:
        """The positional arguments of `forward`, drawn after `sow(seed)`."""
        with blame(self.name, "get_inputs"):
            values = self._drawn(seed)
        found = self._bordered(_inputs_list(self.name, "get_inputs", values))
        return [self._moved(value) for value in holding(found, self.held)]

    def with_plain_arguments(self) -> ReferenceModule:
        """The same, with plain collections where some arguments are dataclasses or named tuples."""
        return replace(self, records=any(map(holds_records, self.examples())))

    def examples(self) -> Sequence[Any]:
        """What get_inputs gives, without the memory of its tensors where that can be."""
        try:
            with FakeTensorMode(allow_non_fake_inputs=True):
                return self.get_inputs()
        except Exception:  # it looks at values
            with blame(self.name, "get_inputs"):
                return self.get_inputs()

    def _bordered(self, values: list[Any]) -> list[Any]:
        values = [plain(value) for value in values] if self.records else values
        return values if self.pairs is None else [real(value) for value in values]

    def _drawn(self, seed: int) -> Any:
        """What get_inputs gives, made on the device, or on the host where its lines, written for that, ask for it:
        `torch.normal(0.0, 1.0, shape)` lies there in any case."""
        if self.device != HOST:
            sow(seed)
            try:
                with torch.device(self.device):
                    return self.get_inputs()
            except Exception as error:
                if is_of_memory(error):
                    raise
        sow(seed)
        return self.get_inputs()

    def _moved(self, value: Any) -> Any:
        """A module or tensor on the device, where the file may have put it elsewhere; anything else as it is."""
        if self.device == HOST:
            return value
        return value.to(self.device) if isinstance(value, nn.Module) else transform(value, lambda t: t.to(self.device))

    def input_lists(self, seed: int = 0) -> list[list[Any]]:
        """The argument lists of differing shapes of `get_inputs_dyn_list`; empty where the file has none."""
        if self.get_inputs_dyn_list is None:
            return []
        sow(seed)
        with blame(self.name, "get_inputs_dyn_list"):
            lists = list(self.get_inputs_dyn_list())
        if not lists:
            raise TaskError(f"{self.name}: get_inputs_dyn_list returns nothing.", "It returns a list of input lists.")
        return [self._bordered(_inputs_list(self.name, "an entry of get_inputs_dyn_list", values)) for values in lists]

    def argument_names(self, inputs: Sequence[Any]) -> tuple[str, ...]:
        """The name of the parameter of `forward` that each input goes to (`xs_0`, `xs_1` for `*xs`)."""
        signature = inspect.signature(self.Model.forward)
        try:
            bound = signature.bind(None, *inputs)
        except TypeError as error:
            raise TaskError(
                f"{self.name}: get_inputs gives {len(inputs)} values, which do not fit forward{signature} ({error}).",
                f"Have it give forward's positional arguments, so that {CALL} runs.",
            ) from None
        names: list[str] = []
        for name, value in list(bound.arguments.items())[1:]:
            variadic = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            names += [f"{name}_{i}" for i in range(len(value))] if variadic else [name]
        return tuple(names)

    def defaults(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """The parameters of `forward` that these inputs leave out, with their defaults."""
        signature = inspect.signature(self.Model.forward)
        given = signature.bind(None, *inputs).arguments
        empty = inspect.Parameter.empty
        return {n: p.default for n, p in signature.parameters.items() if n not in given and p.default is not empty}


def sow(seed: int) -> None:
    """What a file draws from now on follows from a seed, whether by torch, by numpy or by Python's own generator."""
    torch.manual_seed(seed)
    random.seed(seed)
    if numbers := sys.modules.get("numpy.random"):
        numbers.seed(seed % (1 << 32))


def _require_shapes(file: str, model: nn.Module) -> None:
    for name, value in (*model.named_parameters(), *model.named_buffers()):
        if is_lazy(value):
            raise TaskError(
                f"{file}: the module's {name} has no shape before the first call, which a kernel does not make.",
                "Use layers that are told their sizes, such as nn.Linear for nn.LazyLinear.",
            )


def as_buffers(model: nn.Module, names: Iterable[str]) -> nn.Module:
    """A module with these plain attributes, by qualified name, as buffers: a state dict tells what is left there.

    To Python code nothing changes, but that none of them lies in the memory of a parameter, as spectral norm's weight
    does. Raises AttributeError where there is no such tensor.
    """
    names = tuple(names)
    memory = {storage_of(p) for p in model.parameters()} if names else set()
    for name in names:
        path, _, attribute = name.rpartition(".")
        owner = model.get_submodule(path)
        if attribute not in owner._buffers:
            value = _taken(owner, attribute)
            owner.register_buffer(attribute, value.clone() if storage_of(value) in memory else value)
    return model


def _taken(owner: nn.Module, attribute: str) -> torch.Tensor:
    value = vars(owner).pop(attribute, None)
    if not isinstance(value, torch.Tensor):
        raise AttributeError(f"{type(owner).__name__} has no tensor {attribute}, which forward of Model replaces")
    return value


def read(path: str | Path) -> str:
    """The text of a reference file, which finds what lies beside it wherever it is run, and is compiled by nobody."""
    try:
        return placed(uncompiled(Path(path).read_text(encoding="utf-8-sig")), Path(path))
    except FileNotFoundError:
        raise TaskError(f"{path}: there is no such file.", "Give the path of a reference file.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise TaskError(f"{path} cannot be read: {reason}.", "Give the path of a reference file.") from None


def load_source(source: str, name: str, *, traced: bool = False) -> ReferenceModule:
    """Run a reference file given as text. `name` stands for the file in messages and tracebacks.

    `traced`: it is run on tensors without data, where loops that read numbers are given all of their turns at once.
    """
    # A transformer's fast path leaves 0 in the rows of padding, by nested tensors, and only where gradients are off.
    torch.backends.mha.set_fastpath_enabled(False)
    filename = reference_filename(name)
    code = compiled(source, name, filename, tree=rewritten if traced else ast.parse)
    module = types.ModuleType(_PREFIX + hashlib.sha256(source.encode()).hexdigest()[:12])
    module.__file__ = filename
    # inspect and dataclasses look a class's module up by name, and tracebacks its lines by file name.
    sys.modules[module.__name__] = module
    if traced:
        vars(module).update({RUN: run, **NAMES})
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    with blame(name, "importing the file"):
        exec(code, module.__dict__)
    return _reference(name, source, module.__dict__)


def unload() -> None:
    """Forget the modules of all reference files that were run here."""
    for name in [name for name in sys.modules if name.startswith(_PREFIX)]:
        del sys.modules[name]
    linecache.clearcache()


def reference_filename(name: str) -> str:
    """The file name under which the code of reference `name` runs, as it stands in tracebacks."""
    return f"<{name}>"


def is_reference(module: str) -> bool:
    """Whether this is the name of a reference file as a module."""
    return module.startswith(_PREFIX)


def line_of(error: BaseException, name: str) -> int:
    """The innermost line of reference `name` in an exception's traceback; 0 when it has none."""
    filename = reference_filename(name)
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == filename]
    return (lines[-1] or 0) if lines else 0


def sentence(error: BaseException) -> str:
    """An exception on one line: its type and the first line of its message."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    text = text if len(text) <= 240 else text[:237] + "..."
    return f"{type(error).__name__}: {text}".rstrip(": .")


@contextmanager
def blame(name: str, doing: str) -> Iterator[None]:
    """Turn whatever the user's code raises inside into a TaskError: "NAME, line 7: DOING raises ValueError: ....".

    For want of memory it is OutOfMemory.
    """
    try:
        yield
    except TaskError:
        raise
    except (Exception, SystemExit) as error:
        line = line_of(error, name)
        place = f"{name}, line {line}" if line else name
        kind = OutOfMemory if is_of_memory(error) else TaskError
        raise kind(f"{place}: {doing} raises {sentence(error)}.", _cure(error, kind)) from None


def _cure(error: BaseException, kind: type[TaskError]) -> str:
    """What to do about an exception of the user's code."""
    if kind is OutOfMemory:
        return "Free memory, or try smaller sizes: --scale 0.25."
    if isinstance(error, ModuleNotFoundError) and error.name:
        module = error.name.partition(".")[0]
        return (
            f"Install what has the module {module} (`{sys.executable} -m pip install ...`), or put it beside the file."
        )
    return f"Mend the file, so that {CALL} runs in PyTorch by itself."


def _reference(name: str, source: str, namespace: dict[str, Any]) -> ReferenceModule:
    model = namespace.get("Model")
    if model is None:
        raise TaskError(f"{name}: the file defines no Model.", FORMAT)
    if not (isinstance(model, type) and issubclass(model, nn.Module)):
        raise TaskError(f"{name}: Model is not a class derived from torch.nn.Module.", FORMAT)
    found: dict[str, Callable[[], Any] | None] = {}
    for key in ("get_inputs", "get_init_inputs", "get_inputs_dyn_list"):
        found[key] = namespace.get(key)
        if found[key] is not None and not callable(found[key]):
            raise TaskError(f"{name}: {key} is not a function.", FORMAT)
    lists = found["get_inputs_dyn_list"]
    get_inputs = found["get_inputs"] or (lists and (lambda: lists()[0]))
    if get_inputs is None:
        raise TaskError(f"{name}: the file defines no get_inputs.", FORMAT)
    with_gradients(model, source)
    return ReferenceModule(name, source, model, get_inputs, found["get_init_inputs"] or list, lists)


def _inputs_list(name: str, function: str, values: Any) -> list[Any]:
    if not isinstance(values, (list, tuple)):
        raise TaskError(
            f"{name}: {function} returns a {type(values).__name__}, not a list.",
            "It returns the list of forward's positional arguments.",
        )
    return list(values)

"""Turns that are timed on a device: new inputs before each, the time, and a copy of what was answered.

Worker side, jobs in a process that works on the device and runs nothing of those that are timed; it is the reference's,
or one that has no task, for a kernel that does nothing. What another process has queued on the device waits for the
start of the turn; inputs come to lie in its sight when it stands still. See `akg_core.device.DeviceClock`.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from akg_core.device import Device, DeviceClock
from akg_core.judge.compare.bits import changed, named, same_bits
from akg_core.judge.reference import drawing, written
from akg_core.judge.reference.memory_estimate import bytes_to_time
from akg_core.judge.reference.new_inputs_on_device import Refill
from akg_core.judge.reference.timed_inputs import as_case, first_case, hard_case, tensor_names
from akg_core.task.arguments import flat, rebuilt
from akg_core.worker.placement import device_at
from akg_core.worker.tensors import TensorFileError, assembled, fresh, memory

_ALIGNMENT = 512  # bytes, as allocators of devices have it
_STAGED_BYTES = 1 << 30  # of inputs that are made elsewhere and copied at once; more are made in place
_KEPT_BYTES = 2 << 30  # of answers that are kept, one at least
_SOON, _LONGER = 1e-3, 1.5  # seconds within which nobody gets the device back; and how long copying may take
_DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}

Write = Callable[[Sequence[torch.Tensor], int], None]


class _Answer(NamedTuple):
    """What was answered to the inputs of a seed, and those of them that were changed, by place.

    `random`: the seed of the call, where forward draws random numbers.
    """

    seed: int
    random: int
    answer: dict[str, Any]
    outputs: list[torch.Tensor]
    changed: dict[int, torch.Tensor]


class Track:
    """Memory for the inputs of a call, of which a table tells the tensors, and the clock.

    `write` makes them: where, and by which seed. `like`: arguments, of which tensors have no memory.
    """

    def __init__(self, device: Device, given: Sequence[dict[str, Any]], write: Write, like: Sequence[Any] = ()) -> None:
        self.device, self.like, self._given, self._write = device, list(like), given, write
        self.places, size = _laid_out([tensor["nbytes"] for tensor in given])
        self.clock: DeviceClock = device.clock(max(1, size))
        staged = size if size <= _STAGED_BYTES else 0
        self._staging = torch.empty(staged, dtype=torch.uint8, device=device.name)
        self._bring = self.clock.copies([(self._staging, self.clock.memory[:staged])])
        self._staged: int | None = None  # the seed of what lies there
        self._write(self.left(), secrets.randbits(31))  # models are called on it before a first turn: indices must hold
        device.synchronize()
        self.kept: list[_Answer] = []
        self.sure: dict[bool, _Answer] = {}  # of the fastest turn, and of one on rows of many kinds
        self.least, self.offered = math.inf, 0
        self._is_closed = False

    def close(self) -> None:
        """Free the memory that inputs come to lie in, for there are no more turns; answers that were kept stay."""
        if not self._is_closed:
            self._is_closed = True
            self.device.synchronize()
            self.clock.close()

    def exposing(self, seed: int) -> Callable[[], None]:
        """What brings the inputs of a seed in sight."""
        if not len(self._staging):
            return lambda: self._write(self.left(), seed)
        if self._staged != seed:
            self._write(self._tensors(self._staging), seed)
            self._staged = seed
        return self._bring

    def given(self, seed: int) -> list[torch.Tensor]:
        """The tensors of a seed as they are made, flat, in memory of their own."""
        size = _laid_out([each["nbytes"] for each in self._given])[1]
        made = self._tensors(torch.empty(size, dtype=torch.uint8, device=self.device.name))
        self._write(made, seed)
        return made

    def left(self) -> list[torch.Tensor]:
        """The tensors as they are in sight now, flat."""
        return self._tensors(self.clock.memory)

    def _tensors(self, where: torch.Tensor) -> list[torch.Tensor]:
        return [
            where[at:][: told["nbytes"]].view(_DTYPES[told["dtype"]])
            for at, told in zip(self.places, self._given, strict=True)
        ]


class _Told(NamedTuple):
    """An answer as foreign code describes it, flat copies of its tensors, and what makes these."""

    answer: dict[str, Any]
    copies: list[torch.Tensor]
    keep: Callable[[], None]


_tracks: list[Track] = []


@torch.no_grad()
def open_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{seed} → {lane, places, hard}: make a track for calls on the reference's first case; inputs are made from draws.

    Where memory is short, what cases lend is taken back until another kernel is judged. `hard`: whether a seed below 0
    gives inputs whose rows are of many kinds.
    """
    reference, first = drawing.current(), first_case()
    hard = hard_case(reference)
    drawing.withdraw(reference, bytes_to_time(reference.task))

    def draw(seed: int) -> list[Any]:
        return drawing.inputs_drawn(reference, first.model_copy(update={"seed": seed}))

    def write(targets: Sequence[torch.Tensor], seed: int) -> None:
        if seed >= 0:
            refill.write(targets, seed)
            return
        assert hard
        drawn = drawing.inputs_drawn(reference, hard.model_copy(update={"seed": -seed}))
        tensors = (fresh(value) for value in flat((), drawn) if isinstance(value, torch.Tensor))
        for target, tensor in zip(targets, tensors, strict=True):
            target.copy_(memory(tensor))

    refill = Refill(draw, payload["seed"])
    track = Track(reference.device, refill.given, write, refill.like)
    return _opened(track) | {"hard": hard is not None}


def idle_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{plugin, target} → as `open_job`, for calls that have no inputs; `cache`: bytes of the device's largest."""
    device = device_at(payload)
    return {"cache": device.cache_bytes()} | _opened(Track(device, (), lambda *_: None))


@torch.no_grad()
def turn_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{number, seed, random, sweep, told, most, patience} → {seconds, exposed, late} or {error}.

    `told`: {answer, named}, what the answer is and where its tensors lie; or None: it is not looked at. At `most` so
    many answers are kept. `exposed`: for how many seconds inputs were in sight before. `late`: copying the answer was
    interrupted, so that something was still at work then.
    """
    track = _tracks[0]
    expose = track.exposing(payload["seed"])
    number, sweep = payload["number"], payload["sweep"]
    return _timed(track, payload, lambda keep: track.clock.begin(number, expose, sweep, keep))


@torch.no_grad()
def begin_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{number, seed, sweep, patience} → {}: begin a turn whose call is not queued, but comes as soon as it can."""
    track = _tracks[0]
    track.clock.begin(payload["number"], track.exposing(payload["seed"]), payload["sweep"])
    track.clock.wait(payload["patience"])
    return {}


@torch.no_grad()
def end_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{seed, random, told, most, patience} → as `turn_job`: end the turn that has begun."""
    track = _tracks[0]
    return _timed(track, payload, lambda keep: track.clock.end(keep))


def start_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{number} → {}: start a turn of which nobody takes the time, since it cannot be queued."""
    _tracks[0].clock.start(payload["number"])
    return {}


@torch.no_grad()
def check_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{place, longest_reduction} → {found}: an answer that was kept, as by `compare_job`; None: there is no more.

    There are no turns after that.
    """
    track = _tracks[0]
    track.close()
    every = [*track.sure.values(), *track.kept]
    if payload["place"] >= len(every):
        return {"found": None}
    kept = every[payload["place"]]
    values, made, tensors = flat((), track.like), iter(track.given(kept.seed)), list[torch.Tensor]()
    for at, value in enumerate(values):
        if isinstance(value, torch.Tensor):
            values[at] = next(made).as_strided(value.shape, value.stride())
            tensors.append(values[at])
    inputs = rebuilt(track.like, values)
    names = tensor_names(inputs)
    left = {names[at]: flat_.as_strided(tensors[at].shape, tensors[at].stride()) for at, flat_ in kept.changed.items()}
    try:
        result = assembled(kept.answer, kept.outputs)
    except TensorFileError as error:
        return {"found": {"outputs": [], "unexpected": [], "error": str(error)}}
    with as_case(inputs, kept.random) as name:
        different = changed(named(inputs, {}), left)
        return {
            "found": written.compare_answer(name, written.Answer(result, different), payload["longest_reduction"], True)
        }


def forget() -> None:
    """Give up the track."""
    while _tracks:
        _tracks.pop().close()


def _opened(track: Track) -> dict[str, Any]:
    _tracks[:] = [track]
    return {"lane": track.clock.token, "places": track.places}


def _timed(track: Track, payload: dict[str, Any], go: Callable[[Callable[[], None]], None]) -> dict[str, Any]:
    """The report of a turn, for which `go` queues what is to be done."""
    try:
        told = _described(track, payload["told"])
        go(told.keep)
        track.clock.wait(payload["patience"])
        seconds, exposed, copying = track.clock.taken()
        late = copying > _SOON and _is_late(track, told, copying, payload["patience"])
        if payload["told"] is not None:
            _offer(track, told, payload, seconds)
    except TimeoutError:
        return {"error": f"it did not end within {payload['patience']:g} s"}
    except (LookupError, TypeError, ValueError) as error:
        return {"error": f"its answer cannot be read: {error}"}
    finally:
        track.clock.forget()
    return {"seconds": seconds, "exposed": exposed, "late": late}


def _is_late(track: Track, told: _Told, copying: float, patience: float) -> bool:
    """Whether copying an answer took longer than to copy as much again, of our own."""
    track.clock.end(track.clock.copies([(copy, copy) for copy in told.copies]))
    track.clock.wait(patience)
    return copying > _LONGER * track.clock.taken()[2] + _SOON / 2


def _described(track: Track, told: dict[str, Any] | None) -> _Told:
    """Where an answer lies, by what foreign code says, and memory for a copy of it."""
    if told is None:
        return _Told({}, [], lambda: None)
    answer, device = told["answer"], track.device
    sizes = [int(tensor["nbytes"]) for tensor in answer["tensors"]]
    if any(tensor["device"] != device.name for tensor in answer["tensors"]):
        raise ValueError(f"it does not lie on {device.name}")
    if min(sizes, default=0) < 0:
        raise ValueError("it has no size")
    if len(told["named"]) != len(sizes):
        raise ValueError("it is not said where all of it lies")
    places, size = _laid_out(sizes)
    if size > device.free_bytes():
        raise ValueError("it is larger than what the device has free")
    held = torch.empty(size, dtype=torch.uint8, device=device.name)
    copies = [held[at:][:size] for at, size in zip(places, sizes, strict=True)]
    pairs = zip(told["named"], copies, strict=True)
    found = [(track.clock.found(name, copy.nbytes), copy) for name, copy in pairs if copy.nbytes]
    return _Told(answer, copies, track.clock.copies(found))


def _offer(track: Track, told: _Told, payload: dict[str, Any], seconds: float) -> None:
    """Keep an answer: for sure that of the fastest turn, and one on rows of many kinds; of others, perhaps in place of
    another, each as likely as another to be among those that are kept.
    """
    size, hard = sum(copy.nbytes for copy in told.copies), payload["seed"] < 0
    most = max(1, min(payload["most"], _KEPT_BYTES // max(1, size))) - 1
    track.offered += not hard
    at = len(track.kept) if len(track.kept) < most else secrets.randbelow(max(1, track.offered))
    fastest = not hard and seconds < track.least
    if hard or fastest or at < most:
        pairs = enumerate(zip(track.given(payload["seed"]), track.left(), strict=True))
        different = {place: left.clone() for place, (one, left) in pairs if not same_bits(one, left)}
        answer = _Answer(payload["seed"], payload["random"], told.answer, told.copies, different)
        if hard or fastest:
            track.sure[hard] = answer
        if fastest:
            track.least = seconds
        if at < most and not hard:
            track.kept[at : at + 1] = [answer]


def _laid_out(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Where tensors of so many bytes begin, one after the other, and how many they take together."""
    places, end = list[int](), 0
    for size in sizes:
        places.append(end)
        end += -(-size // _ALIGNMENT) * _ALIGNMENT
    return places, end

"""The clock of a worker whose own clock nobody believes: a process outside hands over data, and takes the time.

It is the worker's keeper, which has started it and holds nothing that the worker's code could change. A *turn* is some
calls in a row, each on data of its own. While the worker stands still its data are written and the caches swept; then
it is let go, and time passes until it has said that it is done and stands still again. What it has answered in one of
the calls, which is picked only then, is read before it goes on. So nothing is done before the time or after it, for
there is nothing yet to be done it with, and what is done later is too late.

The worker's side is `Turns`; an *order* of the orchestrator is JSON with the descriptors of two files:

    {"calls", "turns", "warmup", "sweep"}       calls of a turn, turns, calls before each of them, bytes to sweep
    {"given": [{"nbytes", …}, …], "step"}       the tensors of a call's data, and bytes from one call's to the next's
    {"keep"}                                    whether answers are kept
    {"sized"}                                   numbers of an answer's tensors whose shape is told each time

The first file holds the data of all calls, each tensor on a 64-byte boundary. The second gets a list of the answers
that are kept, one of each turn, with what the call's data hold then, as {"result", "arguments"}; see
`akg_core.worker.tensors`. The report is {"samples", "waited", "kept"}: seconds of each turn, those of them in which the
worker was ready to run and had no processor, and which calls' answers are kept; or {"error"}, with {"ends"} where the
worker was ended for it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import select
import signal
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from akg_core.worker import vm
from akg_core.worker.kept_answers import LONGEST_ANSWER, Kept, KeptAnew, Unfit, words
from akg_core.worker.layout import aligned

WARM, GO, END = b"w", b"g", b"e"
_READY_BYTES = 8 << 20  # of the message in which a worker says where its data lie
_ADDRESSES = 1 << 17  # bytes of the message with addresses of answers
_PRIVATE_CACHE = 8 << 20  # bytes, more than what caches of one core hold
_MOST_CORES = 16  # whose own caches are swept
_ENDING_SECONDS, _LOOK_SECONDS = 0.1, 0.002


class Turns:
    """The worker's side: it says where its data lie, and calls when it is told to. `answer` describes what it gives."""

    def __init__(self, clock: socket.socket) -> None:
        self._clock = clock

    def ready(self, places: Sequence[Sequence[int]], answer: dict[str, Any]) -> None:
        """Say at which addresses the tensors of each call's data lie, and what an answer is."""
        message = json.dumps({"places": places, "answer": answer}).encode()
        self._clock.sendall(struct.pack("!Q", len(message)) + message)

    def next(self) -> bytes:
        """What is to be done next: WARM, GO or END."""
        return self._clock.recv(1) or END

    def done(self, addresses: Sequence[int] = ()) -> None:
        """Say that a call has returned, or all calls of a turn with answers at these addresses, with their sizes."""
        self._clock.sendall(struct.pack(f"={len(addresses)}Q", *addresses) if addresses else WARM)

    def fail(self) -> None:
        """Say that there will be no turn."""
        self._clock.sendall(struct.pack("!Q", 0))


class _NotReady(Exception):
    """A worker takes no turns, and says why in its answer."""


class Timekeeper:
    """Carries out orders that come over a socket, for as long as the worker, a child of this process, is there."""

    def __init__(self, orders: socket.socket, clock: socket.socket, worker: int) -> None:
        self._orders, self._clock, self._worker = orders, clock, worker
        self._ended: int | None = None
        self._waiting = _schedule_statistics(worker)
        self._swept: list[bytearray] = []

    def serve(self) -> int:
        """Wait for the worker to end, and give how it did, as waitpid(2) does."""
        poll = select.poll()
        poll.register(self._orders, select.POLLIN)
        poll.register(self._clock, 0)  # tells when the other end has closed
        while self._ended is None:
            found = dict(poll.poll())
            if self._orders.fileno() not in found or not self._attend():
                self._ended = self._ended or os.waitpid(self._worker, 0)[1]
        return self._ended

    def _attend(self) -> bool:
        """Take an order and report. Says whether there was one."""
        message, descriptors, _, _ = socket.recv_fds(self._orders, 1 << 16, 2)
        if not message:
            return False
        try:
            report = self._carry_out(json.loads(message), *descriptors)
        except _NotReady:
            report = {"error": "it was not ready to be timed"}
        except Unfit as error:
            report = {"error": str(error), "ends": True}
        except Exception as error:  # of whatever kind: what the worker says may be anything
            report = {"error": f"its process could not be timed from outside: {error}", "ends": True}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        if "ends" in report and self._has_ended():
            del report["ends"]
        self._orders.send(json.dumps(report).encode())
        if self._ended is None:
            if "ends" in report:
                os.kill(self._worker, signal.SIGKILL)
            self._go_on()
            with contextlib.suppress(OSError):
                self._clock.send(END)
        return True

    def _carry_out(self, order: dict[str, Any], data: int, answers: int) -> dict[str, Any]:
        said = self._listen()
        places, answer = said["places"], said["answer"]
        if len(places) < order["calls"] or any(len(place) != len(order["given"]) for place in places):
            raise Unfit("it has no place for its data")
        if _overlap(places[: order["calls"]], order["given"]):
            raise Unfit("it has one place for data of several calls")
        report: dict[str, Any] = {"samples": [], "waited": [], "kept": []}
        with contextlib.ExitStack() as stack:
            given = stack.enter_context(vm.View(data, os.fstat(data).st_size))
            kept: Kept | KeptAnew | None = None
            if order["keep"]:
                kept = KeptAnew(answers, answer, order) if order["sized"] else Kept(answers, answer, order)
                stack.enter_context(kept)
            count = words(answer, order["sized"])
            for turn in range(order["turns"]):
                first = turn * order["calls"]
                took, waited, found = self._turn(order, places, given.address + first * order["step"], count)
                report["samples"].append(took)
                report["waited"].append(waited)
                if kept:
                    last = order["calls"] - 1  # behind which nothing hides what comes late
                    call = secrets.choice((last, secrets.randbelow(order["calls"])))
                    kept.read(self._worker, turn, found[call * count :][:count], places[call])
                    report["kept"].append(first + call)
                self._go_on()
        return report

    def _has_ended(self) -> bool:
        """Whether the worker ends of itself, which takes a moment when it has closed its files."""
        until = time.monotonic() + _ENDING_SECONDS
        while self._ended is None and time.monotonic() < until:
            process, status = os.waitpid(self._worker, os.WNOHANG)
            self._ended = status if process else None
            time.sleep(0.0 if process else _LOOK_SECONDS)
        return self._ended is not None

    def _listen(self) -> dict[str, Any]:
        """Where the worker's data lie, which it says once it is ready."""
        (size,) = struct.unpack("!Q", self._exactly(8))
        if not size:
            raise _NotReady
        if size > _READY_BYTES:
            raise Unfit("it says more than where its data lie")
        said = json.loads(self._exactly(size))
        for tensor in said["answer"]["tensors"]:
            if not 0 <= tensor["nbytes"] <= LONGEST_ANSWER:
                raise Unfit("its answer has no size")
        return dict(said)

    def _turn(
        self, order: dict[str, Any], places: list[list[int]], source: int, answers: int
    ) -> tuple[float, float, tuple[int, ...]]:
        """Seconds that a turn took, the part of them that it waited for a processor, and where its answers lie."""
        for _ in range(order["warmup"]):
            self._clock.send(WARM)
            self._exactly(1)
        self._stop()
        for place in places[: order["calls"]]:
            offset = source
            for address, tensor in zip(place, order["given"], strict=True):
                vm.write(self._worker, address, offset, tensor["nbytes"])
                offset += aligned(tensor["nbytes"])
            source += order["step"]
        self._sweep(order["sweep"])
        self._require_still()
        size = 8 * answers * order["calls"] or 1
        waited, began = self._waited(), time.perf_counter()
        self._go_on()
        self._clock.send(GO)
        found = self._exactly(size)
        self._stop()
        took = time.perf_counter() - began
        return took, self._waited() - waited, struct.unpack(f"={len(found) // 8}Q", found[: len(found) // 8 * 8])

    def _stop(self) -> None:
        """Have every thread of the worker stand still."""
        os.kill(self._worker, signal.SIGSTOP)
        _, status = os.waitpid(self._worker, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            self._ended = status
            raise Unfit("its process ended while it was timed")

    def _require_still(self) -> None:
        """The system tells when a process has gone on since it stopped, though it may have stopped again."""
        if os.waitpid(self._worker, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)[0]:
            raise Unfit("its process went on while it was to stand still")

    def _go_on(self) -> None:
        os.kill(self._worker, signal.SIGCONT)

    def _exactly(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            piece = self._clock.recv(min(size - len(found), _ADDRESSES))
            if not piece:
                raise Unfit("its process ended, or took no more turns")
            found += piece
        return bytes(found)

    def _waited(self) -> float:
        """Seconds that the worker's first thread was ready to run and had no processor, as far as that is known."""
        if self._waiting < 0:
            return 0.0
        return int(os.pread(self._waiting, 128, 0).split()[1]) / 1e9

    def _sweep(self, size: int) -> None:
        """Read so many bytes, and some on every processor, so that nothing else stays in the caches."""
        if not size:
            return
        if not self._swept:
            self._swept = [bytearray(b"\1") * (each // 2) for each in (size, size, _PRIVATE_CACHE, _PRIVATE_CACHE)]
        allowed = os.sched_getaffinity(0)
        try:
            for number, processor in enumerate(sorted(allowed)[:_MOST_CORES]):
                os.sched_setaffinity(0, {processor})
                one, other = self._swept[2:] if number else self._swept[:2]
                one.startswith(other)  # reads both to the end, for they are equal
        finally:
            os.sched_setaffinity(0, allowed)


def _overlap(places: list[list[int]], given: list[dict[str, Any]]) -> bool:
    """Whether data of one call lie where those of another do."""
    taken = [
        (address, address + tensor["nbytes"], call)
        for call, place in enumerate(places)
        for address, tensor in zip(place, given, strict=True)
        if tensor["nbytes"]
    ]
    return any(end > begin and one != other for (_, end, one), (begin, _, other) in itertools.pairwise(sorted(taken)))


def _schedule_statistics(worker: int) -> int:
    """A descriptor of what the system counts of a process's first thread, found while /proc shows it; or -1."""
    try:
        return os.open(Path("/proc", str(worker), "schedstat"), os.O_RDONLY)
    except OSError:
        return -1

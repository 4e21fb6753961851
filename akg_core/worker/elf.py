"""Shared libraries read as files (ELF, 64 bits, little-endian), without tools and without loading them.

What is read is what the loader goes by: segments and the dynamic section, never the names of sections. Whoever wrote
the file may have meant to mislead: what the loader would take differently raises ElfError. Functions alone are read
from the symbol table that linkers leave for debuggers, which not every file has.
"""

from __future__ import annotations

import itertools
import mmap
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551  # kinds of segments
_EXECUTABLE, _WRITABLE = 1, 2  # flags of segments
_NEEDED, _STRINGS, _SYMBOLS, _SONAME, _TEXTREL, _FLAGS = 1, 5, 6, 14, 22, 30  # tags of the dynamic section
_INIT, _INIT_ARRAY, _INIT_SIZE, _DEBUG = 12, 25, 27, 21
_RPATH, _RUNPATH, _REL, _AUDITS = 15, 29, 17, (0x6FFFFEFC, 0x6FFFFEFB, 0x7FFFFFFD, 0x7FFFFFFF)
_RELOCATIONS = ((7, 8), (23, 2))  # where tables of relocations with addends begin, and how long they are
_PACKED = (36, 35)  # of those that only add where the library lies, which say no more than their places
_TEXTREL_FLAG = 4
_CHOOSING = (37, 1032)  # kinds of relocations for which the loader calls a function: x86_64, aarch64
_FUNCTION, _CHOSEN = 2, 10  # kinds of symbols
_SYMBOL_TABLE, _DYNAMIC_SYMBOLS = 2, 11  # kinds of sections
_SYMBOL = struct.Struct("<IBBHQQ")
_ENTRY = struct.Struct("<QQ")
_RELOCATION = struct.Struct("<QQq")
_LONGEST = 4096  # bytes of a name


class ElfError(ValueError):
    """A file that is no shared library, or one that the loader would read differently than we do."""


class Segment(NamedTuple):
    kind: int
    flags: int
    offset: int
    address: int
    in_file: int
    size: int


class Elf:
    """A shared library's file. Raises ElfError, OSError."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            try:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:
                raise ElfError("it is empty") from None
        try:
            self._read()
        except (struct.error, IndexError) as error:
            raise ElfError(f"it is cut off or damaged ({error})") from None

    def _read(self) -> None:
        if self._bytes[:6] != b"\x7fELF\x02\x01":
            raise ElfError("it is no ELF file of 64 bits, little-endian")
        at, _, _, _, size, count = struct.unpack_from("<QQIHHH", self._bytes, 32)
        if size != 56:
            raise ElfError("its program headers have another size than loaders know")
        raw = (struct.unpack_from("<IIQQQQQ", self._bytes, at + index * size) for index in range(count))
        self.segments = [Segment(kind, flags, at, to, held, size) for kind, flags, at, to, _, held, size in raw]
        self.loaded = [segment for segment in self.segments if segment.kind == _LOAD]
        page = mmap.PAGESIZE  # of which loaders map whole ones, the later segment's over the earlier one's
        if any(-(-(a.address + a.size) // page) > b.address // page for a, b in itertools.pairwise(self.loaded)):
            raise ElfError("its segments overlap")
        dynamic = [segment for segment in self.segments if segment.kind == _DYNAMIC]
        if len(dynamic) != 1:
            raise ElfError("it has not one dynamic section")
        self._dynamic_at = self.offset(dynamic[0].address, dynamic[0].in_file)
        self.dynamic: dict[int, list[int]] = {}
        for index in range(dynamic[0].in_file // _ENTRY.size):
            tag, value = _ENTRY.unpack_from(self._bytes, self._dynamic_at + index * _ENTRY.size)
            if tag == 0:
                break
            self.dynamic.setdefault(tag, []).append(value)
        if any(len(values) > 1 for tag, values in self.dynamic.items() if tag not in (_NEEDED, _DEBUG)):
            raise ElfError("its dynamic section says something twice")

    @property
    def needed(self) -> list[str]:
        """The names of the libraries that come with it."""
        return [self._string(value) for value in self.dynamic.get(_NEEDED, [])]

    def oddities(self) -> Iterator[str]:
        """What no compiler makes unless it is told to: ways by which loading does more than loading."""
        if _TEXTREL in self.dynamic or self._value(_FLAGS) & _TEXTREL_FLAG:
            yield "its code is written to as it is loaded"
        if {_RPATH, _RUNPATH} & self.dynamic.keys():
            yield "it names folders in which libraries are looked for"
        if {_REL, *_AUDITS} & self.dynamic.keys():
            yield "it has relocations or libraries of a kind that compilers do not make"
        if any(segment.flags & _EXECUTABLE and segment.flags & _WRITABLE for segment in self.loaded):
            yield "it has memory that can be written to and executed"
        if [segment.flags & _EXECUTABLE for segment in self.segments if segment.kind == _STACK] != [0]:
            yield "it has all stacks made executable"
        for place, kind, symbol in self._relocations():
            if kind in _CHOOSING or (symbol and self._symbol(symbol)[1] & 15 == _CHOSEN):
                yield "it has functions that choose others while it is loaded (ifunc)"
                return
            if not any(s.flags & _WRITABLE and s.address <= place < s.address + s.size for s in self.loaded):
                yield "it has relocations outside of its own data"
                return

    def undefined(self) -> list[str]:
        """The names that are looked up in other libraries when it is loaded."""
        numbers = {symbol for _, _, symbol in self._relocations() if symbol}
        return sorted({self._string(name) for name, _, _, section, *_ in map(self._symbol, numbers) if section == 0})

    def without_constructors(self) -> bytes:
        """The file's bytes, changed such that nothing of it runs as it is loaded; `constructors` says what was to."""
        content = bytearray(self._bytes[:])
        for index in range(sum(map(len, self.dynamic.values()))):
            at = self._dynamic_at + index * _ENTRY.size
            tag, value = _ENTRY.unpack_from(content, at)
            if tag in (_INIT, _INIT_ARRAY, _INIT_SIZE):
                _ENTRY.pack_into(content, at, _DEBUG, value)  # which is ignored in libraries
        return bytes(content)

    def constructors(self) -> tuple[int, range]:
        """Where the function that runs first lies (0: none), and where addresses of those that run then lie."""
        start = self._value(_INIT_ARRAY)
        return self._value(_INIT), range(start, start + self._value(_INIT_SIZE), 8)

    def functions(self) -> Iterator[tuple[bytes, int, int]]:
        """Name, address and size of each function, where the linker left the table of them; in no order."""
        for name, info, section, address, size in self._listed(_SYMBOL_TABLE):
            if info & 15 in (_FUNCTION, _CHOSEN) and section:
                yield name, address, size

    def exported(self) -> Iterator[str]:
        """The names that others may look up in it, of a file that is to be trusted."""
        for name, _, section, _, _ in self._listed(_DYNAMIC_SYMBOLS):
            if section and name:
                yield name.decode(errors="replace")

    def _listed(self, wanted: int) -> Iterator[tuple[bytes, int, int, int, int]]:
        """The symbols of a table that is found by its section: name, kind, section, address, size."""
        at, size, count = struct.unpack_from("<Q", self._bytes, 40)[0], *struct.unpack_from("<HH", self._bytes, 58)
        sections = [struct.unpack_from("<IIQQQQII", self._bytes, at + index * size) for index in range(count)]
        for _, kind, _, _, start, length, link, _ in sections:
            if kind == wanted:
                strings = self._bytes[sections[link][4] : sections[link][4] + sections[link][5]]
                entries = self._bytes[start : start + length]
                for name, info, _, section, address, extent in _SYMBOL.iter_unpack(entries):
                    yield strings[name : strings.index(b"\0", name)], info, section, address, extent

    def _relocations(self) -> Iterable[tuple[int, int, int]]:
        """Where each puts what it finds, its kind, and the number of the symbol that it looks up."""
        for table, length in _RELOCATIONS:
            if size := self._value(length):
                start = self.offset(self._value(table), size)
                for place, info, _ in _RELOCATION.iter_unpack(self._bytes[start : start + size]):
                    yield place, info & 0xFFFFFFFF, info >> 32
        place, (table, length) = 0, _PACKED
        start = self.offset(self._value(table), self._value(length)) if self._value(length) else 0
        for (word,) in struct.iter_unpack("<Q", self._bytes[start : start + self._value(length)]):
            if word & 1:  # bits for the words that follow
                yield from ((place + 8 * bit, 0, 0) for bit in range(63) if word >> bit + 1 & 1)
                place += 8 * 63
            else:
                yield word, 0, 0
                place = word + 8

    def _symbol(self, number: int) -> tuple[int, int, int, int, int, int]:
        start = self.offset(self._value(_SYMBOLS) + number * _SYMBOL.size, _SYMBOL.size)
        name, info, other, section, value, size = _SYMBOL.unpack_from(self._bytes, start)
        return name, info, other, section, value, size

    def _string(self, at: int) -> str:
        start = self.offset(self._value(_STRINGS) + at, 1)
        end = self._bytes.find(b"\0", start, start + _LONGEST)
        return self._bytes[start:end].decode(errors="replace")

    def _value(self, tag: int) -> int:
        return self.dynamic.get(tag, [0])[0]

    def offset(self, address: int, size: int = 0) -> int:
        """Where what lies at an address once it is loaded lies in the file."""
        for segment in self.loaded:
            if segment.address <= address and address + size <= segment.address + segment.in_file:
                return segment.offset + address - segment.address
        raise ElfError("it points outside of itself")

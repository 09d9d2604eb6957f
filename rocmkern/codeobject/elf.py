"""The ELF layer of a code object: header, segments, symbols, relocations and the metadata note.

What reading takes is bounded by the file: no byte of it belongs to two segments, and no table or name is read twice.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from attrs import define, field, frozen

from rocmkern.codeobject.model import Segment
from rocmkern.errors import CodeObjectError

_ELF64_LITTLE: Final = b"\x7fELF\x02\x01"
_EM_AMDGPU: Final = 224
_OSABI_HSA: Final = 64
_VERSION_OF_ABI: Final[dict[int, int]] = {1: 3, 2: 4, 3: 5, 4: 6}
_NT_AMDGPU_METADATA: Final = 32
_NT_AMD_HSA_METADATA: Final = 10
_TABLES: Final = struct.Struct("<QQIHHHHH")  # at byte 32: program and section headers, flags, sizes and counts
_PROGRAM: Final = struct.Struct("<IIQQQQQQ")  # type, flags, offset, address, physical, file size, memory size, align
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, info, align, entry
_SYMBOL: Final = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size
_RELOCATION: Final = struct.Struct("<QIIq")  # place, kind, symbol, addend
_NOTE: Final = struct.Struct("<III")  # sizes of name and content, kind
_PT_LOAD, _PT_NOTE = 1, 4
_SYMTAB, _RELA, _REL, _DYNSYM, _RELR = 2, 4, 9, 11, 19
_COMPRESSED: Final = 0x800
_UNDEFINED, _ABSOLUTE = 0, 0xFFF1
_LARGEST_ADDRESS: Final = 1 << 32
_SHARED_NAMES: Final = 4  # times that the names of a file may be as long as the file: they share their ends


@frozen
class Elf:
    """The parts of the ELF that loading needs."""

    version: int
    flags: int
    segments: tuple[Segment, ...]
    symbols: dict[str, tuple[int, int]]
    undefined_symbols: tuple[str, ...]
    relocations: tuple[tuple[int, int, str, int], ...]
    metadata: bytes | None


class _Part(NamedTuple):
    """A program header."""

    kind: int
    flags: int
    offset: int
    address: int
    physical: int
    file_bytes: int
    memory_bytes: int
    align: int


class _Section(NamedTuple):
    """A section header."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


def read_elf(data: bytes) -> Elf:
    """Parses a linked 64-bit AMDGPU ELF.

    Raises CodeObjectError with the reason for anything else.
    """
    version = _version(data)
    try:
        return _File(data).parsed(version)
    except (struct.error, ValueError) as error:
        if isinstance(error, CodeObjectError):
            raise
        raise _corrupt(str(error)) from None


def _corrupt(fact: str) -> CodeObjectError:
    return CodeObjectError(f"read: the ELF is truncated or corrupt ({fact}); get the file again")


def _version(data: bytes) -> int:
    if len(data) < 64 or not data.startswith(b"\x7fELF"):
        raise CodeObjectError(f"read: no ELF and no offload bundle ({len(data)} bytes); pass a code object")
    if not data.startswith(_ELF64_LITTLE):
        raise CodeObjectError("read: not a 64-bit little-endian ELF; pass a code object for an AMD GPU")
    machine, osabi, abi = int.from_bytes(data[18:20], "little"), data[7], data[8]
    if machine != _EM_AMDGPU:
        raise CodeObjectError(
            f"read: ELF of machine {machine}, AMDGPU is {_EM_AMDGPU}; pass a code object, no host file"
        )
    if osabi != _OSABI_HSA:
        raise CodeObjectError(f"read: OS ABI {osabi}, HSA is {_OSABI_HSA}; pass a code object for amdhsa")
    if abi not in _VERSION_OF_ABI:
        raise CodeObjectError(f"read: ABI version {abi}; versions 1 to 4 (code object v3 to v6) are known")
    kind = int.from_bytes(data[16:18], "little")
    if kind != 3:
        raise CodeObjectError(f"read: ELF type {kind} is not linked (3 is); link it with `ld.lld -shared`")
    return _VERSION_OF_ABI[abi]


@define(eq=False)
class _File:
    """The bytes of an ELF whose head is right."""

    data: bytes
    flags: int = field(init=False)
    parts: list[_Part] = field(init=False)
    sections: list[_Section] = field(init=False)

    def __attrs_post_init__(self) -> None:
        programs, sections, self.flags, _, program_bytes, parts, section_bytes, count = _TABLES.unpack_from(
            self.data, 32
        )
        if parts and program_bytes != _PROGRAM.size:
            raise _corrupt(f"program headers of {program_bytes} bytes")
        if sections and section_bytes != _SECTION.size:
            raise _corrupt(f"section headers of {section_bytes} bytes")
        self.parts = [_Part(*row) for row in _PROGRAM.iter_unpack(self.piece(programs, parts * _PROGRAM.size))]
        if sections and not count:  # more than 16 bits hold
            count = _Section(*_SECTION.unpack(self.piece(sections, _SECTION.size))).size
        table = self.piece(sections, count * _SECTION.size)
        self.sections = [_Section(*row) for row in _SECTION.iter_unpack(table)]

    def piece(self, offset: int, size: int) -> bytes:
        """A piece of the file. Raises CodeObjectError where it ends before."""
        if offset + size > len(self.data):
            raise CodeObjectError(
                f"read: the ELF is truncated or corrupt (bytes {offset} to {offset + size} of a file of "
                f"{len(self.data)}); get the file again"
            )
        return self.data[offset : offset + size]

    def parsed(self, version: int) -> Elf:
        for kind, what in ((_PT_LOAD, "segments"), (_PT_NOTE, "notes")):
            total = sum(part.file_bytes for part in self.parts if part.kind == kind)
            if total > len(self.data):
                raise _corrupt(f"{what} of {total} bytes in a file of {len(self.data)}")
        segments = tuple(self._segment(part) for part in self.parts if part.kind == _PT_LOAD)
        if not segments:
            raise CodeObjectError("read: the ELF has no loadable segment; the file is truncated or corrupt")
        symbols, undefined = self._symbols()
        return Elf(version, self.flags, segments, symbols, undefined, tuple(self._relocations()), self._metadata())

    def _segment(self, part: _Part) -> Segment:
        offset, size = part.offset, part.file_bytes
        if offset + size > len(self.data):
            raise CodeObjectError(
                f"read: a segment covers bytes {offset} to {offset + size} of a file of {len(self.data)}; the file is "
                "truncated"
            )
        if part.memory_bytes < size or part.address + part.memory_bytes > _LARGEST_ADDRESS:
            raise CodeObjectError(
                f"read: implausible segment of {part.memory_bytes} bytes at {part.address:#x}; the file is corrupt"
            )
        return Segment(part.address, self.data[offset : offset + size], part.memory_bytes, part.flags)

    def _metadata(self) -> bytes | None:
        for part in self.parts:
            if part.kind == _PT_NOTE:
                for owner, kind, content in _notes(self.piece(part.offset, part.file_bytes)):
                    if owner == b"AMDGPU" and kind == _NT_AMDGPU_METADATA:
                        return content
                    if owner == b"AMD" and kind == _NT_AMD_HSA_METADATA:
                        raise CodeObjectError(
                            "read: code object v2 (YAML metadata) is not supported; rebuild it with v3 or later"
                        )
        return None

    def _table(self, kind: int, what: str) -> _Section | None:
        """The only section of a kind."""
        found = [section for section in self.sections if section.kind == kind]
        if len(found) > 1:
            raise _corrupt(f"{len(found)} {what}")
        return found[0] if found else None

    def _rows(self, section: _Section, row: struct.Struct) -> Iterator[tuple[int, ...]]:
        if section.flags & _COMPRESSED:
            raise _corrupt("a compressed table")
        return row.iter_unpack(self.piece(section.offset, section.size // row.size * row.size))

    def _linked(self, section: _Section) -> _Section:
        if section.link >= len(self.sections):
            raise _corrupt(f"a table for section {section.link} of {len(self.sections)}")
        return self.sections[section.link]

    def _symbols(self) -> tuple[dict[str, tuple[int, int]], tuple[str, ...]]:
        """Defined symbols of both tables, and the names that .dynsym leaves to others.

        A file of 500 kernels has 6,000 symbols, most of them absolute numbers for tools.
        """
        defined: dict[str, tuple[int, int]] = {}
        undefined: list[str] = []
        names = _Names(self)
        for kind, what in ((_DYNSYM, "tables of dynamic symbols"), (_SYMTAB, "tables of symbols")):
            section = self._table(kind, what)
            if section is None:
                continue
            held = self._linked(section)
            for start, _, _, index, value, size in self._rows(section, _SYMBOL):
                if index == _ABSOLUTE or not start:
                    continue
                name = names.at(held, start)
                if index == _UNDEFINED:
                    undefined.append(name)
                else:
                    defined.setdefault(name, (value, size))
        return defined, tuple(dict.fromkeys(n for n in undefined if n not in defined))

    def _relocations(self) -> Iterator[tuple[int, int, str, int]]:
        names, left = _Names(self), len(self.data)
        for section in self.sections:
            if section.kind in (_REL, _RELR) and section.size:
                raise CodeObjectError("read: relocations without addends; link the file with lld for amdhsa")
            if section.kind != _RELA:
                continue
            left -= section.size
            if left < 0:
                raise _corrupt("relocations that are more than the file")
            symbols = self._linked(section)
            table = self.piece(symbols.offset, symbols.size) if symbols.kind in (_SYMTAB, _DYNSYM) else b""
            for place, kind, index, addend in self._rows(section, _RELOCATION):
                name = ""
                if index:
                    if (index + 1) * _SYMBOL.size > len(table):
                        raise _corrupt(f"a relocation by symbol {index} of {len(table) // _SYMBOL.size}")
                    start = _SYMBOL.unpack_from(table, index * _SYMBOL.size)[0]
                    name = names.at(self._linked(symbols), start)
                yield place, kind, name, addend


def _notes(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Owner, kind and content."""
    place = 0
    while place + _NOTE.size <= len(data):
        name_bytes, size, kind = _NOTE.unpack_from(data, place)
        name = place + _NOTE.size
        start = name + -(-name_bytes // 4) * 4
        place = start + -(-size // 4) * 4
        if start + size > len(data):
            raise _corrupt(f"a note of {size} bytes in {len(data)}")
        yield data[name : name + name_bytes].rstrip(b"\0"), kind, data[start : start + size]


@define(eq=False)
class _Names:
    """The names of symbols, each read once, and all of them together not much longer than the file."""

    file: _File
    _left: int = field(init=False)
    _known: dict[tuple[int, int], str] = field(factory=dict)  # by where the table lies, and where they begin in it

    def __attrs_post_init__(self) -> None:
        self._left = _SHARED_NAMES * len(self.file.data)

    def at(self, table: _Section, start: int) -> str:
        key = (table.offset, start)
        name = self._known.get(key)
        if name is None:
            first, end = table.offset + start, table.offset + table.size
            last = self.file.data.find(b"\0", first, end)
            if start >= table.size or last < 0:
                raise _corrupt(f"a name at byte {start} of {table.size}")
            self._left -= last - first
            if self._left < 0:
                raise _corrupt("names that are longer than the file")
            name = self._known[key] = self.file.data[first:last].decode("utf-8", "replace")
        return name

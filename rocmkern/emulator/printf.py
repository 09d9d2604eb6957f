"""printf in kernels: the buffer that they write to, and what it says.

A record begins with a word that holds its size in bytes from bit 2 on, and bit 1 where the format is known to the file,
which then has its hash instead. Arguments follow, 8 bytes each; strings up to a multiple of 8. A kernel may leave
anything there: it costs no more time and memory than the limits below.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from attrs import define

from rocmkern.emulator.arena import Arena

BUFFER_BYTES: Final = 1 << 20
LONGEST_TEXT: Final = 4 << 20  # letters of a launch; what comes behind is dropped, as what has no room in the buffer is
_WIDEST: Final = 4095  # letters of one conversion, the most that C promises
_HEAD: Final = struct.Struct("<II")  # bytes used and bytes of room, behind it the records
# With an end to flags and digits, without which it takes quadratic time.
_SPECIFIER: Final = re.compile(
    r"%([-+ #0]{0,8})(\*|\d{1,9})?(?:\.(\*|\d{1,9})?)?(?:hh|h|ll|l|j|z|t|L)?([diouxXcsfFeEgGaAp%])"
)
_KNOWN_FORMAT: Final = 2


@contextmanager
def printing(arena: Arena, formats: Mapping[int, str], block: bytes, place: int) -> Iterator[bytes]:
    """Gives the argument block with the address of a buffer at `place`; prints at the end what is in the buffer."""
    address = arena.alloc(BUFFER_BYTES)
    try:
        view = arena.view(address, BUFFER_BYTES)
        _HEAD.pack_into(view, 0, 0, BUFFER_BYTES - _HEAD.size)
        try:
            yield block[:place] + address.to_bytes(8, "little") + block[place + 8 :]
        finally:
            used, _ = _HEAD.unpack_from(view)
            records = bytes(view[_HEAD.size : _HEAD.size + used])
            view.release()
            _write(printed(records, formats))
    finally:
        arena.free(address)


def _write(text: str) -> None:
    """To standard output, with a question mark for what its encoding lacks."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


def printed(records: bytes, formats: Mapping[int, str]) -> str:
    """The text of records, up to LONGEST_TEXT. A specifier without its argument stays as it is."""
    return "".join(_bounded(_texts(records, formats)))


def _bounded(texts: Iterable[str]) -> Iterator[str]:
    left = LONGEST_TEXT
    for text in texts:
        yield text[:left]
        left -= len(text)
        if left <= 0:
            return


def _texts(records: bytes, formats: Mapping[int, str]) -> Iterator[str]:
    position = 0
    while position + 4 <= len(records):
        (control,) = struct.unpack_from("<I", records, position)
        size = max(control >> 2, 4)
        arguments = _Arguments(records[position + 4 : position + size])
        position += size
        if not control & _KNOWN_FORMAT:
            yield from _formatted(arguments.string() or "", arguments)
        elif (name := arguments.number("<Q")) is not None:
            yield from _formatted(formats.get(int(name), ""), arguments)


@define
class _Arguments:
    """What a record holds, taken one after the other."""

    data: bytes
    place: int = 0

    def number(self, kind: str) -> int | float | None:
        """None where there are no more."""
        if self.place + 8 > len(self.data):
            return None
        (value,) = struct.unpack_from(kind, self.data, self.place)
        self.place += 8
        return value  # type: ignore[no-any-return]

    def string(self) -> str | None:
        """None where there are no more."""
        if self.place >= len(self.data):
            return None
        end = self.data.find(b"\0", self.place)
        text = self.data[self.place : len(self.data) if end < 0 else end]
        self.place += len(text) // 8 * 8 + 8
        return text.decode(errors="replace")


def _formatted(pattern: str, arguments: _Arguments) -> Iterator[str]:
    """As C's printf has it, piece by piece."""
    end = 0
    for found in _SPECIFIER.finditer(pattern):
        yield pattern[end : found.start()]
        end = found.end()
        yield _converted(found, arguments)
    yield pattern[end:]


def _converted(found: re.Match[str], arguments: _Arguments) -> str:
    flags, width, precision, kind = found.groups()
    if kind == "%":
        return "%"
    columns, digits = _size(width, arguments), _size(precision, arguments)
    if columns is None or digits is None:
        return found[0]
    if columns < 0:  # as C has it, to the left
        flags, columns = f"{flags}-", -columns
    dot = "." if "." in found[0] and digits >= 0 else ""
    head = f"%{flags}{columns or ''}{dot}{digits if dot and precision else ''}"
    if kind == "s":
        text = arguments.string()
        return found[0] if text is None else f"{head}s" % text
    value = arguments.number(_layout(found[0], kind))
    if value is None:
        return found[0]
    if kind == "c":
        return f"{head}s" % chr(int(value))
    if kind in "aA":
        shown = float(value).hex()
        return f"%{columns or ''}s" % (shown if kind == "a" else shown.upper())
    if kind == "p":
        return f"%{columns or ''}s" % hex(int(value))
    return f"{head}{kind}" % value


def _size(part: str | None, arguments: _Arguments) -> int | None:
    """A width or precision within what is allowed: 0 where none is given, None where its argument is missing."""
    if part != "*":
        return min(int(part or 0), _WIDEST)
    value = arguments.number("<i")
    return None if value is None else max(-_WIDEST, min(int(value), _WIDEST))


def _layout(specifier: str, kind: str) -> str:
    """How `struct` reads the argument of a specifier."""
    if kind in "aAfFeEgG":
        return "<d"
    if kind in "cp":
        return {"c": "<B", "p": "<Q"}[kind]
    letter = "q" if any(length in specifier for length in ("l", "j", "z", "t")) else "i"
    return f"<{letter}" if kind in "di" else f"<{letter.upper()}"

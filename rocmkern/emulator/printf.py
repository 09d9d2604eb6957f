"""printf in kernels: the buffer that they write to, and what it says.

A record begins with a word that holds its size in bytes from bit 2 on, and bit 1 where the format is known to the file,
which then has its hash instead. Arguments follow, 8 bytes each; strings up to a multiple of 8.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from rocmkern.emulator.arena import Arena

BUFFER_BYTES: Final = 1 << 20
_HEAD: Final = struct.Struct("<II")  # bytes used and bytes of room, behind it the records
_SPECIFIER: Final = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(?:hh|h|ll|l|j|z|t|L)?([diouxXcsfFeEgGaAp%])")
_KNOWN_FORMAT: Final = 2


@contextmanager
def printing(arena: Arena, formats: Mapping[int, str], block: bytes, place: int) -> Iterator[bytes]:
    """Gives the argument block with the address of a buffer at `place`; prints at the end what is in the buffer."""
    address = arena.alloc(BUFFER_BYTES)
    view = arena.view(address, BUFFER_BYTES)
    _HEAD.pack_into(view, 0, 0, BUFFER_BYTES - _HEAD.size)
    try:
        yield block[:place] + address.to_bytes(8, "little") + block[place + 8 :]
    finally:
        used, _ = _HEAD.unpack_from(view)
        text = "".join(_texts(bytes(view[_HEAD.size : _HEAD.size + used]), formats))
        view.release()
        arena.free(address)
        sys.stdout.write(text)
        sys.stdout.flush()


def _texts(records: bytes, formats: Mapping[int, str]) -> Iterator[str]:
    position = 0
    while position + 4 <= len(records):
        (control,) = struct.unpack_from("<I", records, position)
        record, position = records[position + 4 : position + (control >> 2)], position + max(control >> 2, 4)
        if control & _KNOWN_FORMAT:
            (name,) = struct.unpack_from("<Q", record)
            yield _formatted(formats.get(name, ""), record[8:])
        else:
            text, size = _string(record)
            yield _formatted(text, record[size:])


def _string(data: bytes) -> tuple[str, int]:
    """A string and the bytes that it takes."""
    text = data.partition(b"\0")[0]
    return text.decode(errors="replace"), len(text) // 8 * 8 + 8


def _formatted(pattern: str, arguments: bytes) -> str:
    """As C's printf has it."""
    place = 0

    def number(kind: str) -> int | float:
        nonlocal place
        (value,) = struct.unpack_from(kind, arguments, place)
        place += 8
        return value  # type: ignore[no-any-return]

    def one(found: re.Match[str]) -> str:
        nonlocal place
        flags, width, precision, kind = found.groups()
        if kind == "%":
            return "%"
        width, precision = (str(number("<i")) if part == "*" else part for part in (width, precision))
        dot = "." if "." in found[0] else ""
        head = f"%{flags}{width or ''}{dot}{precision or ''}"
        if kind == "s":
            text, size = _string(arguments[place:])
            place += size
            return f"{head}s" % text
        if kind == "c":
            return f"{head}s" % chr(int(number("<B")))
        if kind in "aA":
            shown = float(number("<d")).hex()
            return f"%{width or ''}s" % (shown if kind == "a" else shown.upper())
        if kind in "fFeEgG":
            return f"{head}{kind}" % number("<d")
        if kind == "p":
            return f"%{width or ''}s" % hex(int(number("<Q")))
        return f"{head}{kind}" % number(_integer(found[0], kind))

    return _SPECIFIER.sub(one, pattern)


def _integer(specifier: str, kind: str) -> str:
    """How `struct` reads an integer of that specifier."""
    is_long = any(length in specifier for length in ("l", "j", "z", "t"))
    letter = "q" if is_long else "i"
    return f"<{letter}" if kind in "di" else f"<{letter.upper()}"

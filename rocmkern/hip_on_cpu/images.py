"""How long the image is that a pointer leads to: HIP's calls pass none of its size."""

from __future__ import annotations

import ctypes
import struct

from rocmkern.errors import CodeObjectError

_BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
_COMPRESSED = b"CCOB"


def at(address: int) -> bytes:
    """The ELF or the offload bundle that begins there. Raises CodeObjectError for anything else."""
    return ctypes.string_at(address, _size(address))


def _size(address: int) -> int:
    magic = ctypes.string_at(address, 4)
    if magic == b"\x7fELF":
        (sections,) = struct.unpack("<Q", ctypes.string_at(address + 40, 8))
        width, count = struct.unpack("<HH", ctypes.string_at(address + 58, 4))
        return int(sections + width * count)
    if magic == _COMPRESSED:
        (version,) = struct.unpack("<H", ctypes.string_at(address + 4, 2))
        if version in (2, 3):
            kind = "<I" if version == 2 else "<Q"
            return int(struct.unpack(kind, ctypes.string_at(address + 8, struct.calcsize(kind)))[0])
    if magic == _BUNDLE[:4] and ctypes.string_at(address, len(_BUNDLE)) == _BUNDLE:
        return _bundle_size(address)
    raise CodeObjectError("load: the image is no code object; pass an ELF or an offload bundle")


def _bundle_size(address: int) -> int:
    (count,) = struct.unpack("<Q", ctypes.string_at(address + 24, 8))
    place, end = address + 32, 32
    for _ in range(count):
        offset, size, name = struct.unpack("<QQQ", ctypes.string_at(place, 24))
        place += 24 + name
        end = max(end, offset + size, place - address)
    return end

"""What C programs pass: places for results, and the two forms of a kernel's arguments."""

from __future__ import annotations

import ctypes
from typing import Any

from rocmkern.codeobject import Kernel
from rocmkern.hip_on_cpu.binding import INVALID_VALUE, Status


def put(address: int, value: float, kind: Any = ctypes.c_void_p) -> None:
    """Writes a result where the caller wants it; INVALID_VALUE where that is nowhere."""
    if not address:
        raise Status(INVALID_VALUE)
    kind.from_address(address).value = value


def from_block(extra: int) -> bytes:
    """The argument block of HIP's `extra`: codes of what follows, until one that ends it."""
    words = (ctypes.c_uint64 * 5).from_address(extra)
    parts = {words[i]: words[i + 1] for i in (0, 2)}
    if words[4] != 3 or set(parts) != {1, 2}:
        raise Status(INVALID_VALUE)
    return ctypes.string_at(parts[1], ctypes.c_size_t.from_address(parts[2]).value)


def from_pointers(kernel: Kernel, arguments: int) -> bytes:
    """The argument block of an array of pointers to arguments."""
    explicit = kernel.explicit_arguments
    block = bytearray(kernel.explicit_bytes)
    if explicit and not arguments:
        raise Status(INVALID_VALUE)
    for number, argument in enumerate(explicit):
        place = ctypes.c_uint64.from_address(arguments + 8 * number).value
        block[argument.offset : argument.end] = ctypes.string_at(place, argument.size)
    return bytes(block)

"""The msgpack note of a code object, decoded into kernels.

Keys: LLVM's AMDGPU usage document, "Code Object V3 Metadata" to V6. Hand-written files leave out much of it, so a
missing key has the value that leaves the kernel launchable, and a key of the wrong type is an error.
"""

from __future__ import annotations

import re
import struct
from operator import attrgetter
from typing import Any, Final

import msgpack

from rocmkern.codeobject.model import Argument, Kernel, Segment
from rocmkern.errors import CodeObjectError

DESCRIPTOR_BYTES: Final = 64
_ENTRY_OFFSET: Final = struct.Struct("<q")
_PROPERTIES: Final = struct.Struct("<H")  # of a kernel's code
_WAVE32: Final = 10  # the bit of them that says so
_ALWAYS_64: Final = ("gfx6", "gfx7", "gfx8", "gfx9")
_LARGEST_KERNARG_BYTES: Final = 1 << 16
_LARGEST_LDS_BYTES: Final = 1 << 20
_LARGEST_PRIVATE_BYTES: Final = 1 << 18  # of a thread: a wave of 32 has at most 8 MB
_OBJECT_BYTES: Final = 20  # that a byte of a note may become as a Python object, other than a list or a map
_CONTAINER_BYTES: Final = 256  # of a list or a map of little
_SHOWN: Final = 40  # letters of what is wrong

Known = dict[tuple[tuple[Any, Any], ...], Argument]  # by what the note says of it


def decode(note: bytes, most_bytes: int) -> dict[str, Any]:
    """The note as a dictionary."""
    if len(note) * _OBJECT_BYTES > most_bytes:
        raise CodeObjectError(
            f"read: a metadata note of {len(note)} bytes, {most_bytes // _OBJECT_BYTES} are the most; if you trust the "
            f"file, load it with most_bytes={len(note) * _OBJECT_BYTES}"
        )
    left = most_bytes // _CONTAINER_BYTES

    def counted(container: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise ValueError("more lists and maps than a note has room for")
        return container

    try:
        document = msgpack.unpackb(
            note, raw=False, strict_map_key=False, unicode_errors="replace", object_hook=counted, list_hook=counted
        )
    except (ValueError, TypeError, RecursionError, MemoryError, msgpack.UnpackException) as error:
        reason = f"{type(error).__name__}: {str(error)[:_SHOWN]}".rstrip(": ")
        raise CodeObjectError(f"read: the metadata note is no msgpack ({reason})") from None
    if not isinstance(document, dict):
        raise CodeObjectError(f"read: the metadata note holds a {type(document).__name__}, not a map")
    return document


def kernels(
    document: dict[str, Any], symbols: dict[str, tuple[int, int]], segments: tuple[Segment, ...], target: str
) -> dict[str, Kernel]:
    """The kernels that `document` lists, by name, joined with their descriptors in the image."""
    rows = _value(document, "amdhsa.kernels", list, [])
    known: Known = {}
    found = (_kernel(_checked(row, "amdhsa.kernels", dict), symbols, segments, target, known) for row in rows)
    return {kernel.name: kernel for kernel in found}


def formats(document: dict[str, Any]) -> dict[int, str]:
    """What kernels print, by the hashes that stand for it: rows read `0:0:<hash>,<format>`."""
    rows = (_checked(row, "amdhsa.printf", str) for row in _value(document, "amdhsa.printf", list, []))
    found = (re.match(r"\d+:\d+:([0-9a-f]{1,16}),(.*)", row, re.DOTALL) for row in rows)
    return {int(row[1], 16): row[2] for row in found if row is not None}


def _kernel(
    row: dict[str, Any],
    symbols: dict[str, tuple[int, int]],
    segments: tuple[Segment, ...],
    target: str,
    known: Known,
) -> Kernel:
    name = _value(row, ".name", str, "")
    if not name:
        raise CodeObjectError("read: the metadata lists a kernel without a name")
    symbol = _value(row, ".symbol", str, "") or f"{name}.kd"
    address = symbols.get(symbol, (0, 0))[0]
    descriptor = image_bytes(segments, address, DESCRIPTOR_BYTES) if symbol in symbols else b""
    entry = address + _ENTRY_OFFSET.unpack_from(descriptor, 16)[0] if descriptor else 0
    required = _value(row, ".reqd_workgroup_size", list, [])
    if required and len(required) != 3:
        raise CodeObjectError(f"read: kernel {name!r} requires a block of {len(required)} dimensions, not 3")
    block = tuple(_checked(n, ".reqd_workgroup_size", int) for n in required)
    return Kernel(
        name=name,
        symbol=symbol,
        arguments=_arguments(row, name, known),
        kernarg_size=_size(row, ".kernarg_segment_size", _LARGEST_KERNARG_BYTES),
        kernarg_align=_size(row, ".kernarg_segment_align", _LARGEST_KERNARG_BYTES),
        lds_size=_size(row, ".group_segment_fixed_size", _LARGEST_LDS_BYTES),
        private_size=_size(row, ".private_segment_fixed_size", _LARGEST_PRIVATE_BYTES),
        wave_size=_wave_size(row, name, target, descriptor),
        sgprs=_size(row, ".sgpr_count"),
        vgprs=_size(row, ".vgpr_count"),
        agprs=_size(row, ".agpr_count"),
        sgpr_spills=_size(row, ".sgpr_spill_count"),
        vgpr_spills=_size(row, ".vgpr_spill_count"),
        max_threads_per_block=_size(row, ".max_flat_workgroup_size") or 1024,
        required_block=(block[0], block[1], block[2]) if block else None,
        uses_dynamic_stack=bool(row.get(".uses_dynamic_stack", False)),
        descriptor=descriptor,
        descriptor_address=address if descriptor else 0,
        entry_address=entry,
    )


def _wave_size(row: dict[str, Any], kernel: str, target: str, descriptor: bytes) -> int:
    """The threads of a wave: 64 up to gfx9; later the descriptor says whether 32."""
    sizes: tuple[int, ...] = (64,)
    if not target.startswith(_ALWAYS_64):
        is_32 = descriptor and _PROPERTIES.unpack_from(descriptor, 56)[0] >> _WAVE32 & 1
        sizes = (32,) if is_32 else (64,) if descriptor else (32, 64)
    stated = _size(row, ".wavefront_size") or sizes[0]
    if stated not in sizes:
        raise CodeObjectError(
            f"read: kernel {kernel!r} has waves of {stated} threads by its note, of {sizes[0]} by its descriptor for "
            f"{target}; build the file anew"
        )
    return stated


def _arguments(row: dict[str, Any], kernel: str, known: Known) -> tuple[Argument, ...]:
    """In order of offset. The kernels of a file have most of them in common, those that `known` holds."""
    found = []
    for item in _value(row, ".args", list, []):
        fields = _checked(item, f"{kernel}.args", dict)
        key = tuple(fields.items())
        try:
            argument = known.get(key)
        except TypeError:  # a list or a map where a number or text belongs, or under a key that nothing reads
            argument = _argument(fields)
        else:
            if argument is None:
                argument = known[key] = _argument(fields)
        found.append(argument)
    return tuple(sorted(found, key=attrgetter("offset")))


def _argument(row: dict[str, Any]) -> Argument:
    return Argument(
        offset=_size(row, ".offset", _LARGEST_KERNARG_BYTES),
        size=_size(row, ".size", _LARGEST_KERNARG_BYTES),
        kind=_value(row, ".value_kind", str, "by_value"),
        name=_value(row, ".name", str, "") or None,
        type_name=_value(row, ".type_name", str, "") or None,
        address_space=_value(row, ".address_space", str, "") or None,
        access=_value(row, ".actual_access", str, "") or _value(row, ".access", str, "") or None,
    )


def image_bytes(segments: tuple[Segment, ...], address: int, size: int) -> bytes:
    """`size` bytes of the image at `address`; empty if no segment's file content covers them."""
    for segment in segments:
        start = address - segment.address
        if start >= 0 and start + size <= len(segment.data):
            return segment.data[start : start + size]
    return b""


def _checked(value: Any, key: str, kind: type) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, int) and value < 0):
        what = repr(value)[:_SHOWN] if isinstance(value, int | float) else f"a {type(value).__name__}"
        raise CodeObjectError(f"read: metadata {key} is {what}, a {kind.__name__} was expected")
    return value


def _value(row: dict[str, Any], key: str, kind: type, default: Any) -> Any:
    return _checked(row[key], key, kind) if key in row else default


def _size(row: dict[str, Any], key: str, largest: int = 1 << 32) -> int:
    value: int = _value(row, key, int, 0)
    if value > largest:
        raise CodeObjectError(f"read: metadata {key} is {value}, more than the largest plausible {largest}")
    return value

"""The ELF layer of a code object: header, segments, symbols, relocations and the metadata note."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any, Final

from attrs import frozen
from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from rocmkern.codeobject.model import Segment
from rocmkern.errors import CodeObjectError

_ELF64_LITTLE: Final = b"\x7fELF\x02\x01"
_EM_AMDGPU: Final = 224
_OSABI_HSA: Final = 64
_VERSION_OF_ABI: Final[dict[int, int]] = {1: 3, 2: 4, 3: 5, 4: 6}
_NT_AMDGPU_METADATA: Final = 32
_NT_AMD_HSA_METADATA: Final = 10
_SYMBOL: Final = struct.Struct("<IBBHQQ")  # Elf64_Sym: name, info, other, section, value, size
_UNDEFINED, _ABSOLUTE = 0, 0xFFF1
_LARGEST_IMAGE_BYTES: Final = 1 << 32

# What pyelftools and construct raise on bytes that are no ELF: they check little themselves.
_PARSE_ERRORS: Final = (
    ELFError, ConstructError, ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, OSError,
    RecursionError, TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip


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


def read_elf(data: bytes) -> Elf:
    """Parses a linked 64-bit AMDGPU ELF.

    Raises CodeObjectError with the reason for anything else.
    """
    version = _version(data)
    try:
        return _parse(data, version)
    except CodeObjectError:
        raise
    except _PARSE_ERRORS as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise CodeObjectError(f"read: the ELF is truncated or corrupt ({reason})") from None


def _version(data: bytes) -> int:
    if len(data) < 64 or not data.startswith(b"\x7fELF"):
        head = data[:8].hex(" ") or "nothing"
        raise CodeObjectError(f"read: no ELF and no offload bundle ({len(data)} bytes, starting with {head})")
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


def _parse(data: bytes, version: int) -> Elf:
    elf = ELFFile(io.BytesIO(data))
    segments: list[Segment] = []
    metadata: bytes | None = None
    for part in elf.iter_segments():
        if part["p_type"] == "PT_LOAD":
            segments.append(_segment(data, part))
        elif part["p_type"] == "PT_NOTE" and metadata is None:
            metadata = _metadata_note(part)
    if not segments:
        raise CodeObjectError("read: the ELF has no loadable segment; the file is truncated or corrupt")
    symbols, undefined = _symbols(elf)
    return Elf(version, int(elf["e_flags"]), tuple(segments), symbols, undefined, _relocations(elf), metadata)


def _segment(data: bytes, part: Any) -> Segment:
    offset, size, memory_size, address = (int(part[k]) for k in ("p_offset", "p_filesz", "p_memsz", "p_vaddr"))
    if offset + size > len(data):
        raise CodeObjectError(
            f"read: a segment covers bytes {offset} to {offset + size} of a file of {len(data)}; the file is truncated"
        )
    if memory_size < size or address + memory_size > _LARGEST_IMAGE_BYTES:
        raise CodeObjectError(f"read: implausible segment of {memory_size} bytes at {address:#x}; the file is corrupt")
    return Segment(address, data[offset : offset + size], memory_size, int(part["p_flags"]))


def _metadata_note(part: Any) -> bytes | None:
    for note in part.iter_notes():
        kind, owner = note["n_type"], note["n_name"]
        if owner == "AMDGPU" and kind in (_NT_AMDGPU_METADATA, "NT_AMDGPU_METADATA"):
            return bytes(note["n_descdata"])
        if owner == "AMD" and kind in (_NT_AMD_HSA_METADATA, "NT_AMD_HSA_METADATA"):
            raise CodeObjectError("read: code object v2 (YAML metadata) is not supported; rebuild it with v3 or later")
    return None


def _symbols(elf: ELFFile) -> tuple[dict[str, tuple[int, int]], tuple[str, ...]]:
    """Defined symbols of both tables, and the names that .dynsym leaves to others.

    The tables are unpacked here: a file of 500 kernels has 6,000 symbols, most of them absolute numbers for tools.
    """
    defined: dict[str, tuple[int, int]] = {}
    undefined: list[str] = []
    for section in elf.iter_sections():
        if section["sh_type"] not in ("SHT_SYMTAB", "SHT_DYNSYM"):
            continue
        names, table = elf.get_section(section["sh_link"]).data(), section.data()
        for start, _, _, index, value, size in _SYMBOL.iter_unpack(table[: len(table) // _SYMBOL.size * _SYMBOL.size]):
            if index == _ABSOLUTE or not start:
                continue
            name = names[start : names.index(b"\0", start)].decode("utf-8", "replace")
            if index == _UNDEFINED:
                undefined.append(name)
            else:
                defined.setdefault(name, (value, size))
    return defined, tuple(dict.fromkeys(n for n in undefined if n not in defined))


def _relocations(elf: ELFFile) -> tuple[tuple[int, int, str, int], ...]:
    found: list[tuple[int, int, str, int]] = []
    for section in elf.iter_sections():
        if section["sh_type"] != "SHT_RELA":
            continue
        names = elf.get_section(section["sh_link"])
        for entry in section.iter_relocations():
            index = int(entry["r_info_sym"])
            name = names.get_symbol(index).name if index else ""
            found.append((int(entry["r_offset"]), int(entry["r_info_type"]), name, int(entry["r_addend"])))
    return tuple(found)

"""From object files to functions that can be kept, moved and called."""

from __future__ import annotations

import ctypes
import io
import mmap
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final

import numpy as np
from attrs import define, field, frozen
from elftools.common.utils import struct_parse
from elftools.elf.structs import ELFStructs

from rocmkern.errors import DriverError

ALIGNMENT: Final = 64
CHUNK_BYTES: Final = 1 << 22  # of memory, taken at a time
ABSOLUTE64: Final = 1  # the relocation that code has which may lie anywhere
FUNCTION, SECTION = 2, 3  # kinds of symbols
UNDEFINED = 0
WRITABLE, MERGED, STRINGS = 1, 16, 32  # flags of sections
_SYMBOL: Final = struct.Struct("<IBBHQQ")  # name, kind, visibility, section, value, size
_RELOCATION: Final = struct.Struct("<QIIq")  # place, kind, symbol, addend
_WORD: Final = struct.Struct("<Q")
_LANES: Final = np.arange(_WORD.size)
Fix = tuple[int, str, int]  # place of an address in the code; of which symbol ("": of this function), what is added


@frozen
class Function:
    """Code and, behind it, its constants."""

    symbol: str
    code: bytes
    fixes: tuple[Fix, ...]

    @property
    def needs(self) -> set[str]:
        """The symbols of others that it calls."""
        return {symbol for _, symbol, _ in self.fixes if symbol}


@frozen
class Image:
    """Functions side by side."""

    code: bytes
    symbols: dict[str, int]  # where they begin
    places: bytes  # of addresses within the image, 32 bits each
    offsets: bytes  # of what they are the addresses, likewise
    foreign: tuple[Fix, ...]

    @staticmethod
    def of(functions: Iterable[Function]) -> Image:
        code, symbols, size = list[bytes](), dict[str, int](), 0
        functions = list(functions)
        for function in functions:
            symbols[function.symbol] = size
            code.append(function.code + bytes(-len(function.code) % ALIGNMENT))
            size += len(code[-1])
        places, offsets, foreign = list[int](), list[int](), list[Fix]()
        for function in functions:
            base = symbols[function.symbol]
            for place, symbol, addend in function.fixes:
                if symbol and symbol not in symbols:
                    foreign.append((base + place, symbol, addend))
                else:
                    places.append(base + place)
                    offsets.append((symbols[symbol] if symbol else base) + addend)
        tables = [np.array(numbers, "<u4").tobytes() for numbers in (places, offsets)]
        return Image(b"".join(code), symbols, tables[0], tables[1], tuple(foreign))

    def at(self, address: int, resolve: Callable[[str], int]) -> bytes:
        """The code as it is where it begins at `address`."""
        code = np.frombuffer(bytearray(self.code), np.uint8)
        values = np.frombuffer(self.offsets, "<u4").astype("<u8") + np.uint64(address)
        code[np.frombuffer(self.places, "<u4")[:, None] + _LANES] = values.view(np.uint8).reshape(-1, _WORD.size)
        for place, symbol, addend in self.foreign:
            code[place + _LANES] = np.frombuffer(_WORD.pack(resolve(symbol) + addend), np.uint8)
        return code.tobytes()


def functions(data: bytes) -> list[Function]:
    """The functions of an object file that was compiled for LLVM's large code model."""
    return list(_Object(data).functions())


@cache
def _layouts() -> Any:
    """The library's layouts of headers, which it makes anew for each file that it opens."""
    layouts = ELFStructs(little_endian=True, elfclass=64)
    layouts.create_basic_structs()
    layouts.create_advanced_structs("ET_REL", "EM_X86_64", "ELFOSABI_SYSV")
    return layouts


@define(eq=False)
class _Object:
    """A relocatable ELF file. Its tables are unpacked here: they are long, and the library takes its time for them."""

    data: bytes
    _sections: list[Any] = field(init=False)
    _symbols: list[tuple[str, int, int, int, int]] = field(init=False)  # name, kind, section, value, size

    def __attrs_post_init__(self) -> None:
        layouts, stream = _layouts(), io.BytesIO(self.data)
        header = struct_parse(layouts.Elf_Ehdr, stream)
        if header["e_machine"] != "EM_X86_64":
            raise DriverError(f"compile: this CPU's code is {header['e_machine']}; the emulator runs on x86-64 alone")
        stream.seek(header["e_shoff"])
        self._sections = [struct_parse(layouts.Elf_Shdr, stream) for _ in range(header["e_shnum"])]
        table = next(s for s in self._sections if s["sh_type"] == "SHT_SYMTAB")
        names = self._content(self._sections[table["sh_link"]])
        self._symbols = [
            (names[name : names.index(0, name)].decode(), info & 15, section, value, size)
            for name, info, _, section, value, size in _SYMBOL.iter_unpack(self._content(table))
        ]

    def _content(self, section: Any) -> bytes:
        return self.data[section["sh_offset"] : section["sh_offset"] + section["sh_size"]]

    def functions(self) -> Iterator[Function]:
        relocations = {
            header["sh_info"]: sorted(_RELOCATION.iter_unpack(self._content(header)))
            for header in self._sections
            if header["sh_type"] == "SHT_RELA"
        }
        for name, kind, section, value, size in self._symbols:
            if kind == FUNCTION and section != UNDEFINED:
                listed = relocations.get(section, [])
                first, last = (bisect_left(listed, (place, 0, 0, 0)) for place in (value, value + size))
                yield self._function(name, section, value, size, listed[first:last])

    def _function(
        self, name: str, section: int, start: int, size: int, relocations: list[tuple[int, int, int, int]]
    ) -> Function:
        code = bytearray(self._content(self._sections[section])[start : start + size])
        fixes, constants = list[Fix](), dict[tuple[int, int], int]()
        for place, kind, number, addend in relocations:
            symbol, symbol_kind, where, value, _ = self._symbols[number]
            if kind != ABSOLUTE64:
                raise DriverError(f"compile: {name} has a relocation of type {kind}, which code that moves can't have")
            if where == UNDEFINED:
                fixes.append((place - start, symbol, addend))
                continue
            target = value + addend
            if where == section:
                symbol, first = self._function_at(section, target)
                fixes.append((place - start, "" if symbol == name else symbol, target - first))
                continue
            header = self._sections[where]
            if header["sh_flags"] & WRITABLE:
                raise DriverError(f"compile: {name} refers to variables, which code that moves can't have")
            single = header["sh_entsize"] if header["sh_flags"] & (MERGED | STRINGS) == MERGED else 0
            anchor = target if symbol_kind == SECTION else value  # addends may lead out of a constant that has a name
            first = anchor // single * single if single else 0
            if (where, first) not in constants:
                code += bytes(-len(code) % max(single, header["sh_addralign"]))
                constants[where, first] = len(code)
                code += self._content(header)[first : first + single if single else None]
            fixes.append((place - start, "", constants[where, first] + target - first))
        return Function(name, bytes(code), tuple(fixes))

    def _function_at(self, section: int, place: int) -> tuple[str, int]:
        """The function that holds a place in the code, and where it begins."""
        return next(
            (name, start)
            for name, kind, where, start, size in self._symbols
            if kind == FUNCTION and where == section and start <= place < start + size
        )


@define(eq=False)
class Memory:
    """Where code lies that this process runs: for good."""

    _chunks: list[mmap.mmap] = field(factory=list)
    _free: int = 0
    _end: int = 0

    def place(self, image: Image, resolve: Callable[[str], int]) -> int:
        """Put an image where it can run: its address. `resolve` gives those of other functions."""
        size = -(-len(image.code) // mmap.PAGESIZE) * mmap.PAGESIZE
        if self._free + size > self._end:
            chunk = mmap.mmap(-1, max(size, CHUNK_BYTES), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self._free = ctypes.addressof(ctypes.c_char.from_buffer(chunk))
            self._end = self._free + len(chunk)
            self._chunks.append(chunk)
        address = self._free
        self._free += size  # before anything can be interrupted that makes it executable
        code = image.at(address, resolve)
        ctypes.memmove(address, code, len(code))
        if _process().mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC):
            raise DriverError(
                "compile: the system refuses to make memory executable; allow it, or run where that is allowed"
            )
        return address


@cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def address_in_process(symbol: str) -> int | None:
    """Of a function of a C library, or LLVM's."""
    if hasattr(_process(), symbol):
        return ctypes.cast(getattr(_process(), symbol), ctypes.c_void_p).value
    import llvmlite.binding as llvm

    address: int | None = llvm.address_of_symbol(symbol)
    return address

"""A launch in a file: code object, kernel, geometry, arguments and the memory that they lead to.

The file is four bytes and a zlib stream: the length of a head in msgpack, the head, the code object, the bytes of each
block of memory. Nothing of it is code of Python, and nothing is taken that the head claims and the stream lacks.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgpack
from attrs import define, field, frozen

from rocmkern.errors import ReproducerError
from rocmkern.paths import open_regular, write_whole

MAGIC: Final = b"RKZ\x01"
ARGUMENTS: Final = -1  # the block of a link that lies in the arguments
MOST_BYTES: Final = 256 << 20  # of a file once it is unpacked, unless the caller allows more
MOST_HEAD_BYTES: Final = 1 << 19
MOST_BLOCKS: Final = 4096
LONGEST_NAME: Final = 4096  # bytes of the target's and the kernel's
MOST_ARGUMENT_BYTES: Final = 1 << 16
_LENGTH: Final = struct.Struct("<I")
_PIECE: Final = 1 << 20
_WIDEST: Final = 1 << 63

Dims = tuple[int, int, int]
Range = tuple[int, int]  # first byte, bytes


@frozen
class Block:
    """An allocation. `written`: the parts that hold something."""

    nbytes: int
    written: tuple[Range, ...]
    data: bytes = field(repr=False)  # of these parts, one after the other
    is_freed: bool = False

    def parts(self) -> Iterator[tuple[int, bytes]]:
        """Where each part lies, and its bytes."""
        taken = 0
        for first, count in self.written:
            yield first, self.data[taken : taken + count]
            taken += count


@frozen
class Link:
    """An address: at `offset` of a block (or of the arguments), of the byte `delta` of block `target`."""

    block: int
    offset: int
    target: int
    delta: int


@frozen
class Reproducer:
    """One launch. `finding`: what was wrong with it, as text."""

    target: str
    kernel: str
    grid: Dims
    block: Dims
    shared_bytes: int
    arguments: bytes
    code: bytes = field(repr=False)
    blocks: tuple[Block, ...] = ()
    links: tuple[Link, ...] = ()
    finding: str = ""

    def write(self, path: Path) -> None:
        """Raises OSError, ReproducerError for more blocks and addresses than a file holds."""
        head = msgpack.packb([
            self.target, self.kernel, self.grid, self.block, self.shared_bytes, self.arguments, self.finding,
            len(self.code), [[b.nbytes, b.is_freed, b.written] for b in self.blocks],
            [[k.block, k.offset, k.target, k.delta] for k in self.links],
        ])  # fmt: skip
        if len(head) > MOST_HEAD_BYTES or len(self.blocks) > MOST_BLOCKS:
            raise ReproducerError(
                f"save_reproducer: {self.kernel} reaches {len(self.blocks)} allocations with {len(self.links)} "
                "addresses, more than a file holds; launch it on less"
            )
        parts = (_LENGTH.pack(len(head)), head, self.code, *(block.data for block in self.blocks))
        write_whole(path, MAGIC + zlib.compress(b"".join(parts)))


def read(path: Path, most_bytes: int = MOST_BYTES) -> Reproducer:
    """The launch of a file. Raises ReproducerError for one that can't be read, OSError as open() does."""
    try:
        descriptor = open_regular(path)
    except ValueError as error:
        raise ReproducerError(f"replay: {path.name}: {error}; give a file of save_reproducer") from None
    with open(descriptor, "rb") as file:
        data = file.read()
    if data[: len(MAGIC)] != MAGIC:
        raise ReproducerError(f"replay: {path.name} is no file of save_reproducer; give one that it wrote")
    try:
        return _parsed(_Stream(data[len(MAGIC) :], most_bytes))
    except _Broken as broken:
        raise ReproducerError(f"replay: {path.name}: {broken}; save the launch again") from None


class _Broken(Exception):
    """What is wrong with a file."""


@define(eq=False)
class _Stream:
    """Unpacks no more than it is asked for."""

    _packed: bytes
    left: int  # bytes that the launch may still take
    _at: int = field(init=False, default=0)  # what of the packed bytes comes next
    _unpacker: Any = field(init=False, factory=zlib.decompressobj)

    def claim(self, count: int, what: str) -> None:
        """Count bytes that the launch takes, in the file or not."""
        if count > self.left:
            raise _Broken(f"{what} has {count} bytes, {self.left} are the most beside what came before")
        self.left -= count

    def take(self, count: int, what: str) -> bytes:
        self.claim(count, what)
        found = bytearray()
        try:
            while len(found) < count and not self._unpacker.eof:
                given = self._unpacker.unconsumed_tail
                if not given:
                    given = self._packed[self._at : self._at + _PIECE]
                    self._at += len(given)
                piece = self._unpacker.decompress(given, min(count - len(found), _PIECE))
                if not piece and not given:
                    break
                found += piece
        except zlib.error:
            raise _Broken(f"{what} is damaged") from None
        if len(found) < count:
            raise _Broken(f"{what} has {len(found)} bytes of {count}")
        return bytes(found)


def _parsed(stream: _Stream) -> Reproducer:
    (size,) = _LENGTH.unpack(stream.take(_LENGTH.size, "the length of its head"))
    if size > MOST_HEAD_BYTES:
        raise _Broken(f"its head has {size} bytes, {MOST_HEAD_BYTES} are the most")
    try:
        head = msgpack.unpackb(stream.take(size, "its head"), use_list=False)
    except (ValueError, TypeError, RecursionError, MemoryError, msgpack.UnpackException):
        raise _Broken("its head is no msgpack") from None
    target, kernel, grid, block, shared, arguments, finding, code_bytes, rows, links = _row(
        head, (str, str, tuple, tuple, int, bytes, str, int, tuple, tuple)
    )
    if max(len(target), len(kernel)) > LONGEST_NAME or len(arguments) > MOST_ARGUMENT_BYTES:
        raise _Broken("its head has a name or arguments that are too long")
    if len(rows) > MOST_BLOCKS:
        raise _Broken(f"it has {len(rows)} blocks of memory, {MOST_BLOCKS} are the most")
    code = stream.take(_size(code_bytes), "the code object")
    blocks = tuple(_block(row, stream) for row in rows)
    return Reproducer(
        target, kernel, _dims(grid), _dims(block), _size(shared), arguments, code, blocks,
        tuple(_link(row, blocks, len(arguments)) for row in links), finding,
    )  # fmt: skip


def _row(value: object, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    if not isinstance(value, tuple) or len(value) != len(kinds):
        raise _Broken(f"a row of its head is not {len(kinds)} values")
    if any(type(one) is not kind for one, kind in zip(value, kinds, strict=True)):
        raise _Broken("a value of its head is of another kind")
    return value


def _size(number: int) -> int:
    if not 0 <= number < _WIDEST:
        raise _Broken(f"a size of its head is {number}")
    return number


def _dims(value: object) -> Dims:
    x, y, z = _row(value, (int, int, int))
    return _size(x), _size(y), _size(z)


def _block(value: object, stream: _Stream) -> Block:
    nbytes, is_freed, ranges = _row(value, (int, bool, tuple))
    stream.claim(_size(nbytes), "a block of memory")
    written, end = list[Range](), 0
    for one in ranges:
        first, count = _row(one, (int, int))
        if first < end or _size(count) > nbytes - first:
            raise _Broken("parts of a block of memory overlap or lie outside it")
        written.append((first, count))
        end = first + count
    return Block(nbytes, tuple(written), stream.take(sum(n for _, n in written), "memory"), is_freed)


def _link(value: object, blocks: tuple[Block, ...], argument_bytes: int) -> Link:
    block, offset, target, delta = _row(value, (int, int, int, int))
    if not (ARGUMENTS <= block < len(blocks) and 0 <= target < len(blocks) and -_WIDEST <= delta < _WIDEST):
        raise _Broken("an address of it leads to no block of memory")
    if not 0 <= offset <= (argument_bytes if block == ARGUMENTS else blocks[block].nbytes) - 8:
        raise _Broken("an address of it lies in no block of memory")
    return Link(block, offset, target, delta)

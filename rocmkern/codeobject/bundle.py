"""Clang offload bundles, plain (`__CLANG_OFFLOAD_BUNDLE__`) and compressed (`CCOB`).

Formats: clang's ClangOffloadBundler document, "Bundled Binary File Layout" and "Compression and Decompression". Of a
compressed bundle all is inflated to reach one piece, but where its stream is made of several frames with checksums, as
this package's own are, only those frames that hold the piece.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final, Protocol

from attrs import define, field, frozen

from rocmkern import targets
from rocmkern.codeobject import target_id, zstd
from rocmkern.codeobject.model import MOST_BYTES
from rocmkern.codeobject.zstd import Frame
from rocmkern.errors import CodeObjectError

BUNDLE_MAGIC: Final = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC: Final = b"CCOB"
ZLIB, ZSTD = 0, 1  # methods
# Version → header after magic, version and method: ([total size,] uncompressed size, hash).
HEADERS: Final[dict[int, struct.Struct]] = {
    1: struct.Struct("<IQ"),
    2: struct.Struct("<IIQ"),
    3: struct.Struct("<QQQ"),
}
ENTRY: Final = struct.Struct("<QQQ")  # offset and size of the piece, length of the triple that follows
_MOST_ENTRIES: Final = 1 << 12
_LONGEST_TRIPLE: Final = 256
_TOLD: Final = 8  # entries that a message names


class _Content(Protocol):
    """What a bundle is without its compression."""

    @property
    def size(self) -> int: ...
    def read(self, start: int, end: int) -> bytes: ...


@frozen
class _Plain:
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, start: int, end: int) -> bytes:
        return self.data[start:end]


@define
class _Framed:
    """Content in frames, of which the one that was inflated last is held: the entries of a table share theirs."""

    stream: bytes
    frames: tuple[Frame, ...]
    _starts: list[int] = field(init=False)  # in the content; its size as the last
    _held: tuple[Frame | None, bytes] = field(init=False, default=(None, b""))

    def __attrs_post_init__(self) -> None:
        self._starts = list(accumulate((frame.size for frame in self.frames), initial=0))

    @property
    def size(self) -> int:
        return self._starts[-1]

    def read(self, start: int, end: int) -> bytes:
        parts = []
        index = bisect_right(self._starts, start) - 1
        while index < len(self.frames) and self._starts[index] < end:
            first, frame = self._starts[index], self.frames[index]
            if frame.size:
                parts.append(self._inflated(frame)[max(start - first, 0) : end - first])
            index += 1
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _inflated(self, frame: Frame) -> bytes:
        if self._held[0] is not frame:
            self._held = frame, zstd.content_of(frame, self.stream)
        return self._held[1]


@frozen
class BundleEntry:
    """One piece of a bundle, of `size` bytes. `target` is None for the host's piece."""

    triple: str
    target: str | None
    size: int
    _offset: int
    _content: _Content = field(repr=False)

    @property
    def data(self) -> bytes:
        """The piece, inflated now."""
        return self._content.read(self._offset, self._offset + self.size)


def is_bundle(data: bytes) -> bool:
    return data.startswith((BUNDLE_MAGIC, COMPRESSED_MAGIC))


def read_bundle(data: bytes, most_bytes: int = MOST_BYTES) -> tuple[BundleEntry, ...]:
    """The entries of an offload bundle, compressed or not, in file order.

    Raises CodeObjectError with the reason if the bundle is truncated or corrupt, if its entries share bytes, or if it
    unpacks to more than half of `most_bytes` beyond its own size: what is in it is held twice.
    """
    content = _content(data, most_bytes)
    try:
        return tuple(_rows(content))
    except struct.error:
        raise CodeObjectError(f"read bundle: truncated table of entries in {content.size} bytes") from None


def choose(data: bytes, target: str | None, most_bytes: int) -> bytes:
    """The piece of a bundle that serves a device of `target` best; without one, the only piece for a device."""
    entries = read_bundle(data, most_bytes)
    by_target = {e.target: e for e in entries if e.target is not None and e.size}
    if not by_target:
        triples = _listed([e.triple for e in entries])
        raise CodeObjectError(f"read bundle: no device code inside; it holds {triples}")
    if target is None and len(by_target) > 1:
        raise CodeObjectError(f"read bundle: it holds code for {_listed(sorted(by_target))}; say for which target")
    chosen = next(iter(by_target)) if target is None else targets.serving(tuple(by_target), target)
    return by_target[chosen].data


def _listed(names: list[str]) -> str:
    more = [f"{len(names) - _TOLD} more"] if len(names) > _TOLD else []
    return ", ".join([*names[:_TOLD], *more]) or "nothing"


def _content(data: bytes, most_bytes: int) -> _Content:
    content = _inflated(data, most_bytes) if data.startswith(COMPRESSED_MAGIC) else _Plain(data)
    if content.read(0, len(BUNDLE_MAGIC)) != BUNDLE_MAGIC:
        raise CodeObjectError("read bundle: no __CLANG_OFFLOAD_BUNDLE__ magic; pass a file that clang or hipcc bundled")
    return content


def _rows(content: _Content) -> Iterator[BundleEntry]:
    position, total = len(BUNDLE_MAGIC), 0
    (count,) = struct.unpack("<Q", content.read(position, position + 8))
    position += 8
    if count > _MOST_ENTRIES:
        raise CodeObjectError(f"read bundle: {count} entries, {_MOST_ENTRIES} are the most; the file is corrupt")
    for index in range(count):
        offset, size, length = ENTRY.unpack(content.read(position, position + ENTRY.size))
        position += ENTRY.size
        if length > _LONGEST_TRIPLE:
            raise CodeObjectError(f"read bundle: entry {index} names a target of {length} letters; it is corrupt")
        triple = content.read(position, position + length).decode("ascii", "replace")
        position += length
        total += size
        if position > content.size or offset + size > content.size:
            raise CodeObjectError(
                f"read bundle: entry {index} ({triple[:60]!r}) covers bytes {offset} to {offset + size} "
                f"of a file of {content.size}; the file is truncated or corrupt"
            )
        if total > content.size:
            raise CodeObjectError(
                f"read bundle: entries up to {index} take {total} bytes, the file has {content.size}; they overlap"
            )
        target = target_id.from_text(triple) if "amdgcn" in triple else None
        yield BundleEntry(triple, target, size, offset, content)


def _inflated(data: bytes, most_bytes: int) -> _Content:
    try:
        version, method = struct.unpack_from("<HH", data, 4)
        header = HEADERS.get(version)
        if header is None:
            known = ", ".join(map(str, HEADERS))
            raise CodeObjectError(f"read bundle: compressed bundle of version {version}; known versions: {known}")
        *total, size, digest = header.unpack_from(data, 8)
    except struct.error:
        raise CodeObjectError(f"read bundle: compressed bundle cut off after {len(data)} bytes") from None
    end = total[0] if total else len(data)
    if end > len(data):
        raise CodeObjectError(f"read bundle: compressed bundle of {end} bytes cut off after {len(data)}")
    most = len(data) + most_bytes // 2
    if size > most:
        raise CodeObjectError(
            f"read bundle: {len(data)} bytes that unpack to {size}, {most} are the most; if you trust the file, load "
            f"it with most_bytes={2 * (size - len(data))}"
        )
    packed = data[8 + header.size : end]
    frames = zstd.checked_frames(packed) if method == ZSTD else ()
    if len(frames) > 1 and sum(frame.size for frame in frames) == size:
        return _Framed(packed, frames)
    plain = bytearray()
    for chunk in _chunks(packed, method):
        plain += chunk
        if not plain.startswith(BUNDLE_MAGIC[: len(plain)]) or len(plain) > size:
            break
    if len(plain) != size:
        raise CodeObjectError(f"read bundle: it does not unpack to a bundle of the {size} bytes that are announced")
    if hashlib.md5(plain, usedforsecurity=False).digest()[:8] != digest.to_bytes(8, "little"):
        raise CodeObjectError("read bundle: content hash differs from the header's; the file is corrupt")
    return _Plain(bytes(plain))


def _chunks(stream: bytes, method: int) -> Iterator[bytes]:
    """A stream inflated, piece by piece."""
    if method == ZSTD:
        return zstd.chunks(stream)
    if method == ZLIB:
        return _zlib_chunks(stream)
    raise CodeObjectError(f"read bundle: unknown compression method {method}; known: zlib, zstd")


def _zlib_chunks(stream: bytes) -> Iterator[bytes]:
    opened = zlib.decompressobj()
    try:
        chunk = opened.decompress(stream, zstd.CHUNK_BYTES)
        while chunk:
            yield chunk
            chunk = opened.decompress(opened.unconsumed_tail, zstd.CHUNK_BYTES)
    except zlib.error as error:
        raise CodeObjectError(f"read bundle: zlib stream is corrupt ({error})") from None

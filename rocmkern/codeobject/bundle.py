"""Clang offload bundles, plain (`__CLANG_OFFLOAD_BUNDLE__`) and compressed (`CCOB`).

Formats: clang's ClangOffloadBundler document, "Bundled Binary File Layout" and "Compression and Decompression".
"""

from __future__ import annotations

import hashlib
import struct
import sys
import zlib
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from rocmkern import targets
from rocmkern.codeobject import target_id
from rocmkern.codeobject.model import MOST_BYTES
from rocmkern.errors import CodeObjectError

BUNDLE_MAGIC: Final = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC: Final = b"CCOB"
_METHODS: Final[dict[int, str]] = {0: "zlib", 1: "zstd"}
# Version → header after magic, version and method: ([total size,] uncompressed size, hash).
_HEADERS: Final[dict[int, struct.Struct]] = {
    1: struct.Struct("<IQ"),
    2: struct.Struct("<IIQ"),
    3: struct.Struct("<QQQ"),
}
_CHUNK_BYTES: Final = 1 << 20
_LARGEST_WINDOW: Final = 1 << 25  # of zstd, which it may ask for before a byte is unpacked
_LONGEST_TRIPLE: Final = 256
_TOLD: Final = 8  # entries that a message names


@frozen
class BundleEntry:
    """One piece of a bundle. `target` is None for the host's piece."""

    triple: str
    target: str | None
    data: bytes


def is_bundle(data: bytes) -> bool:
    return data.startswith((BUNDLE_MAGIC, COMPRESSED_MAGIC))


def read_bundle(data: bytes, most_bytes: int = MOST_BYTES) -> tuple[BundleEntry, ...]:
    """The entries of an offload bundle, compressed or not, in file order.

    Raises CodeObjectError with the reason if the bundle is truncated or corrupt, if its entries share bytes, or if it
    unpacks to more than half of `most_bytes` beyond its own size: what is in it is held twice.
    """
    data = _plain(data, most_bytes)
    return tuple(BundleEntry(e.triple, e.target, data[e.offset : e.offset + e.size]) for e in _entries(data))


def choose(data: bytes, target: str | None, most_bytes: int) -> bytes:
    """The piece of a bundle that serves a device of `target` best; without one, the only piece for a device."""
    data = _plain(data, most_bytes)
    entries = _entries(data)
    by_target = {e.target: e for e in entries if e.target is not None and e.size}
    if not by_target:
        triples = _listed([e.triple for e in entries])
        raise CodeObjectError(f"read bundle: no device code inside; it holds {triples}")
    if target is None and len(by_target) > 1:
        raise CodeObjectError(f"read bundle: it holds code for {_listed(sorted(by_target))}; say for which target")
    chosen = next(iter(by_target)) if target is None else targets.serving(tuple(by_target), target)
    entry = by_target[chosen]
    return data[entry.offset : entry.offset + entry.size]


def _listed(names: list[str]) -> str:
    more = [f"{len(names) - _TOLD} more"] if len(names) > _TOLD else []
    return ", ".join([*names[:_TOLD], *more]) or "nothing"


def _plain(data: bytes, most_bytes: int) -> bytes:
    if data.startswith(COMPRESSED_MAGIC):
        data = _decompress(data, most_bytes)
    if not data.startswith(BUNDLE_MAGIC):
        raise CodeObjectError("read bundle: no __CLANG_OFFLOAD_BUNDLE__ magic; pass a file that clang or hipcc bundled")
    return data


@frozen
class _Entry:
    """A row of the table of entries."""

    triple: str
    target: str | None
    offset: int
    size: int


def _entries(data: bytes) -> list[_Entry]:
    try:
        return list(_rows(data))
    except struct.error:
        raise CodeObjectError(f"read bundle: truncated table of entries in {len(data)} bytes") from None


def _rows(data: bytes) -> Iterator[_Entry]:
    position, total = len(BUNDLE_MAGIC), 0
    (count,) = struct.unpack_from("<Q", data, position)
    position += 8
    for index in range(count):
        offset, size, length = struct.unpack_from("<QQQ", data, position)
        position += 24
        if length > _LONGEST_TRIPLE:
            raise CodeObjectError(f"read bundle: entry {index} names a target of {length} letters; it is corrupt")
        triple = data[position : position + length].decode("ascii", "replace")
        position += length
        total += size
        if position > len(data) or offset + size > len(data):
            raise CodeObjectError(
                f"read bundle: entry {index} ({triple[:60]!r}) covers bytes {offset} to {offset + size} "
                f"of a file of {len(data)}; the file is truncated or corrupt"
            )
        if total > len(data):
            raise CodeObjectError(
                f"read bundle: entries up to {index} take {total} bytes, the file has {len(data)}; they overlap"
            )
        yield _Entry(triple, target_id.from_text(triple) if "amdgcn" in triple else None, offset, size)


def _decompress(data: bytes, most_bytes: int) -> bytes:
    try:
        version, method = struct.unpack_from("<HH", data, 4)
        header = _HEADERS.get(version)
        if header is None:
            known = ", ".join(map(str, _HEADERS))
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
    plain = bytearray()
    packed = memoryview(data)[8 + header.size : end]
    for chunk in _chunks(packed, _METHODS.get(method, str(method))):
        plain += chunk
        if not plain.startswith(BUNDLE_MAGIC[: len(plain)]) or len(plain) > size:
            break
    if len(plain) != size:
        raise CodeObjectError(f"read bundle: it does not unpack to a bundle of the {size} bytes that are announced")
    if hashlib.md5(plain, usedforsecurity=False).digest()[:8] != digest.to_bytes(8, "little"):
        raise CodeObjectError("read bundle: content hash differs from the header's; the file is corrupt")
    return bytes(plain)


def _chunks(data: memoryview, method: str) -> Iterator[bytes]:
    """`data` unpacked, piece by piece."""
    try:
        if method == "zlib":
            yield from _zlib_chunks(data)
        elif method == "zstd":
            yield from _zstd_chunks(data)
        else:
            raise CodeObjectError(f"read bundle: unknown compression method {method}; known: zlib, zstd")
    except CodeObjectError:
        raise
    except Exception as error:  # each zstd binding has its own error class
        raise CodeObjectError(f"read bundle: {method} stream is corrupt ({error})") from None


def _zlib_chunks(data: memoryview) -> Iterator[bytes]:
    stream = zlib.decompressobj()
    chunk = stream.decompress(data, _CHUNK_BYTES)
    while chunk:
        yield chunk
        chunk = stream.decompress(stream.unconsumed_tail, _CHUNK_BYTES)


def _zstd_chunks(data: memoryview) -> Iterator[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd

        stream = zstd.ZstdDecompressor()
        chunk = stream.decompress(data, _CHUNK_BYTES)
        while chunk:
            yield chunk
            chunk = b"" if stream.eof else stream.decompress(b"", _CHUNK_BYTES)
        return
    try:
        import zstandard
    except ImportError:
        raise CodeObjectError(
            "read bundle: it is zstd-compressed and zstandard is missing; pip install rocmkern[zstd]"
        ) from None
    with zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).stream_reader(data) as reader:
        while chunk := reader.read(_CHUNK_BYTES):
            yield chunk

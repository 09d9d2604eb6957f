"""Clang offload bundles, plain (`__CLANG_OFFLOAD_BUNDLE__`) and compressed (`CCOB`).

Formats: clang's ClangOffloadBundler document, "Bundled Binary File Layout" and "Compression and Decompression".
"""

from __future__ import annotations

import hashlib
import struct
import sys
import zlib
from typing import Final

from attrs import frozen

from rocmkern.codeobject import target_id
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
_LARGEST_BYTES: Final = 1 << 32


@frozen
class BundleEntry:
    """One piece of a bundle. `target` is None for the host's piece."""

    triple: str
    target: str | None
    data: bytes


def is_bundle(data: bytes) -> bool:
    return data.startswith((BUNDLE_MAGIC, COMPRESSED_MAGIC))


def read_bundle(data: bytes) -> tuple[BundleEntry, ...]:
    """The entries of an offload bundle, compressed or not, in file order.

    Raises CodeObjectError with the reason if the bundle is truncated or corrupt.
    """
    if data.startswith(COMPRESSED_MAGIC):
        data = _decompress(data)
    if not data.startswith(BUNDLE_MAGIC):
        raise CodeObjectError("read bundle: no __CLANG_OFFLOAD_BUNDLE__ magic; pass a file that clang or hipcc bundled")
    try:
        return tuple(_entries(data))
    except struct.error:
        raise CodeObjectError(f"read bundle: truncated table of entries in {len(data)} bytes") from None


def _entries(data: bytes) -> list[BundleEntry]:
    position = len(BUNDLE_MAGIC)
    (count,) = struct.unpack_from("<Q", data, position)
    position += 8
    entries: list[BundleEntry] = []
    for index in range(count):
        offset, size, length = struct.unpack_from("<QQQ", data, position)
        position += 24
        triple = data[position : position + length].decode("ascii", "replace")
        position += length
        if position > len(data) or offset + size > len(data):
            raise CodeObjectError(
                f"read bundle: entry {index} ({triple[:60]!r}) covers bytes {offset} to {offset + size} "
                f"of a file of {len(data)}; the file is truncated or corrupt"
            )
        target = target_id.from_text(triple) if "amdgcn" in triple else None
        entries.append(BundleEntry(triple, target, data[offset : offset + size]))
    return entries


def _decompress(data: bytes) -> bytes:
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
    if size > _LARGEST_BYTES:
        raise CodeObjectError(f"read bundle: implausible uncompressed size of {size} bytes")
    plain = _inflate(data[8 + header.size : end], _METHODS.get(method, str(method)), size)
    if len(plain) != size:
        raise CodeObjectError(f"read bundle: {len(plain)} bytes after decompression, {size} announced")
    if hashlib.md5(plain, usedforsecurity=False).digest()[:8] != digest.to_bytes(8, "little"):
        raise CodeObjectError("read bundle: content hash differs from the header's; the file is corrupt")
    return plain


def _inflate(data: bytes, method: str, size: int) -> bytes:
    """`data` unpacked; reads at most one byte more than the announced `size`, so that a bomb stays small."""
    try:
        if method == "zlib":
            return zlib.decompressobj().decompress(data, size + 1)
        if method == "zstd":
            return _inflate_zstd(data, size)
    except CodeObjectError:
        raise
    except Exception as error:  # each zstd binding has its own error class
        raise CodeObjectError(f"read bundle: {method} stream is corrupt ({error})") from None
    raise CodeObjectError(f"read bundle: unknown compression method {method}; known: zlib, zstd")


def _inflate_zstd(data: bytes, size: int) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.ZstdDecompressor().decompress(data, size + 1)
    try:
        import zstandard
    except ImportError:
        raise CodeObjectError(
            "read bundle: it is zstd-compressed and zstandard is missing; pip install rocmkern[zstd]"
        ) from None
    with zstandard.ZstdDecompressor().stream_reader(data) as stream:
        return stream.read(size + 1)

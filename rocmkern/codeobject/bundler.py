"""Writing offload bundles as this package ships them: compressed, version 2, with a frame for each piece.

Every reader of the format takes them; ours inflates the piece that it is asked for and no other.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from rocmkern.codeobject import zstd
from rocmkern.codeobject.bundle import BUNDLE_MAGIC, COMPRESSED_MAGIC, ENTRY, HEADERS, ZSTD
from rocmkern.errors import CodeObjectError

_VERSION: Final = 2  # which ROCm 6.3 reads, too
_HEADER: Final = HEADERS[_VERSION]
_ALIGN: Final = 4096  # of each piece in the inflated file, as clang has it for HIP
_HOST: Final = "host-x86_64-unknown-linux-gnu-"
_DEVICE: Final = "hipv4-amdgcn-amd-amdhsa--"


def bundle(host: bytes, pieces: Mapping[str, bytes], before: bytes = b"") -> bytes:
    """A bundle of the host's piece and those of targets. What `before`, such a bundle, holds is not deflated again."""
    known = dict(_frames(before))
    contents = list(_contents(host, pieces))
    stream = b"".join(known.get(content) or zstd.deflate(content) for content in contents)
    digest = hashlib.md5(usedforsecurity=False)
    for content in contents:
        digest.update(content)
    start = COMPRESSED_MAGIC + struct.pack("<HH", _VERSION, ZSTD)
    total, size = len(start) + _HEADER.size + len(stream), sum(map(len, contents))
    return start + _HEADER.pack(total, size, int.from_bytes(digest.digest()[:8], "little")) + stream


def _contents(host: bytes, pieces: Mapping[str, bytes]) -> Iterator[bytes]:
    """What frames are to hold: a piece is one by itself, so that nothing of it is copied."""
    yield (before := _head(host, pieces))
    for piece in pieces.values():
        if len(before) % _ALIGN:
            yield bytes(-len(before) % _ALIGN)
        yield (before := piece)


def _head(host: bytes, pieces: Mapping[str, bytes]) -> bytes:
    """The table of entries and the host's piece."""
    triples = [_HOST, *(_DEVICE + target for target in pieces)]
    offset = len(BUNDLE_MAGIC) + 8 + sum(ENTRY.size + len(triple) for triple in triples)
    table = BUNDLE_MAGIC + len(triples).to_bytes(8, "little")
    for triple, piece in zip(triples, (host, *pieces.values()), strict=True):
        table += ENTRY.pack(offset, len(piece), len(triple)) + triple.encode()
        offset += len(piece)
        offset += -offset % _ALIGN
    return table + host


def _frames(before: bytes) -> Iterator[tuple[bytes, bytes]]:
    """What each frame of a bundle holds, and the frame."""
    stream = before[8 + _HEADER.size :]
    for frame in zstd.checked_frames(stream):
        with suppress(CodeObjectError):  # a damaged one is made again
            yield zstd.content_of(frame, stream), stream[frame.start : frame.end]

"""Zstandard streams (RFC 8878): their frames, each of which can be read without the others, and what is in them."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from attrs import frozen

from rocmkern.errors import CodeObjectError

_FRAME_MAGIC: Final = 0xFD2FB528
_SKIPPABLE: Final = range(0x184D2A50, 0x184D2A60)
_NUMBER_BYTES: Final = (0, 1, 2, 4)  # of the dictionary's id, by its two bits
_SIZE_BYTES: Final = (0, 2, 4, 8)  # of the content's size, by its two bits
_RLE_BLOCK: Final = 1
_LEVEL: Final = 19
_MOST_FRAMES: Final = 1000
_LARGEST_WINDOW: Final = 1 << 25  # which a stream may ask for before a byte is unpacked
CHUNK_BYTES: Final = 1 << 20


@frozen
class Frame:
    """A part of a stream that stands for itself. `size` is that of its content; `start` and `end` are in the stream."""

    start: int
    end: int
    size: int


def checked_frames(stream: bytes) -> tuple[Frame, ...]:
    """The frames of a stream; none of one that is damaged, that has a frame without its size or a checksum, or many."""
    found, position = list[Frame](), 0
    try:
        while position < len(stream) and len(found) < _MOST_FRAMES:
            frame = _frame(stream, position)
            if frame is None:
                return ()
            found.append(frame)
            position = frame.end
    except IndexError:
        return ()
    return tuple(found) if position == len(stream) else ()


def _frame(stream: bytes, start: int) -> Frame | None:
    magic = _number(stream, start, 4)
    if magic in _SKIPPABLE:
        return Frame(start, start + 8 + _number(stream, start + 4, 4), 0)
    bits = stream[start + 4]
    is_single, has_checksum = bits >> 5 & 1, bits >> 2 & 1
    size_bytes = _SIZE_BYTES[bits >> 6] or is_single
    if magic != _FRAME_MAGIC or not has_checksum or not size_bytes:
        return None
    position = start + 5 + (not is_single) + _NUMBER_BYTES[bits & 3]
    size = _number(stream, position, size_bytes) + (256 if size_bytes == 2 else 0)
    position += size_bytes
    is_last = 0
    while not is_last:
        block = _number(stream, position, 3)
        is_last = block & 1
        position += 3 + (1 if block >> 1 & 3 == _RLE_BLOCK else block >> 3)
    return Frame(start, position + 4, size)


def _number(stream: bytes, start: int, nbytes: int) -> int:
    if start + nbytes > len(stream):
        raise IndexError(start)
    return int.from_bytes(stream[start : start + nbytes], "little")


def content_of(frame: Frame, stream: bytes) -> bytes:
    """What a frame holds. Raises CodeObjectError if that is not what its checksum and size say."""
    packed = stream[frame.start : frame.end]
    with _reported():
        if sys.version_info >= (3, 14):
            from compression import zstd

            return zstd.decompress(packed)
        import zstandard

        content: bytes = zstandard.ZstdDecompressor().decompress(packed)
        return content


def chunks(stream: bytes) -> Iterator[bytes]:
    """What all frames of a stream hold, piece by piece. Raises CodeObjectError if it is corrupt."""
    with _reported(), _opened(stream) as opened:
        while chunk := opened.read(CHUNK_BYTES):
            yield chunk


@contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # each binding has its own error class
        raise CodeObjectError(f"read bundle: zstd stream is corrupt ({error})") from None


def deflate(content: bytes) -> bytes:
    """One frame of that content, with its size and a checksum."""
    if sys.version_info >= (3, 14):
        from compression import zstd
        from compression.zstd import CompressionParameter as Option

        return zstd.compress(content, options={Option.compression_level: _LEVEL, Option.checksum_flag: 1})
    import zstandard

    frame: bytes = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(content)
    return frame


def _opened(stream: bytes) -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
        from compression.zstd import DecompressionParameter as Option

        return zstd.open(io.BytesIO(stream), options={Option.window_log_max: _LARGEST_WINDOW.bit_length() - 1})
    import zstandard

    opened = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
    return opened.stream_reader(stream, read_across_frames=True)

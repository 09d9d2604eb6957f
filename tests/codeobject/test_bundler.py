"""Bundles as this package writes them: any reader of the format takes them, ours inflates what it is asked for."""

from __future__ import annotations

import hashlib
import struct

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rocmkern.codeobject import bundler, read_bundle, zstd
from rocmkern.errors import CodeObjectError
from tests import samples

IMAGES = {target: samples.compile_hip(samples.ADD, target) for target in ("gfx942", "gfx1030")}
PIECES = st.dictionaries(
    st.from_regex(r"gfx[0-9]{3,4}", fullmatch=True), st.binary(min_size=1, max_size=9000), min_size=1, max_size=4
)


def inflated(bundle: bytes) -> bytes:
    """The content as a reader has it that knows nothing of frames, checked as LLVM checks it."""
    magic, version, method, total, size, digest = struct.unpack_from("<4sHHIIQ", bundle)
    assert (magic, version, method, total) == (b"CCOB", 2, 1, len(bundle))
    with zstandard.ZstdDecompressor().stream_reader(bundle[24:], read_across_frames=True) as stream:
        content = stream.read()
    assert len(content) == size
    assert hashlib.md5(content).digest()[:8] == digest.to_bytes(8, "little")
    return content


@given(host=st.binary(max_size=5000), pieces=PIECES)
def test_what_goes_in_comes_out(host: bytes, pieces: dict[str, bytes]) -> None:
    """By our reader, and by one that inflates all and reads the plain bundle, where the first piece begins a page."""
    made = bundler.bundle(host, pieces)
    wanted = [(None, host), *pieces.items()]
    for data in (made, inflated(made)):
        assert [(entry.target, entry.data) for entry in read_bundle(data)] == wanted
    assert struct.unpack_from("<Q", inflated(made), 56 + len("host-x86_64-unknown-linux-gnu-"))[0] % 4096 == 0


def test_a_piece_is_read_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the frames, the table's and the piece's are inflated."""
    entries, sizes = read_bundle(bundler.bundle(b"note", IMAGES)), list[int]()
    content_of = zstd.content_of

    def noted(frame: zstd.Frame, stream: bytes) -> bytes:
        sizes.append(frame.size)
        return content_of(frame, stream)

    monkeypatch.setattr(zstd, "content_of", noted)
    assert entries[2].data == IMAGES["gfx1030"]
    assert sizes == [len(IMAGES["gfx1030"])]


def test_a_frame_is_taken_over_where_nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deflating takes a second a piece; what the bundle before has is only read."""
    before, deflated = bundler.bundle(b"note", IMAGES), list[bytes]()
    deflate = zstd.deflate
    monkeypatch.setattr(zstd, "deflate", lambda content: (deflated.append(content), deflate(content))[1])
    assert bundler.bundle(b"note", IMAGES, before) == before
    assert deflated == []
    changed = bundler.bundle(b"note", IMAGES | {"gfx942": b"other"}, before)
    assert b"other" in deflated and IMAGES["gfx1030"] not in deflated
    assert [entry.data for entry in read_bundle(changed)] == [b"note", b"other", IMAGES["gfx1030"]]


def test_damaged_frames_are_made_again() -> None:
    """Those of the bundle before that nothing can be taken from."""
    before = bundler.bundle(b"note", IMAGES)
    frames = zstd.checked_frames(before[24:])
    damaged = bytearray(before)
    for frame in frames[1:]:
        damaged[24 + frame.end - 1] ^= 1
    assert bundler.bundle(b"note", IMAGES, bytes(damaged)) == before


@given(data=st.data())
def test_damage_never_gives_other_bytes(data: st.DataObject) -> None:
    """A flipped bit is found by the piece that it lies in, or by none."""
    made = bytearray(bundler.bundle(b"note", IMAGES))
    made[data.draw(st.integers(0, len(made) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        found = [entry.data for entry in read_bundle(bytes(made)) if entry.target in IMAGES]
    except CodeObjectError:
        return
    assert all(piece in IMAGES.values() for piece in found)


def test_many_frames_are_inflated_as_one_stream() -> None:
    """A table of a million frames would cost more than the file."""
    frame = zstd.deflate(b"x")
    assert len(zstd.checked_frames(frame * 999)) == 999
    assert zstd.checked_frames(frame * 1001) == ()
    assert b"".join(zstd.chunks(frame * 1001)) == b"x" * 1001


@pytest.mark.parametrize(
    "options",
    [{"write_checksum": False, "write_content_size": True}, {"write_checksum": True, "write_content_size": False}],
)
def test_frames_without_size_or_checksum_do_not_count(options: dict[str, bool]) -> None:
    """A piece of them could be damaged without a word."""
    plain = zstandard.ZstdCompressor(**options).compress(b"x" * 100)
    assert zstd.checked_frames(zstd.deflate(b"y") + plain) == ()

"""What a file may cost: what it claims and lacks, or claims many times, is an error before anything is taken."""

from __future__ import annotations

import signal
import struct
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import msgpack
import pytest

import rocmkern as rk
from rocmkern import codeobject
from rocmkern.codeobject import MOST_BYTES
from rocmkern.codeobject.ptx import read_ptx
from rocmkern.errors import CodeObjectError
from tests import samples
from tests.codeobject.test_reader import DEVICE, compressed

ELF = samples.compile_hip(samples.ADD)
MOST_SECONDS = 30.0  # of CPU time; each takes a fraction of one, or hours
PTX = b".version 8.0\n.target sm_80\n"
SECTION_NAMES = {".dynsym": 11, ".rela.dyn": 4}


class TakesTooLong(BaseException):
    """No library catches it."""


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """Ends a test that takes its time."""

    def end(number: int, frame: object) -> None:
        raise TakesTooLong

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


def headers(image: bytes | bytearray, at: int, count_at: int, size: int) -> list[int]:
    """Where the headers of a table lie."""
    start, count = struct.unpack_from("<Q", image, at)[0], struct.unpack_from("<H", image, count_at)[0]
    return [start + size * n for n in range(count)]


def sections(image: bytes | bytearray, kind: int) -> list[int]:
    return [h for h in headers(image, 40, 60, 64) if struct.unpack_from("<I", image, h + 4)[0] == kind]


def with_memory(nbytes: int) -> bytes:
    """An ELF whose last segment takes so much memory."""
    image = bytearray(ELF)
    last = [h for h in headers(image, 32, 56, 56) if struct.unpack_from("<I", image, h)[0] == 1][-1]
    struct.pack_into("<Q", image, last + 40, nbytes)
    return bytes(image)


def with_table(at: int, count_at: int, rows: list[bytes], behind: bytes = b"") -> bytes:
    """An ELF with another table of program or section headers behind its content, and more behind that."""
    image = bytearray(ELF)
    struct.pack_into("<Q", image, at, len(image))
    struct.pack_into("<H", image, count_at, len(rows))
    return bytes(image) + b"".join(rows) + behind


def many_segments(count: int) -> bytes:
    """Each has all of the file's bytes."""
    row = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, len(ELF), len(ELF), 4096)
    return with_table(32, 56, [row] * count)


def many_notes(count: int) -> bytes:
    """All of the same bytes, none of which is metadata."""
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, len(ELF), len(ELF), 4096)
    note = struct.pack("<IIQQQQQQ", 4, 4, len(ELF), 0, 0, 1 << 16, 1 << 16, 4)
    return with_table(32, 56, [load, *[note] * count], bytes(1 << 20))


def many_tables(kind: int, count: int) -> bytes:
    """Symbols or relocations, all in the same megabyte."""
    row = struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, len(ELF) + 64 * count, 1 << 20, 0, 0, 8, 24)
    return with_table(40, 60, [row] * count, bytes(1 << 20))


def long_names(count: int) -> bytes:
    """Each symbol's name ends where the file does."""
    symbols = b"".join(struct.pack("<IBBHQQ", 1 + n, 0, 0, 1, 0, 0) for n in range(count))
    text = b"\0" + b"a" * (1 << 20) + b"\0"
    tables = 128
    rows = [
        struct.pack("<IIQQQQIIQQ", 0, 11, 0, 0, len(ELF) + tables, len(symbols), 1, 0, 8, 24),
        struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, len(ELF) + tables + len(symbols), len(text), 0, 0, 1, 0),
    ]
    return with_table(40, 60, rows, symbols + text)


def bundle_of(entries: int, nbytes: int) -> bytes:
    """Entries that are all the same bytes."""
    triple = (DEVICE + "gfx942").encode()
    head = 32 + entries * (24 + len(triple))
    row = struct.pack("<QQQ", head, nbytes, len(triple)) + triple
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", entries) + row * entries + bytes(nbytes)


def empty_entries(count: int) -> bytes:
    """Entries that are nothing and for nobody."""
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", count) + bytes(24 * count)


def long_triple() -> bytes:
    """An entry that names its target at length."""
    return bundle_of(1, 0)[:32] + struct.pack("<QQQ", 0, 0, 1 << 20) + b"gfx" * 400_000


def bomb(announced: int, real: int) -> bytes:
    """A compressed bundle of zeros behind a bundle's magic."""
    packer = zlib.compressobj(9)
    packed = packer.compress(b"__CLANG_OFFLOAD_BUNDLE__") + b"".join(
        packer.compress(bytes(1 << 20)) for _ in range(real >> 20)
    )
    packed += packer.flush()
    return b"CCOB" + struct.pack("<HHQQQ", 3, 0, 32 + len(packed), announced, 0) + packed


def with_note(note: bytes) -> bytes:
    """A hand-written file is assembled from its bytes; a long note takes the place of a short one's tail."""
    short = samples.pads(0)
    image = bytearray(samples.hand_written(short))
    at = image.index(short) - 20
    struct.pack_into("<I", image, at + 4, len(note))
    head = next(h for h in headers(image, 32, 56, 56) if struct.unpack_from("<I", image, h)[0] == 4)
    struct.pack_into("<Q", image, head + 8, len(image))
    struct.pack_into("<Q", image, head + 32, 20 + len(note) + -len(note) % 4)
    return bytes(image) + bytes(image[at : at + 20]) + note + bytes(-len(note) % 4)


FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "memory": (lambda: with_memory(1 << 30), "bytes more than the file has, 67108864 are the most"),
    "most memory": (lambda: with_memory((1 << 32) - (1 << 16)), "bytes more than the file has"),
    "segments": (lambda: many_segments(50_000), "segments of .* bytes in a file of"),
    "notes": (lambda: many_notes(1000), "notes of .* bytes in a file of"),
    "symbols": (lambda: many_tables(11, 1000), "1000 tables of dynamic symbols"),
    "relocations": (lambda: many_tables(4, 1000), "relocations that are more than the file"),
    "names": (lambda: long_names(40_000), "names that are longer than the file"),
    "entries": (lambda: bundle_of(3000, 1 << 20), "entries up to .* they overlap"),
    "many entries": (lambda: empty_entries(1 << 20), "1048576 entries, 4096 are the most"),
    "triple": (long_triple, "names a target of 1048576 letters"),
    "announced": (lambda: bomb(1 << 28, 1 << 22), "that unpack to 268435456, .* are the most.*most_bytes="),
    "not announced": (lambda: bomb(1 << 20, 1 << 28), "does not unpack to a bundle of the 1048576 bytes"),
    "no bundle": (lambda: compressed(bytes(30 << 20), "zlib", 3), "does not unpack to a bundle"),
    "no bundle, zstd": (lambda: compressed(bytes(30 << 20), "zstd", 3), "does not unpack to a bundle"),
    "lists": (lambda: with_note(b"\xdd" + struct.pack(">I", 1 << 21) + b"\x90" * (1 << 21)), "more lists and maps"),
    "note": (lambda: with_note(msgpack.packb({"a": bytes(4 << 20)})), "a metadata note of .* bytes, .*most_bytes="),
}


@pytest.mark.parametrize("name", FILES)
def test_a_costly_file_is_an_error_at_once(name: str) -> None:
    """With less than 64 MB above its own size."""
    make, words = FILES[name]
    data = make()
    tracemalloc.start()
    try:
        with pytest.raises(CodeObjectError, match=words):
            codeobject.read(data, "gfx942")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MOST_BYTES


@pytest.mark.parametrize("piece", [b".entry a(\n", b".entry a()", b".entry a(.param .u8 x ", b".target\n\n\n"])
def test_ptx_takes_time_by_its_length(piece: bytes) -> None:
    """No piece of it is looked at again for each of those before."""
    assert not read_ptx(PTX + piece * 200_000).kernels


def test_more_memory_is_there_for_whoever_asks() -> None:
    """The limit is an argument; with it the file runs."""
    source = "__attribute__((device)) char room[80 << 20];\nKERNEL void f(char *out) { out[0] = room[0]; room[1] = 1; }"
    data = samples.compile_hip(source)
    device = rk.Device("emulator:gfx942")
    with pytest.raises(CodeObjectError, match=r"bytes more than the file has.*load it with most_bytes=(\d+)") as told:
        rk.Module.load_data(data, device)
    most = int(str(told.value).rpartition("=")[2])
    with pytest.raises(CodeObjectError, match="are the most"):
        rk.Module.load_data(data, device, most_bytes=most - 1)
    with rk.Module.load_data(data, device, most_bytes=most) as module:
        out = device.alloc(4)
        out.fill(7)
        module.get_function("f")(out, grid=1, block=1)
        assert out.copy_to_host()[0] == 0
        with pytest.raises(CodeObjectError, match="are the most"):  # though the file is read already
            codeobject.read(data)


def test_a_bundle_unpacks_to_more_for_whoever_asks() -> None:
    """The limit that its error names is enough."""
    plain = samples.bundle({DEVICE + "gfx942": ELF, "host-x86_64-unknown-linux-gnu-": bytes(40 << 20)})
    data = compressed(plain, "zlib", 3)
    with pytest.raises(CodeObjectError, match=r"most_bytes=\d+") as told:
        codeobject.read(data, "gfx942")
    found = codeobject.read(data, "gfx942", most_bytes=int(str(told.value).rpartition("=")[2]))
    assert found.image == ELF
